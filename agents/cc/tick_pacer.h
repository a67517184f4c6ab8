/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The prototype's pacing: a token bucket that is looked at in ticks of 5 ms. A packet may leave
 * whenever the tokens suffice for a whole datagram; the next look comes a tick after the last
 * departure. Bursts of two ticks' worth are what its delay is made of. Sizes are those of QUIC
 * packets (UDP payload). */
#ifndef AGENTS_CC_TICK_PACER_H
#define AGENTS_CC_TICK_PACER_H

#include "agents/base/ns.h"
#include "agents/base/rate.h"

#include <stdbool.h>
#include <stdint.h>

struct tick_pacer {
    bps_t rate;
    int64_t datagram_bits; /* needed for a departure */
    int64_t burst_bits, burst_ticks;
    int64_t tokens_bits; /* at updated */
    ns_t updated, next_tick;
    int64_t remainder; /* of bits, in bit-ns below one bit */
};

/* datagram_bytes: of the largest datagram. Rate and burst are the prototype's initial ones until
 * the rate is set. */
void tick_pacer_init(struct tick_pacer *p, int64_t datagram_bytes, ns_t now);
/* How many ticks' worth a burst is: two, unless told else before the first rate. The prototype's
 * WebRTC side has eight. */
void tick_pacer_set_burst(struct tick_pacer *p, int64_t ticks);
/* Sets the rate (positive) and with it the burst, of at least 3000 bytes. */
void tick_pacer_set_rate(struct tick_pacer *p, bps_t rate, ns_t now);
bool tick_pacer_allows(struct tick_pacer *p, ns_t now);
/* When to look again: a tick after the last departure, later when the tokens do not suffice then.
 */
ns_t tick_pacer_next(const struct tick_pacer *p);
/* A packet of bytes left; takes its tokens if there are so many. */
void tick_pacer_sent(struct tick_pacer *p, int64_t bytes, ns_t now);

#endif
