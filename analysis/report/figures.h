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

#define FIGURES_CELLS_MAX 6

/* Of the plotted run of each cell, of the plan when it has several cells, and of the plotted runs
 * of each pair of cells that differ in their stack alone. */
enum figure {
    FIGURE_RATES,
    FIGURE_DELAY,
    FIGURE_CDF,
    FIGURE_SENDER_QUEUE,
    FIGURE_CONTROL,
    FIGURE_RECOVERY,
    FIGURE_CELL_KINDS,
    FIGURE_COMPARE_MEDIA = FIGURE_CELL_KINDS,
    FIGURE_COMPARE_DELAY,
    FIGURE_COMPARE_FILE,
    FIGURE_GRID_MEDIA,
    FIGURE_GRID_DELAY,
    FIGURE_GRID_FILE,
    FIGURE_GRID_RTT,
    FIGURE_HEAT_MEDIA,
    FIGURE_HEAT_DELAY,
    FIGURE_PLAN_KINDS,
    FIGURE_STACKS_RATES = FIGURE_PLAN_KINDS,
    FIGURE_STACKS_DELAY,
    FIGURE_STACKS_CDF,
    FIGURE_KINDS,
};

/* Where a figure lies, relative to the plan's folder: as "svg", "pdf", or the "csv" it was drawn
 * from. number is that of the cell or the pair, and ignored for a figure of the plan. */
void figures_path(char *out, size_t len, const struct plan_results *p, enum figure kind,
                  size_t number, const char *ending);
/* Whether there is something to draw. A plan of more than FIGURES_CELLS_MAX cells gets figures over
 * time of an example only (one pair of stacks, one cell each), unless p->all_figures is set. */
bool figures_wanted(const struct plan_results *p, const json_t *summary, enum figure kind,
                    size_t number);
/* The pair that is the example: one with a file if there is one, its path closest to 5 Mbit/s and
 * 10 ms, both of its runs valid if possible. pair_count without pairs. */
size_t figures_example(const struct plan_results *p);
/* Draws them all, each as SVG and PDF beside its CSV. templates is the folder of the .gp files.
 * Returns 0, ERR_HOST with *f filled when gnuplot is missing, or ERR_OS when it failed. */
int figures_draw(const struct plan_results *p, const json_t *summary, const char *templates,
                 struct fault *f);

#endif
