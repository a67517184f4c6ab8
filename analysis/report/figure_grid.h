/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cells of a plan as panels of rate and delay: a column of panels per rate, a row of them per
 * setting of whatever else varies, and in each panel the delays from left to right, a mark per
 * stack. That is how the cells of a grid over paths are drawn. */
#ifndef ANALYSIS_REPORT_FIGURE_GRID_H
#define ANALYSIS_REPORT_FIGURE_GRID_H

#include "analysis/report/plan.h"

#include <stdbool.h>
#include <stddef.h>

#define FIGURE_GRID_MAX 8 /* of each kind; more would not be readable */

struct figure_grid {
    char rows[FIGURE_GRID_MAX][PLAN_LABEL_MAX]; /* "setting=rtp-only"; "" when nothing else
                                                   varies */
    const char *series[FIGURE_GRID_MAX];        /* stacks, borrowed from the plan */
    double columns[FIGURE_GRID_MAX];            /* rates in bit/s, ascending */
    double xs[FIGURE_GRID_MAX];                 /* one-way delays in ms, ascending */
    size_t row_count, series_count, column_count, x_count;
};

struct figure_grid_place {
    size_t row, column, series, x; /* from 0 */
};

/* Returns false, with *g undefined, for a plan with fewer than three paths or more of anything
 * than FIGURE_GRID_MAX. g borrows from p. */
bool figure_grid_init(struct figure_grid *g, const struct plan_results *p);
/* Where a cell of that plan is. */
struct figure_grid_place figure_grid_place(const struct figure_grid *g,
                                           const struct plan_results *p, size_t cell);

#endif
