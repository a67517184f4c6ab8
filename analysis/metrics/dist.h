/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A distribution of values in time. A sample belongs to a moment and counts once, or it holds for a
 * span and counts by its duration; one distribution has samples of one sort only. Quantiles are
 * exact, by nearest rank: the smallest value such that at least the fraction p of all weight is at
 * or below it. The standard deviation is that of a sample (n - 1). */
#ifndef ANALYSIS_METRICS_DIST_H
#define ANALYSIS_METRICS_DIST_H

#include "agents/base/ns.h"

#include <stdbool.h>
#include <stddef.h>

struct dist_sample {
    ns_t time, until; /* equal for a moment */
    double value;
};

struct dist {
    struct dist_sample *samples;
    size_t count, room;
    bool failed; /* out of memory: samples are missing, or not in order */
};

/* The samples of a window in ascending order. */
struct dist_view {
    double *values;
    double *weights, *cumulative; /* NULL: every sample counts once */
    size_t count;
};

void dist_fini(struct dist *d);
void dist_add(struct dist *d, ns_t time, double value);
void dist_add_span(struct dist *d, ns_t from, ns_t until, double value);
/* Orders the samples by value, equal ones as they came; call after the last sample and before
 * dist_view_init. */
void dist_sort(struct dist *d);

/* Samples within [start, end). Returns 0 or ERR_NOMEM. */
int dist_view_init(struct dist_view *v, const struct dist *d, ns_t start, ns_t end);
void dist_view_fini(struct dist_view *v);
/* All of these are NAN for an empty view; the deviation also for a single sample. */
double dist_view_mean(const struct dist_view *v);
double dist_view_sd(const struct dist_view *v);
double dist_view_quantile(const struct dist_view *v, double p);
double dist_view_max(const struct dist_view *v);

#endif
