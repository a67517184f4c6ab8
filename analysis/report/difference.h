/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What changes when only the stack does: per pair of cells and metric the mean of the differences
 * between runs of equal seeds, with a confidence interval that resamples these differences
 * (statistics.h), and how large they are. */
#ifndef ANALYSIS_REPORT_DIFFERENCE_H
#define ANALYSIS_REPORT_DIFFERENCE_H

#include "analysis/report/catalogue.h"
#include "analysis/report/plan.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define DIFFERENCE_TEXT_BYTES 48

/* Over the seeds of which both cells have a valid run with the metric. */
struct difference_value {
    size_t n;            /* such seeds; 0: the rest is NAN */
    double means[2];     /* of the first and the second cell of the pair */
    double mean;         /* second minus first */
    double ci_lo, ci_hi; /* 95 %; NAN below n = 2 */
    double effect;       /* Cohen's d_z; NAN below n = 2, or when the differences are all alike */
    double dominance;    /* Cliff's delta */
};

/* One row of the table that shows a pair side by side. */
struct difference_row {
    const char *label, *metric, *window; /* a row of "during" shows "whole" without a transfer */
};

extern const struct difference_row difference_rows[];
extern const size_t difference_row_count;

/* The value of n pairs of numbers; overwrites room[n]. name chooses the random numbers, so that the
 * interval of one metric does not depend on which others there are. */
struct difference_value difference_of(const double *first, const double *second, size_t n,
                                      double *room, const char *name);
/* summary.json's "differences": an entry per pair of the plan. A new array, NULL when out of
 * memory. */
json_t *difference_all(const struct plan_results *p);
/* One value of it. */
struct difference_value difference_get(const json_t *summary, size_t pair, const char *metric,
                                       const char *window);
/* That of a row. Where no seed has a valid run of both (n is 0), means are still those of each
 * cell's own valid runs, NAN for a cell without any. */
struct difference_value difference_row_get(const json_t *summary, size_t pair, size_t row);

/* Whether there is anything to show of a row. */
bool difference_has_any(const struct difference_value *v);
/* A difference and its interval as shown, in the metric's display unit; "-" for what is not. */
void difference_text(char out[DIFFERENCE_TEXT_BYTES], double v, const struct catalogue_entry *e);
void difference_interval_text(char out[DIFFERENCE_TEXT_BYTES], const struct difference_value *v,
                              const struct catalogue_entry *e);

#endif
