/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Congestion window pushback as in libwebrtc (its default since about milestone 90: a queue of 350
 * ms, 30 kbit/s at least, frames dropped instead of the target lowered). A sender with more bytes
 * in flight than its estimate puts into the path's round trip plus the queue is asked to skip
 * frames, up to every second one, until they have drained: what a rate control that waits for
 * feedback cannot do while there is none, nor one that looks for delay that grows where a full
 * queue lets it grow no more. */
#ifndef AGENTS_CC_PUSHBACK_H
#define AGENTS_CC_PUSHBACK_H

#include "agents/base/ns.h"
#include "agents/base/rate.h"

#include <stdint.h>

#define PUSHBACK_ROUND_TRIPS 33
#define PUSHBACK_QUEUE (350 * NS_PER_MS)

struct pushback {
    ns_t queue;
    ns_t round_trips[PUSHBACK_ROUND_TRIPS]; /* ring: the longest of each of the last feedbacks */
    uint32_t count, at;
    int64_t window_bytes; /* 0: unknown */
    double ratio;         /* of the target that may be encoded */
};

/* queue: how long packets may wait besides the round trip; PUSHBACK_QUEUE is libwebrtc's. */
void pushback_init(struct pushback *p, ns_t queue);
/* A feedback with arrivals came; longest: the round trip of the first packet sent among them. */
void pushback_feedback(struct pushback *p, ns_t longest, bps_t target);
/* The window follows the target; to be called regularly besides. */
void pushback_target(struct pushback *p, bps_t target);
/* A packet left or feedback came, and so many bytes are in flight now: sent, and none after them
 * spoken of. */
void pushback_in_flight(struct pushback *p, int64_t bytes);
/* Every how many frames one is to be skipped, 2 or more; 0: none. min_rate: what the encoder may
 * always make. */
int64_t pushback_skip(const struct pushback *p, bps_t target, bps_t min_rate);

#endif
