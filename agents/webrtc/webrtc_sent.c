/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/webrtc/webrtc_sent.h"

#include "agents/base/err.h"
#include "agents/base/rate.h"

#include <stdlib.h>
#include <string.h>

_Static_assert((WEBRTC_SENT_MAX & (WEBRTC_SENT_MAX - 1)) == 0, "the ring is indexed by a mask");

int webrtc_sent_init(struct webrtc_sent *s)
{
    memset(s, 0, sizeof *s);
    s->ring = calloc(WEBRTC_SENT_MAX, sizeof *s->ring);
    s->batch = calloc(WEBRTC_SENT_MAX, sizeof *s->batch);
    if (!s->ring || !s->batch) {
        webrtc_sent_fini(s);
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < WEBRTC_SENT_MAX; i++) {
        s->ring[i].number = -1;
    }
    s->next = 1; /* as libwebrtc counts */
    return 0;
}

void webrtc_sent_fini(struct webrtc_sent *s)
{
    free(s->ring);
    free(s->batch);
    s->ring = NULL;
    s->batch = NULL;
}

uint16_t webrtc_sent_seq(const struct webrtc_sent *s)
{
    return (uint16_t)s->next;
}

/* All up to number are in flight no more. */
static void land(struct webrtc_sent *s, int64_t number)
{
    while (s->spoken_of < number) {
        const struct webrtc_sent_packet *p = &s->ring[++s->spoken_of & (WEBRTC_SENT_MAX - 1)];
        s->in_flight_bytes -= p->number == s->spoken_of ? p->bytes : 0;
    }
}

void webrtc_sent_add(struct webrtc_sent *s, int32_t bytes, int64_t datagram, int32_t probe,
                     ns_t now)
{
    land(s, s->next - WEBRTC_SENT_MAX); /* forgotten now */
    s->in_flight_bytes += bytes;
    s->ring[s->next & (WEBRTC_SENT_MAX - 1)] = (struct webrtc_sent_packet){
        .number = s->next, .datagram = datagram, .sent = now, .bytes = bytes, .probe = probe};
    s->next++;
}

/* The newest packet sent that carried seq, if it is remembered. */
static struct webrtc_sent_packet *find(struct webrtc_sent *s, uint16_t seq)
{
    int64_t number = s->next - 1 - (uint16_t)(s->next - 1 - seq);
    struct webrtc_sent_packet *p = &s->ring[number & (WEBRTC_SENT_MAX - 1)];

    return number >= 0 && p->number == number ? p : NULL;
}

/* Is there news of the packet? */
static bool learn(struct webrtc_sent *s, struct webrtc_sent_packet *p, bool received,
                  const struct record_sink *rec, ns_t now)
{
    if (p->received || (p->lost && !received)) {
        return false;
    }
    if (received) {
        s->spurious += p->lost;
        p->received = true;
        return true;
    }
    p->lost = true;
    s->lost++;
    record_put(rec, RECORD_PACKET_LOST, now, p->datagram, p->sent,
               p->bytes - RATE_UDP_IP_OVERHEAD_BYTES);
    return true;
}

size_t webrtc_sent_feedback(struct webrtc_sent *s, const struct rtcp_packet *feedback,
                            const struct record_sink *rec, const struct cc_packet **out, ns_t now)
{
    struct twcc_feedback f;
    struct twcc_status status;
    size_t n = 0;

    *out = s->batch;
    if (twcc_parse(&f, &s->clock, feedback) != 0) {
        s->malformed++;
        return 0;
    }
    s->feedbacks++;
    while (n < WEBRTC_SENT_MAX && twcc_next(&f, &status)) {
        struct webrtc_sent_packet *p = find(s, status.seq);
        if (!p) {
            s->unknown++;
            continue;
        }
        land(s, p->number);
        if (learn(s, p, status.received, rec, now)) {
            s->batch[n++] = (struct cc_packet){.sent = p->sent,
                                               .arrival = status.received ? status.arrival : 0,
                                               .bytes = p->bytes,
                                               .lost = !status.received,
                                               .probe = p->probe};
        }
    }
    return n;
}
