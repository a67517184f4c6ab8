/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/cc/tick_pacer.h"

#define TICK (5 * NS_PER_MS)
#define TICKS_PER_S 200
#define START_RATE 750000
#define START_BURST_BITS (10 * 1280 * 8)
#define BURST_MIN_BITS 24000
#define BURST_TICKS 2

void tick_pacer_init(struct tick_pacer *p, int64_t datagram_bytes, ns_t now)
{
    *p = (struct tick_pacer){.rate = START_RATE,
                             .datagram_bits = datagram_bytes * 8,
                             .burst_bits = START_BURST_BITS,
                             .burst_ticks = BURST_TICKS,
                             .tokens_bits = START_BURST_BITS,
                             .updated = now,
                             .next_tick = now};
}

void tick_pacer_set_burst(struct tick_pacer *p, int64_t ticks)
{
    p->burst_ticks = ticks;
}

static void refill(struct tick_pacer *p, ns_t now)
{
    __int128 grown;

    if (now <= p->updated) {
        return;
    }
    grown = (__int128)(now - p->updated) * p->rate + p->remainder;
    p->updated = now;
    if (grown / NS_PER_S >= p->burst_bits - p->tokens_bits) {
        p->tokens_bits = p->burst_bits;
        p->remainder = 0;
        return;
    }
    p->tokens_bits += (int64_t)(grown / NS_PER_S);
    p->remainder = (int64_t)(grown % NS_PER_S);
}

void tick_pacer_set_rate(struct tick_pacer *p, bps_t rate, ns_t now)
{
    if (rate == p->rate) {
        return;
    }
    refill(p, now);
    p->rate = rate;
    p->burst_bits = p->burst_ticks * rate / TICKS_PER_S;
    if (p->burst_bits < BURST_MIN_BITS) {
        p->burst_bits = BURST_MIN_BITS;
    }
    if (p->tokens_bits > p->burst_bits) {
        p->tokens_bits = p->burst_bits;
    }
}

bool tick_pacer_allows(struct tick_pacer *p, ns_t now)
{
    refill(p, now);
    return p->tokens_bits >= p->datagram_bits;
}

ns_t tick_pacer_next(const struct tick_pacer *p)
{
    __int128 missing = (__int128)(p->datagram_bits - p->tokens_bits) * NS_PER_S - p->remainder;
    ns_t enough = p->updated;

    if (missing > 0) {
        enough += (ns_t)((missing + p->rate - 1) / p->rate);
    }
    return ns_max(enough, p->next_tick);
}

void tick_pacer_sent(struct tick_pacer *p, int64_t bytes, ns_t now)
{
    refill(p, now);
    if (p->tokens_bits >= bytes * 8) {
        p->tokens_bits -= bytes * 8;
    }
    p->next_tick = now + TICK;
}
