/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/cc/path_meter.h"

#include <string.h>

#define BASE_STRETCH (4 * NS_PER_S)
/* A busy stretch counts from so many packets on: two of them say little. */
#define STRETCH_PACKETS_MIN 3
#define SATURATED 0.85 /* part of the time */
/* Arrival times come from the peer: beyond 36 years either way they are nonsense. */
#define ARRIVAL_MAX (INT64_C(1) << 60)

void path_meter_init(struct path_meter *p)
{
    memset(p, 0, sizeof *p);
    for (size_t i = 0; i < PATH_METER_BASE_SLOTS; i++) {
        p->base[i] = NS_NEVER;
    }
    p->base_since = NS_NEVER;
}

static void note_base(struct path_meter *p, ns_t sent, ns_t delay)
{
    if (p->base_since == NS_NEVER) {
        p->base_since = sent;
    }
    if (p->held) {
        p->base_since = sent;
    }
    if (sent - p->base_since >= BASE_STRETCH) {
        p->slot = (p->slot + 1) % PATH_METER_BASE_SLOTS;
        p->base[p->slot] = NS_NEVER;
        p->base_since = sent;
    }
    p->base[p->slot] = ns_min(p->base[p->slot], delay);
}

ns_t path_meter_base(const struct path_meter *p)
{
    ns_t least = NS_NEVER;

    for (size_t i = 0; i < PATH_METER_BASE_SLOTS; i++) {
        least = ns_min(least, p->base[i]);
    }
    return least;
}

void path_meter_hold(struct path_meter *p, bool held)
{
    p->held = held;
}

static size_t at(const struct path_meter *p, size_t i)
{
    return (p->first + i) % PATH_METER_PACKETS;
}

void path_meter_add(struct path_meter *p, const struct cc_packet *packet)
{
    size_t last = at(p, p->count - 1), next;
    ns_t arrival = packet->arrival;

    if (packet->lost) {
        p->lost++;
        return;
    }
    if (arrival <= -ARRIVAL_MAX || arrival >= ARRIVAL_MAX) {
        return;
    }
    if (p->count && packet->sent < p->ring[last].sent) {
        return; /* reported lost before: its place is taken */
    }
    note_base(p, packet->sent, arrival - packet->sent);
    if (p->count) {
        arrival = ns_max(arrival, p->ring[last].arrival);
    }
    if (p->count == PATH_METER_PACKETS) {
        p->first = at(p, 1);
        p->count--;
    }
    next = at(p, p->count++);
    p->ring[next].sent = packet->sent;
    p->ring[next].arrival = arrival;
    p->ring[next].bytes = packet->bytes;
    p->ring[next].lost_before = p->lost;
    p->total += packet->bytes;
    p->lost = 0;
}

/* Sums of the busy stretches seen so far. */
struct stretch {
    ns_t arrival, sent; /* durations */
    int64_t bytes;
    int32_t packets;
};

static void close_stretch(struct stretch *all, struct stretch *one)
{
    if (one->packets >= STRETCH_PACKETS_MIN) {
        all->arrival += one->arrival;
        all->sent += one->sent;
        all->bytes += one->bytes;
    }
    *one = (struct stretch){0};
}

/* How many of the newest packets belong to the window. */
static size_t window_packets(const struct path_meter *p, ns_t window, int32_t packets_min)
{
    ns_t newest = p->ring[at(p, p->count - 1)].arrival;
    size_t n = 0;

    while (n < p->count && (p->ring[at(p, p->count - 1 - n)].arrival >= newest - window ||
                            n < (size_t)packets_min)) {
        n++;
    }
    return n;
}

/* The least waiting of the n newest packets, and how it changed from one half of their time to the
 * other. */
static void look_at_queue(const struct path_meter *p, size_t n, struct path_sample *out)
{
    ns_t base = path_meter_base(p), least[2] = {NS_NEVER, NS_NEVER};
    size_t first = p->count - n;
    ns_t oldest = p->ring[at(p, first)].arrival;

    out->until = p->ring[at(p, p->count - 1)].arrival;
    out->span = out->until - oldest;
    out->total = p->total;
    out->sent_at = p->ring[at(p, first + n / 2)].sent;
    for (size_t i = first; i < p->count; i++) {
        size_t k = at(p, i);
        int half = p->ring[k].arrival - oldest > out->span / 2;

        least[half] = ns_min(least[half], p->ring[k].arrival - p->ring[k].sent - base);
    }
    out->queue = ns_min(least[0], least[1]);
    out->rise = least[1] == NS_NEVER ? 0 : least[1] - least[0];
}

static ns_t sent_span(const struct path_meter *p, size_t n)
{
    return p->ring[at(p, p->count - 1)].sent - p->ring[at(p, p->count - n)].sent;
}

void path_meter_look(const struct path_meter *p, ns_t window, int32_t packets_min, bps_t pace,
                     struct path_sample *out)
{
    struct stretch all = {0}, one = {0};
    size_t n;

    *out = (struct path_sample){.queue = NS_NEVER, .lost = p->lost};
    if (!p->count) {
        return;
    }
    n = window_packets(p, window, packets_min);
    look_at_queue(p, n, out);
    for (size_t i = p->count; i-- > p->count - n;) {
        size_t k = at(p, i), before = at(p, i + PATH_METER_PACKETS - 1);
        ns_t gap;

        out->packets++;
        out->bytes += p->ring[k].bytes;
        out->lost += p->ring[k].lost_before;
        if (i == 0) {
            break;
        }
        gap = p->ring[k].sent - p->ring[before].sent;
        if (p->ring[k].lost_before || gap > 2 * rate_duration(pace, p->ring[before].bytes)) {
            close_stretch(&all, &one);
            continue;
        }
        one.arrival += p->ring[k].arrival - p->ring[before].arrival;
        one.sent += gap;
        one.bytes += p->ring[k].bytes;
        one.packets++;
    }
    close_stretch(&all, &one);
    if (all.arrival > 0 && all.sent > 0) {
        out->busy = all.arrival;
        out->arrived = rate_of(all.bytes, all.arrival);
        out->sent = rate_of(all.bytes, all.sent);
        out->saturated = (double)all.sent > SATURATED * (double)sent_span(p, n);
    }
}
