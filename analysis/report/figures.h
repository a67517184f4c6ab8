/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plots: writes dir/plots/plots.gp and has one gnuplot process draw all figures of a plan from it.
 * The templates lie in analysis/plots; the data are the series CSV files of the runs. */
#ifndef ANALYSIS_REPORT_FIGURES_H
#define ANALYSIS_REPORT_FIGURES_H

#include "analysis/ingest/fault.h"
#include "analysis/report/plan.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Of the plotted run of each cell, of the plan when it has several cells, and of the plotted runs
 * of each pair of cells that differ in their stack alone. */
enum figure {
    FIGURE_RATES,
    FIGURE_DELAY,
    FIGURE_CDF,
    FIGURE_SENDER_QUEUE,
    FIGURE_RECOVERY,
    FIGURE_CELL_KINDS,
    FIGURE_COMPARE_MEDIA = FIGURE_CELL_KINDS,
    FIGURE_COMPARE_DELAY,
    FIGURE_COMPARE_FILE,
    FIGURE_PLAN_KINDS,
    FIGURE_STACKS_RATES = FIGURE_PLAN_KINDS,
    FIGURE_STACKS_DELAY,
    FIGURE_STACKS_CDF,
    FIGURE_KINDS,
};

/* Where a figure lies, relative to the plan's folder. number is that of the cell or the pair, and
 * ignored for a figure of the plan. */
void figures_path(char *out, size_t len, const struct plan_results *p, enum figure kind,
                  size_t number);
/* Whether there is something to draw. */
bool figures_wanted(const struct plan_results *p, const json_t *summary, enum figure kind,
                    size_t number);
/* Draws them all. templates is the folder of the .gp files. Returns 0, or ERR_OS with *f filled
 * when gnuplot is missing or failed. */
int figures_draw(const struct plan_results *p, const json_t *summary, const char *templates,
                 struct fault *f);

#endif
