/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How evenly flows share a path over time (RFC 8868 section 3): ratios of throughput over intervals
 * of some seconds, smallest and largest, and Jain's index at the end. */
#ifndef ANALYSIS_METRICS_FLOW_FAIRNESS_H
#define ANALYSIS_METRICS_FLOW_FAIRNESS_H

#include "analysis/metrics/flow_set.h"

/* Jain's index is of the last so long. */
#define FLOW_FAIRNESS_END (40 * NS_PER_S)

/* NAN: there was no such interval. */
struct flow_fairness {
    double min, max;
};

/* Throughput of a flow over that of another, each divided by its weight, both on the same segments
 * and in the same direction, in intervals of a length laid end to end through each static time in
 * which both are active: calls among themselves, the lower number over the higher ... */
struct flow_fairness flow_fairness_self(const struct flow_set *s, ns_t length);
/* ... and calls over long TCP flows. */
struct flow_fairness flow_fairness_cross(const struct flow_set *s, ns_t length);
/* Jain's index of throughput over weight in the last FLOW_FAIRNESS_END in which all calls of a
 * direction on one set of segments are active, with long TCP flows or without; the lowest of such
 * groups. NAN without two flows. */
double flow_fairness_index(const struct flow_set *s, bool tcp);

#endif
