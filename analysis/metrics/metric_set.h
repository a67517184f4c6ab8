/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What reduction produces: values by metric name and window. A value that does not exist (NAN) is
 * left out; a time that never came is told as such, never as a number. */
#ifndef ANALYSIS_METRICS_METRIC_SET_H
#define ANALYSIS_METRICS_METRIC_SET_H

#include "analysis/metrics/dist.h"
#include "analysis/metrics/window.h"

#include <jansson.h>
#include <stdbool.h>

/* In place of the number of a time that never came: {METRIC_NEVER: seconds waited}. */
#define METRIC_NEVER "never_within_s"

/* How long it took until something was so. */
struct metric_time {
    double s;   /* NAN: cannot be told */
    bool never; /* it was not so in these s seconds, and nobody knows what came later */
};

struct metric_set {
    json_t *root; /* {name: {window: value}} */
    bool failed;  /* out of memory: values are missing */
};

/* Reads a window's value, a number or a time that never came; NULL or anything else: NAN. */
struct metric_time metric_time_of(const json_t *value);

/* Returns 0 or ERR_NOMEM. */
int metric_set_init(struct metric_set *m);
void metric_set_fini(struct metric_set *m);
void metric_set_put(struct metric_set *m, const char *name, enum window_id window, double value);
/* The same of a time. */
void metric_set_put_time(struct metric_set *m, const char *name, enum window_id window,
                         struct metric_time t);
/* name with _mean _sd _p50 _p95 _p99 _max, in each window that exists and has samples. d is sorted.
 */
void metric_set_put_dist(struct metric_set *m, const char *name, const struct dist *d,
                         const struct windows *w);

#endif
