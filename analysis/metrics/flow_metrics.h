/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What several flows on one path make of it and of each other (RFC 8867 section 4.1, RFC 8868
 * section 3): metrics, what is drawn, and who they are. */
#ifndef ANALYSIS_METRICS_FLOW_METRICS_H
#define ANALYSIS_METRICS_FLOW_METRICS_H

#include "analysis/metrics/flow_set.h"
#include "analysis/metrics/metric_set.h"

#include <jansson.h>

/* The first call, whose metrics have no prefix. */
#define FLOW_METRICS_FIRST "call1"

/* Of a finished set: convergence and steadiness of each flow, with its prefix; fairness and
 * utilisation of the path. */
void flow_metrics_put(const struct flow_set *set, struct metric_set *out);
/* Writes dir/series.flows.csv: a row per flow and 200 ms. Returns 0 or ERR_OS (errno). */
int flow_metrics_write(const struct flow_set *set, const char *dir);
/* {"forward":[{"time_s","bps"}…],"backward":[…]}: what flows that adapt have of the path; an empty
 * list for a direction in which nothing but feedback goes. NULL: no memory. */
json_t *flow_metrics_capacity(const struct flow_set *set);

#endif
