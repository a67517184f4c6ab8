/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a figure is drawn from, as a CSV file beside it: one line of names with units, then numbers.
 * An empty field means that there is no such value. */
#ifndef ANALYSIS_REPORT_FIGURE_CSV_H
#define ANALYSIS_REPORT_FIGURE_CSV_H

#include "analysis/ingest/fault.h"
#include "analysis/report/figure_grid.h"
#include "analysis/report/figures.h"
#include "analysis/report/plan.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Writes the file of a figure that is wanted (figures_wanted). Returns 0 or ERR_OS with *f filled.
 */
int figure_csv_write(const struct plan_results *p, const json_t *summary, enum figure kind,
                     size_t number, struct fault *f);
/* The highest values of a figure of a grid: of each column of panels of all, and
 * of what stands on a scatter plot's other axis. All are at least a little above 0. */
struct figure_extent {
    double columns[FIGURE_GRID_MAX], all, across;
    bool rows[FIGURE_GRID_MAX]; /* which have any value */
};

struct figure_extent figure_csv_extent(const struct plan_results *p, const json_t *summary,
                                       enum figure kind);

#endif
