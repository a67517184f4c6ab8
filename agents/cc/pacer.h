/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pacing: spreads packets over time so that they never leave faster than the rate allows. The pacer
 * keeps a debt that drains at the rate. Without a burst a packet may leave when the debt is paid.
 * With one, packets leave back to back until the debt exceeds the burst and then wait until all of
 * it is paid. Unused time is not saved up, but for 2 ms that forgive a late timer. A probe cluster
 * overrides the rate until it is done; its bytes are owed like any others. */
#ifndef AGENTS_CC_PACER_H
#define AGENTS_CC_PACER_H

#include "agents/base/ns.h"
#include "agents/base/rate.h"
#include "agents/cc/cc.h"

/* What suits a sender that always has something to send: no burst, a pacing rate a little over the
 * estimate (the saw-tooth of the estimate then reaches from 0.87 to 1.01 of the capacity), and this
 * swing (see pacer_set_swing). Measured by cc_loop_test, which prints the table of choices. */
#define PACER_SATURATED_PPM 1030000
#define PACER_SWING_PPM 25000
#define PACER_SWING_HALF (350 * NS_PER_MS)

struct pacer {
    bps_t rate;
    int64_t swing_ppm; /* 0: steady */
    ns_t swing_half;
    ns_t next;    /* earliest departure of the next packet */
    ns_t drained; /* when the debt is paid */
    ns_t burst;   /* departures may run ahead of the schedule by so much */
    struct cc_probe probe;
    int64_t probe_bytes;
    int32_t probe_packets;
    bool probing;
};

/* burst 0 paces packet by packet, which is what a saturated sender needs: packets sent back to back
 * leave a standing queue together, and the estimator takes them for one group. rate must be
 * positive, here and below. */
void pacer_init(struct pacer *p, bps_t rate, ns_t burst, ns_t now);
void pacer_set_rate(struct pacer *p, bps_t rate, ns_t now);
/* Lets departures run ppm faster than the rate for one half period and as much slower for the next,
 * so that the mean stays. For a sender that always has something to send: at a perfectly steady
 * rate just above the capacity the queue grows so slowly that a delay-trend detector sees it late;
 * the faster half makes the same excess visible early, and below the capacity nobody feels it. The
 * half should exceed the round trip plus the detector's window of about 150 ms. ppm 0 ends it. */
void pacer_set_swing(struct pacer *p, int64_t ppm, ns_t half);
/* Starts a probe cluster; from now on packets leave at probe->rate until its bytes and packets are
 * out. A cluster still in progress is given up: take the next one from cc_probe only when
 * pacer_probe_id is CC_NO_PROBE. */
void pacer_start_probe(struct pacer *p, const struct cc_probe *probe, ns_t now);
/* Id of the cluster the next packet belongs to, or CC_NO_PROBE. */
int32_t pacer_probe_id(const struct pacer *p);
/* Earliest time the next packet may leave (<= now: at once). */
ns_t pacer_next(const struct pacer *p);
/* A packet of bytes (IP length) left. */
void pacer_sent(struct pacer *p, int64_t bytes, ns_t now);

#endif
