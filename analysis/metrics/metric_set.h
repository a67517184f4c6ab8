/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What reduction produces: values by metric name and window. A value that does not exist (NAN) is
 * left out. */
#ifndef ANALYSIS_METRICS_METRIC_SET_H
#define ANALYSIS_METRICS_METRIC_SET_H

#include "analysis/metrics/dist.h"
#include "analysis/metrics/window.h"

#include <jansson.h>
#include <stdbool.h>

struct metric_set {
    json_t *root; /* {name: {window: value}} */
    bool failed;  /* out of memory: values are missing */
};

/* Returns 0 or ERR_NOMEM. */
int metric_set_init(struct metric_set *m);
void metric_set_fini(struct metric_set *m);
void metric_set_put(struct metric_set *m, const char *name, enum window_id window, double value);
/* name with _mean _sd _p50 _p95 _p99 _max, in each window that exists and has samples. d is sorted.
 */
void metric_set_put_dist(struct metric_set *m, const char *name, const struct dist *d,
                         const struct windows *w);

#endif
