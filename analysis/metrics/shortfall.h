/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether the bottleneck gave its rate whenever there was something to carry. A certificate says so
 * of the time before a run; a host that gets busy in the middle of it makes the kernel's shaper
 * late, which looks like congestion to everybody on the path. */
#ifndef ANALYSIS_METRICS_SHORTFALL_H
#define ANALYSIS_METRICS_SHORTFALL_H

#include "analysis/ingest/run_data.h"

#include <stdbool.h>
#include <stdint.h>

/* A packet that reached the bottleneck so long before the one ahead of it had left found it there.
 */
#define SHORTFALL_WAIT (20 * NS_PER_MS)
#define SHORTFALL_SPAN NS_PER_S
/* On a quiet host the least of any busy second is 0.1 % below the rate. */
#define SHORTFALL_MAX_RATIO 0.02

/* A stretch in which the queue was never empty. */
struct shortfall_busy {
    bool on;
    ns_t since, last; /* arrivals: before the stretch, and the latest */
    int64_t bytes;    /* Ethernet bytes that arrived after since */
};

struct shortfall {
    /* Seconds in which every packet of the forward direction found another before it and the
     * Ethernet bytes that arrived were less than the rate by more than SHORTFALL_MAX_RATIO. Seconds
     * in which the rate changes are not looked at. 0 as well where arrivals do not tell: other
     * flows on the path, further bottlenecks in line, losses, jitter or copies behind the
     * bottleneck, a discipline that reorders, a rate that is not known. */
    uint64_t seconds;
    /* private */
    const struct rate_schedule *rate; /* NULL: arrivals do not tell */
    ns_t shortest_way;                /* so far: a run begins with an empty queue */
    struct shortfall_busy busy;
};

/* Borrows d. */
void shortfall_init(struct shortfall *s, const struct run_data *d);
/* A packet sender to receiver; those that arrived in the order of arrival. */
void shortfall_packet(struct shortfall *s, const struct run_packet *p);

#endif
