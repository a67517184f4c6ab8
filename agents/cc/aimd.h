/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Delay-based rate: rises while the path is not overused, falls below the throughput when it is
 * (draft-ietf-rmcat-gcc-02 section 5.5, with libwebrtc's constants). */
#ifndef AGENTS_CC_AIMD_H
#define AGENTS_CC_AIMD_H

#include "agents/base/ns.h"
#include "agents/base/rate.h"
#include "agents/cc/cc.h"
#include "agents/cc/link_capacity.h"

#include <stdbool.h>

struct aimd {
    bps_t rate, min_rate;
    bps_t throughput; /* the last one known */
    ns_t rtt;
    double weight; /* as of so many controllers together */
    ns_t changed;  /* last decision, NS_NEVER for none */
    enum cc_state_name state;
    struct link_capacity capacity;
};

void aimd_init(struct aimd *a, bps_t start_rate, bps_t min_rate);
/* Takes the detector's verdict. throughput 0: not known yet. */
void aimd_update(struct aimd *a, enum cc_usage usage, bps_t throughput, ns_t now);
/* Congestion that is told, not measured (CE): falls to factor of the rate or, where that is less,
 * of the throughput, as of weight. */
void aimd_congested(struct aimd *a, double factor, bps_t throughput, ns_t now);
/* Takes a measured rate (a probe's result) as it is. */
void aimd_set(struct aimd *a, bps_t rate, ns_t now);
/* True when an overuse may lower the rate (again): one per round trip, unless the throughput is
 * below half the rate. */
bool aimd_may_reduce(const struct aimd *a, bps_t throughput, ns_t now);
/* Additive increase near the capacity, in bit/s per second. */
double aimd_near_max_increase(const struct aimd *a);

#endif
