/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/cc/pacer.h"

/* A probe that falls behind catches up by at most this much; beyond it the cluster's own send rate,
 * which the receiver compares with, says how late it was. */
#define PROBE_LATENESS_MAX (10 * NS_PER_MS)
/* A late call loses no rate up to this. */
#define LATENESS_MAX (2 * NS_PER_MS)
/* The debt of a long burst is forgiven beyond this time at the present rate. */
#define DEBT_MAX (500 * NS_PER_MS)

void pacer_init(struct pacer *p, bps_t rate, ns_t burst, ns_t now)
{
    *p = (struct pacer){.rate = rate, .next = now, .drained = now, .burst = burst};
}

void pacer_set_rate(struct pacer *p, bps_t rate, ns_t now)
{
    ns_t left = p->drained - now;

    if (rate == p->rate) {
        return;
    }
    /* the debt is in bytes: what is left of it takes longer or shorter from now on */
    if (left > 0) {
        left = (ns_t)((__int128)left * p->rate / rate);
        p->drained = now + ns_min(left, DEBT_MAX);
    }
    p->rate = rate;
    if (!p->probing && p->next > now) {
        p->next = p->drained;
    }
}

void pacer_set_swing(struct pacer *p, int64_t ppm, ns_t half)
{
    p->swing_ppm = ppm;
    p->swing_half = half;
}

static bps_t rate_at(const struct pacer *p, ns_t now)
{
    bps_t swing;

    if (!p->swing_ppm || p->swing_half <= 0) {
        return p->rate;
    }
    swing = p->rate * p->swing_ppm / 1000000;
    return now / p->swing_half % 2 ? p->rate - swing : p->rate + swing;
}

void pacer_start_probe(struct pacer *p, const struct cc_probe *probe, ns_t now)
{
    p->probe = *probe;
    p->probe_bytes = 0;
    p->probe_packets = 0;
    p->probing = true;
    p->next = now;
}

int32_t pacer_probe_id(const struct pacer *p)
{
    return p->probing ? p->probe.id : CC_NO_PROBE;
}

ns_t pacer_next(const struct pacer *p)
{
    return p->next;
}

static bool probe_sent(struct pacer *p, int64_t bytes, ns_t now)
{
    p->probe_bytes += bytes;
    p->probe_packets++;
    if (p->probe_bytes >= p->probe.bytes && p->probe_packets >= p->probe.packets) {
        p->probing = false;
        return false;
    }
    p->next = ns_max(p->next, now - PROBE_LATENESS_MAX) + rate_duration(p->probe.rate, bytes);
    return true;
}

void pacer_sent(struct pacer *p, int64_t bytes, ns_t now)
{
    ns_t start = ns_max(p->drained, now - LATENESS_MAX);

    p->drained = ns_min(start + rate_duration(rate_at(p, now), bytes), now + DEBT_MAX);
    if (p->probing && probe_sent(p, bytes, now)) {
        return;
    }
    /* within a burst the next packet follows at once; after it the whole debt is paid first, so
     * that departures come in bursts and not one by one at the burst's edge */
    p->next = p->drained - now < p->burst ? now : p->drained;
}
