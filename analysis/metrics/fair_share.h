/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What each of several flows would have if bottlenecks were shared fairly: weighted max-min
 * fairness. The rates of all rise together, in proportion to their weights; a flow stops at the
 * most that it can use, and when a link that it crosses is full. */
#ifndef ANALYSIS_METRICS_FAIR_SHARE_H
#define ANALYSIS_METRICS_FAIR_SHARE_H

#include <stddef.h>

struct fair_flow {
    double weight;  /* > 0 */
    double most;    /* bit/s that it can use; INFINITY: any */
    unsigned links; /* bit i: it crosses link i; 0: it takes no part and has nothing */
};

/* Writes the share of each of n flows to out, bit/s. capacity: of links, bit/s,
 * of at most as many as fair_flow.links has bits. */
void fair_share(const double *capacity, size_t links, const struct fair_flow *flows, size_t n,
                double *out);

#endif
