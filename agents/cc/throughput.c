/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/cc/throughput.h"

#define WINDOW_PACKETS 20
#define WINDOW_MIN NS_PER_S
#define WINDOW_MAX (5 * NS_PER_S)
#define PACKETS_MIN 10
#define DURATION_MIN NS_PER_MS

void throughput_init(struct throughput *t)
{
    *t = (struct throughput){0};
}

static struct throughput_packet *at(struct throughput *t, uint32_t i)
{
    return &t->ring[(t->first + i) % THROUGHPUT_RING];
}

static void note_gap(struct throughput *t, ns_t gap)
{
    if (gap > t->gap[0]) {
        t->gap[1] = t->gap[0];
        t->gap[0] = gap;
    } else if (gap > t->gap[1]) {
        t->gap[1] = gap;
    }
}

static void refresh_gaps(struct throughput *t)
{
    t->gap[0] = t->gap[1] = 0;
    for (uint32_t i = 1; i < t->count; i++) {
        note_gap(t, at(t, i)->arrival - at(t, i - 1)->arrival);
    }
    t->gaps_stale = false;
}

static void drop_first(struct throughput *t)
{
    struct throughput_packet *p = at(t, 0), *q = at(t, 1);

    if (!t->discarded_any || p->send > t->discarded) {
        t->discarded = p->send;
        t->discarded_any = true;
    }
    if (t->count > 1) {
        t->gaps_stale |= q->arrival - p->arrival >= t->gap[1];
        t->send_disorder -= q->send < p->send;
    }
    t->bytes -= p->bytes;
    t->first = (t->first + 1) % THROUGHPUT_RING;
    t->count--;
}

/* Moves the newest packet to its place among the arrivals and counts again. */
static void sort_last(struct throughput *t)
{
    for (uint32_t i = t->count - 1; i > 0 && at(t, i)->arrival < at(t, i - 1)->arrival; i--) {
        struct throughput_packet swap = *at(t, i);
        *at(t, i) = *at(t, i - 1);
        *at(t, i - 1) = swap;
    }
    t->send_disorder = 0;
    for (uint32_t i = 1; i < t->count; i++) {
        t->send_disorder += at(t, i)->send < at(t, i - 1)->send;
    }
    t->gaps_stale = true;
}

void throughput_add(struct throughput *t, ns_t send, ns_t arrival, int32_t bytes)
{
    struct throughput_packet *last;

    if (t->count == THROUGHPUT_RING) {
        drop_first(t);
    }
    *at(t, t->count++) =
        (struct throughput_packet){.send = send, .arrival = arrival, .bytes = bytes};
    t->bytes += bytes;
    if (t->count == 1) {
        return;
    }
    last = at(t, t->count - 2);
    if (arrival < last->arrival) {
        sort_last(t);
        return;
    }
    t->send_disorder += send < last->send;
    note_gap(t, arrival - last->arrival);
}

static bool first_is_old(struct throughput *t)
{
    ns_t length;

    if (!t->count) {
        return false;
    }
    length = at(t, t->count - 1)->arrival - at(t, 0)->arrival;
    return t->count > THROUGHPUT_PACKETS_MAX || length > WINDOW_MAX ||
           (t->count > WINDOW_PACKETS && length > WINDOW_MIN);
}

void throughput_trim(struct throughput *t)
{
    while (first_is_old(t)) {
        drop_first(t);
    }
}

struct sent_span {
    ns_t first, last;
    int64_t bytes, last_bytes;
    uint32_t packets;
};

/* The sending side of the window. Packets sent before one that has left the window were overtaken:
 * they would stretch the span into the past and are left out. */
static struct sent_span sent_span(struct throughput *t)
{
    struct sent_span s = {0};
    bool whole = !t->send_disorder && (!t->discarded_any || at(t, 0)->send >= t->discarded);

    if (whole) {
        uint32_t last = t->count - 1;
        /* of packets sent at the same instant the first one stands for the end */
        while (last > 0 && at(t, last - 1)->send == at(t, last)->send) {
            last--;
        }
        return (struct sent_span){.first = at(t, 0)->send,
                                  .last = at(t, last)->send,
                                  .bytes = t->bytes,
                                  .last_bytes = at(t, last)->bytes,
                                  .packets = t->count};
    }
    for (uint32_t i = 0; i < t->count; i++) {
        struct throughput_packet *p = at(t, i);
        if (t->discarded_any && p->send < t->discarded) {
            continue;
        }
        if (!s.packets || p->send > s.last) {
            s.last = p->send;
            s.last_bytes = p->bytes;
        }
        s.first = s.packets ? ns_min(s.first, p->send) : p->send;
        s.bytes += p->bytes;
        s.packets++;
    }
    return s;
}

bps_t throughput_rate(struct throughput *t)
{
    struct sent_span sent;
    ns_t arrived;
    bps_t received, sending;

    if (t->count < PACKETS_MIN) {
        return 0;
    }
    if (t->gaps_stale) {
        refresh_gaps(t);
    }
    arrived = at(t, t->count - 1)->arrival - at(t, 0)->arrival - t->gap[0] + t->gap[1];
    received = rate_of(t->bytes - at(t, 0)->bytes, ns_max(arrived, DURATION_MIN));
    sent = sent_span(t);
    if (sent.packets < PACKETS_MIN) {
        return received;
    }
    sending = rate_of(sent.bytes - sent.last_bytes, ns_max(sent.last - sent.first, DURATION_MIN));
    return sending < received ? sending : received;
}
