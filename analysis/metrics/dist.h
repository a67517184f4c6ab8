/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A distribution of values in time. A sample belongs to a moment and counts once, or it holds for a
 * span and counts by its duration; one distribution has samples of one sort only. Quantiles are by
 * nearest rank: the smallest value such that at least the fraction p of all weight is at or below
 * it. The standard deviation is that of a sample (n - 1).
 *
 * Quantiles are exact as long as all samples are kept. Beyond the bound of dist_bound they are
 * folded into a histogram for each window that was announced: quantiles are then off by at most
 * DIST_ERROR of their distance from the smallest of the samples that were kept (or from 0), or
 * DIST_LEAST if that is more; mean, deviation, smallest and largest value stay exact. */
#ifndef ANALYSIS_METRICS_DIST_H
#define ANALYSIS_METRICS_DIST_H

#include "agents/base/ns.h"

#include <stdbool.h>
#include <stddef.h>

#define DIST_KEPT 65536 /* samples, of an ordinary distribution */
#define DIST_ERROR 0.0005
#define DIST_LEAST 1e-6
#define DIST_WINDOWS_MAX 20

struct dist_sample {
    ns_t time, until; /* equal for a moment */
    double value;
};

struct dist_window {
    ns_t start, end;
};

struct dist_bins;

struct dist {
    struct dist_sample *samples; /* NULL once they are folded */
    size_t count, room;
    bool failed; /* out of memory: samples are missing, or not in order */
    /* private */
    size_t kept; /* at most, 0: any number */
    struct dist_window windows[DIST_WINDOWS_MAX];
    size_t window_count;
    struct dist_bins *bins; /* of each window; NULL: not folded */
    double base, unit;      /* what is folded is (value - base) / unit */
    bool from_zero, spans;
};

/* The samples of a window in ascending order. */
struct dist_view {
    double *values;
    double *weights, *cumulative; /* NULL: every sample counts once */
    size_t count;
    bool folded;
    double mean, sd, max; /* of what is folded */
};

/* Begins a distribution that keeps so many samples, or as many as come until these are known to be
 * too many; of what is beyond only these windows can be viewed. from_zero: its values are near 0.
 */
void dist_bound(struct dist *d, size_t kept, const struct dist_window *windows, size_t n);
void dist_fini(struct dist *d);
void dist_add(struct dist *d, ns_t time, double value);
void dist_add_span(struct dist *d, ns_t from, ns_t until, double value);
/* Adds all samples of a distribution of moments with the same windows, both with from_zero set. */
void dist_add_all(struct dist *d, const struct dist *other);
/* Begins d as a copy. */
void dist_copy(struct dist *d, const struct dist *other);
/* Replaces each value v by map(v, ctx), which must be linear and rise. */
void dist_map(struct dist *d, double (*map)(double v, const void *ctx), const void *ctx);
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
