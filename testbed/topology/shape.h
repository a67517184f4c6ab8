/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arithmetic of the shapers: what a path's rate, queue and delay mean in the kernel's own units.
 * Rates count Ethernet bytes (IP packet + 14), as tbf does. */
#ifndef TESTBED_TOPOLOGY_SHAPE_H
#define TESTBED_TOPOLOGY_SHAPE_H

#include "agents/base/message.h"
#include "agents/base/ns.h"
#include "agents/base/rate.h"

#include <stdint.h>

/* A full-size packet as tbf counts it: 1500 B of IP and an Ethernet header. */
#define SHAPE_PACKET_BYTES 1514

/* What is asked of a path; both directions alike. */
struct shape_path {
    bps_t rate;
    ns_t delay; /* one way */
    int64_t queue_bytes;
};

struct shape_tbf {
    uint64_t rate_bytes_per_s;
    uint32_t burst_bytes; /* depth of the bucket */
    uint32_t limit_bytes; /* bytes that may wait */
};

/* clamp(1514 + rate x 100 us, 1600, 2300) bytes: a deeper bucket fools bandwidth probes, a
 * shallower one loses tokens to timer granularity. */
uint32_t shape_burst_bytes(bps_t rate);
/* Returns 0, or ERR_CONFIG with what is wrong: the queue must hold at least one full-size packet,
 * else those vanish while small ones pass. */
int shape_tbf(struct shape_tbf *out, const struct shape_path *path, struct message *m);
/* The bucket depth as the kernel dumps it: ticks of 64 ns that burst_bytes take at the rate. */
uint32_t shape_tbf_ticks(const struct shape_tbf *tbf);
/* Longest a packet can wait in the queue, plus its own serialisation. */
ns_t shape_queue_bound(const struct shape_path *path);

#endif
