/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/base/rate_schedule.h"

#include <assert.h>
#include <math.h>

void rate_cursor_init(struct rate_cursor *c, const struct rate_schedule *schedule)
{
    assert(schedule->count > 0 && schedule->steps[0].at == 0);
    *c = (struct rate_cursor){.schedule = schedule};
}

bps_t rate_cursor_rate(const struct rate_cursor *c)
{
    return c->schedule->steps[c->current].rate;
}

ns_t rate_cursor_next(const struct rate_cursor *c)
{
    const struct rate_schedule *s = c->schedule;

    if (c->current + 1 < s->count) {
        return ns_add(c->base, s->steps[c->current + 1].at);
    }
    return s->period ? ns_add(c->base, s->period) : NS_NEVER;
}

void rate_cursor_advance(struct rate_cursor *c)
{
    if (c->current + 1 < c->schedule->count) {
        c->current++;
    } else {
        assert(c->schedule->period > 0);
        c->base = ns_add(c->base, c->schedule->period);
        c->current = 0;
    }
}

/* Puts the cursor on the step in force at t. */
static void seek(struct rate_cursor *c, const struct rate_schedule *s, ns_t t)
{
    size_t low = 0, high = s->count;

    rate_cursor_init(c, s);
    if (s->period && t > 0) {
        c->base = t / s->period * s->period;
    }
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (s->steps[middle].at <= t - c->base) {
            low = middle;
        } else {
            high = middle;
        }
    }
    c->current = low;
}

bps_t rate_schedule_at(const struct rate_schedule *s, ns_t t)
{
    struct rate_cursor c;

    seek(&c, s, t);
    return rate_cursor_rate(&c);
}

double rate_schedule_bits(const struct rate_schedule *s, ns_t from, ns_t to)
{
    struct rate_cursor c;
    double bits = 0;

    seek(&c, s, from);
    while (from < to) {
        ns_t next = ns_min(rate_cursor_next(&c), to);

        bits += (double)rate_cursor_rate(&c) * ns_to_s(next - from);
        from = next;
        if (from < to) {
            rate_cursor_advance(&c);
        }
    }
    return bits;
}

ns_t rate_schedule_end(const struct rate_schedule *s, ns_t from, double bits)
{
    struct rate_cursor c;

    if (s->period) { /* whole repetitions in one go */
        double round = rate_schedule_bits(s, 0, s->period), rounds = floor(bits / round);

        if (rounds * ns_to_s(s->period) >= ns_to_s(NS_NEVER - from)) {
            return NS_NEVER;
        }
        from += (ns_t)rounds * s->period;
        bits -= rounds * round;
    }
    seek(&c, s, from);
    for (;;) {
        double rate = (double)rate_cursor_rate(&c), seconds = bits / rate;
        ns_t next = rate_cursor_next(&c);

        if (next == NS_NEVER || seconds <= ns_to_s(next - from)) {
            return seconds < ns_to_s(NS_NEVER - from) ? from + (ns_t)(seconds * NS_PER_S)
                                                      : NS_NEVER;
        }
        bits -= rate * ns_to_s(next - from);
        from = next;
        rate_cursor_advance(&c);
    }
}

bps_t rate_schedule_min(const struct rate_schedule *s)
{
    bps_t least = s->steps[0].rate;

    for (size_t i = 1; i < s->count; i++) {
        least = s->steps[i].rate < least ? s->steps[i].rate : least;
    }
    return least;
}

bps_t rate_schedule_max(const struct rate_schedule *s)
{
    bps_t most = s->steps[0].rate;

    for (size_t i = 1; i < s->count; i++) {
        most = s->steps[i].rate > most ? s->steps[i].rate : most;
    }
    return most;
}
