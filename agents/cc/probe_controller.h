/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decides when to probe and at which rate: at the start, while a probe finds more than expected,
 * regularly while the application limits the rate, and after a large drop that may have been an
 * error. */
#ifndef AGENTS_CC_PROBE_CONTROLLER_H
#define AGENTS_CC_PROBE_CONTROLLER_H

#include "agents/base/ns.h"
#include "agents/base/rate.h"
#include "agents/cc/cc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What holds the estimate down; decides whether probing may help. */
enum probe_limit {
    PROBE_LIMIT_NONE,    /* the delay-based estimate as it grows */
    PROBE_LIMIT_DELAY,   /* over- or underuse, or a round trip beyond all measure: no probing */
    PROBE_LIMIT_LOSS,    /* loss: no probing */
    PROBE_LIMIT_GROWING, /* by loss, but growing again: careful probing */
};

#define PROBE_QUEUE 4

struct probe_controller {
    enum { PROBE_INIT, PROBE_WAITING, PROBE_COMPLETE } state;
    bps_t estimate, max_rate;
    enum probe_limit limit;
    bps_t further_above;       /* a result above it is followed by another probe; INT64_MAX: none */
    ns_t started;              /* last probing */
    ns_t alr_since, alr_ended; /* NS_NEVER for neither */
    ns_t dropped;              /* last large drop of the estimate ... */
    bps_t before_drop;         /* ... and the estimate before it */
    ns_t drop_probed;
    ns_t demanded; /* NS_NEVER: no demand waits */
    bool paused;
    int32_t next_id;
    struct {
        struct cc_probe probe;
        ns_t made;
    } queue[PROBE_QUEUE];
    size_t queued;
};

void probe_controller_init(struct probe_controller *p, bps_t start_rate, bps_t max_rate, ns_t now);
/* The start of probing, once packets can be sent: 3 and 6 times the start rate. Later calls do
 * nothing. */
void probe_controller_start(struct probe_controller *p, ns_t now);
void probe_controller_estimate(struct probe_controller *p, bps_t estimate, enum probe_limit limit,
                               ns_t now);
/* since NS_NEVER: not application-limited. */
void probe_controller_app_limited(struct probe_controller *p, ns_t since, ns_t now);
/* An overuse is over: probes once if the drop may have been none of the path's capacity. */
void probe_controller_recovered(struct probe_controller *p, ns_t now);
/* The application wants more than it did: probes at twice the estimate, at once or as soon as
 * nothing forbids it within a second. */
void probe_controller_demand(struct probe_controller *p, ns_t now);
/* While paused nothing is probed for, and what waits to be sent is forgotten. */
void probe_controller_pause(struct probe_controller *p, bool paused);
/* Regular work; call it a few dozen times a second. */
void probe_controller_expire(struct probe_controller *p, ns_t now);
/* The next cluster to send, each once; those not asked for within 5 s are dropped. */
bool probe_controller_next(struct probe_controller *p, struct cc_probe *out, ns_t now);

#endif
