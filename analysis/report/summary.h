/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metrics per cell over its valid repetitions: summary.json and summary.csv. The confidence
 * interval is the bootstrap of statistics.h at 95 %, null below two runs, as is the standard
 * deviation. */
#ifndef ANALYSIS_REPORT_SUMMARY_H
#define ANALYSIS_REPORT_SUMMARY_H

#include "analysis/ingest/fault.h"
#include "analysis/metrics/metric_set.h"
#include "analysis/report/plan.h"

#include <jansson.h>
#include <stddef.h>

#define SUMMARY_SCHEMA 1

struct summary_value {
    size_t n;                                /* runs that have the metric */
    double mean, sd, ci_lo, ci_hi, min, max; /* sd and ci are NAN below n = 2 */
    double median;
    double fence_lo, fence_hi; /* what lies beyond is an outlier */
    /* In so many further runs the time that this is of never came, in none of them within waited_s
     * seconds. Then mean, sd, interval, largest and fences are NAN, since nobody knows them; the
     * median is one of all runs, NAN where it lies among these. */
    size_t never;
    double waited_s;
};

/* Of n values, which it sorts; all numbers are NAN for n = 0. name chooses the random numbers of
 * the interval, as in statistics.h. */
struct summary_value summary_statistics(double *x, size_t n, const char *name);
/* The same of times of which some may never have come; room is for n numbers. */
struct summary_value summary_times(const struct metric_time *t, size_t n, double *room,
                                   const char *name);
/* Has any run the metric, or waited for it? */
bool summary_exists(const struct summary_value *v);
/* Half the width of the interval, for a "±"; NAN without one. */
double summary_half(const struct summary_value *v);
/* A new document, NULL when out of memory. */
json_t *summary_new(const struct plan_results *p);
/* One value of it. */
struct summary_value summary_get(const json_t *summary, size_t cell, const char *metric,
                                 const char *window);
/* dir/summary.json and dir/summary.csv. Returns 0 or ERR_OS with *f filled. */
int summary_write(const json_t *summary, const char *dir, struct fault *f);

#endif
