/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Throughput from acknowledged packets over a window of about a second: the lower of the rates at
 * which its packets were sent and arrived, so that neither a burst let go by a queue nor a silent
 * source misleads it. The largest gap between arrivals is left out, as one stall of the path is no
 * loss of capacity. */
#ifndef AGENTS_CC_THROUGHPUT_H
#define AGENTS_CC_THROUGHPUT_H

#include "agents/base/ns.h"
#include "agents/base/rate.h"

#include <stdbool.h>
#include <stdint.h>

#define THROUGHPUT_PACKETS_MAX 500
#define THROUGHPUT_RING 512 /* a power of two above it */

struct throughput_packet {
    ns_t send, arrival;
    int64_t bytes;
};

struct throughput {
    struct throughput_packet ring[THROUGHPUT_RING]; /* ordered by arrival */
    uint32_t first, count;
    int64_t bytes;         /* of all packets in the ring */
    int32_t send_disorder; /* neighbours whose send times are in the wrong order */
    ns_t gap[2];           /* largest and second largest gap between arrivals ... */
    bool gaps_stale;       /* ... unless one of them has left the ring */
    ns_t discarded;        /* latest send time of a packet that left the ring */
    bool discarded_any;
};

void throughput_init(struct throughput *t);
/* An acknowledged packet; any order, cheapest in the order of arrival. */
void throughput_add(struct throughput *t, ns_t send, ns_t arrival, int32_t bytes);
/* Forgets what is older than the window; call it after each batch of packets. */
void throughput_trim(struct throughput *t);
/* 0 while there are fewer than 10 packets. */
bps_t throughput_rate(struct throughput *t);

#endif
