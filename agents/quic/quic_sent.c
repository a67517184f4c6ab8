/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/quic/quic_sent.h"

#include "agents/base/err.h"

#include <stdlib.h>
#include <string.h>

_Static_assert((QUIC_SENT_MAX & (QUIC_SENT_MAX - 1)) == 0, "the ring is indexed by a mask");

int quic_sent_init(struct quic_sent *s)
{
    memset(s, 0, sizeof *s);
    s->largest_sent = s->largest_acked = -1;
    s->batch_cap = QUIC_SENT_MAX;
    s->ring = calloc(QUIC_SENT_MAX, sizeof *s->ring);
    s->batch = calloc(s->batch_cap, sizeof *s->batch);
    s->batch_numbers = calloc(s->batch_cap, sizeof *s->batch_numbers);
    if (!s->ring || !s->batch || !s->batch_numbers) {
        quic_sent_fini(s);
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < QUIC_SENT_MAX; i++) {
        s->ring[i].packet = -1;
    }
    return 0;
}

void quic_sent_fini(struct quic_sent *s)
{
    free(s->ring);
    free(s->batch);
    free(s->batch_numbers);
    s->ring = NULL;
    s->batch = NULL;
    s->batch_numbers = NULL;
}

static struct quic_sent_packet *find(struct quic_sent *s, int64_t packet)
{
    struct quic_sent_packet *p = &s->ring[packet & (QUIC_SENT_MAX - 1)];

    return p->packet == packet ? p : NULL;
}

/* The packet's fate is about to be known: it is in flight no more. */
static void land(struct quic_sent *s, const struct quic_sent_packet *p)
{
    if (p->packet >= 0 && !p->acked && !p->lost) {
        s->in_flight_bytes -= p->bytes;
    }
}

void quic_sent_add(struct quic_sent *s, int64_t packet, int32_t bytes, int32_t probe, ns_t now)
{
    struct quic_sent_packet *p = &s->ring[packet & (QUIC_SENT_MAX - 1)];

    if (p->packet >= 0 && p->acked && !p->reported) {
        s->acked_untimed++; /* its timestamp never came */
    }
    land(s, p); /* forgotten now */
    s->in_flight_bytes += bytes;
    *p = (struct quic_sent_packet){.packet = packet, .sent = now, .bytes = bytes, .probe = probe};
    s->largest_sent = packet;
}

/* Appends to the batch, keeping the order of packet numbers; nearly always at the end. */
static void report(struct quic_sent *s, const struct quic_sent_packet *p, bool lost)
{
    size_t i = s->batch_len;

    if (s->batch_len == s->batch_cap) {
        return; /* cannot be: no more packets are remembered than fit, and each is taken soon */
    }
    for (; i > 0 && s->batch_numbers[i - 1] > p->packet; i--) {
        s->batch[i] = s->batch[i - 1];
        s->batch_numbers[i] = s->batch_numbers[i - 1];
    }
    s->batch[i] = (struct cc_packet){.sent = p->sent,
                                     .arrival = lost ? 0 : p->arrival,
                                     .bytes = p->bytes,
                                     .lost = lost,
                                     .probe = p->probe};
    s->batch_numbers[i] = p->packet;
    s->batch_len++;
}

static void report_arrival(struct quic_sent *s, struct quic_sent_packet *p)
{
    if (p->acked && p->has_arrival && !p->reported) {
        p->reported = true;
        report(s, p, false);
    }
}

void quic_sent_timestamp(struct quic_sent *s, int64_t packet, int64_t time_us)
{
    struct quic_sent_packet *p = packet < 0 ? NULL : find(s, packet);

    if (p && !p->has_arrival) {
        p->has_arrival = true;
        p->arrival = time_us * NS_PER_US;
        report_arrival(s, p); /* here already if its acknowledgement came without a timestamp */
    }
}

void quic_sent_acked(struct quic_sent *s, int64_t packet, ns_t arrival, ns_t now)
{
    struct quic_sent_packet *p = find(s, packet);

    s->last_ack = now;
    if (packet > s->largest_acked) {
        s->largest_acked = packet;
    }
    if (!p || p->acked) {
        return;
    }
    land(s, p);
    p->acked = true;
    s->newly_acked++;
    s->spurious += p->lost;
    if (arrival != NS_NEVER && !p->has_arrival) {
        p->has_arrival = true;
        p->arrival = arrival;
    }
    report_arrival(s, p);
}

const struct quic_sent_packet *quic_sent_lost(struct quic_sent *s, int64_t packet)
{
    struct quic_sent_packet *p = find(s, packet);

    s->lost++;
    if (p && !p->acked && !p->lost) {
        land(s, p);
        p->lost = true;
        report(s, p, true);
    }
    return p;
}

int64_t quic_sent_take_acked(struct quic_sent *s)
{
    int64_t n = s->newly_acked;

    s->newly_acked = 0;
    return n;
}

bool quic_sent_outstanding(const struct quic_sent *s)
{
    return s->largest_sent > s->largest_acked;
}

size_t quic_sent_take(struct quic_sent *s, const struct cc_packet **out)
{
    size_t n = s->batch_len;

    *out = s->batch;
    s->batch_len = 0;
    return n;
}
