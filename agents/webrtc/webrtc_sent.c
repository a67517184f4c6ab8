/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/webrtc/webrtc_sent.h"

#include "agents/base/err.h"
#include "agents/base/rate.h"

#include <stdlib.h>
#include <string.h>

#define WEBRTC_SENT_CE 3

_Static_assert((WEBRTC_SENT_MAX & (WEBRTC_SENT_MAX - 1)) == 0, "the ring is indexed by a mask");

int webrtc_sent_init(struct webrtc_sent *s)
{
    memset(s, 0, sizeof *s);
    s->ring = calloc(WEBRTC_SENT_MAX, sizeof *s->ring);
    s->batch = calloc(WEBRTC_SENT_MAX, sizeof *s->batch);
    s->batch_numbers = calloc(WEBRTC_SENT_MAX, sizeof *s->batch_numbers);
    if (!s->ring || !s->batch || !s->batch_numbers) {
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
    free(s->batch_numbers);
    free(s->sources);
    s->ring = NULL;
    s->batch = NULL;
    s->batch_numbers = NULL;
    s->sources = NULL;
}

int webrtc_sent_by_source(struct webrtc_sent *s)
{
    s->sources = calloc(WEBRTC_SENT_SOURCES, sizeof *s->sources);
    for (size_t i = 0; s->sources && i < WEBRTC_SENT_SOURCES; i++) {
        for (size_t k = 0; k < WEBRTC_SENT_MAX; k++) {
            s->sources[i].numbers[k] = -1;
        }
    }
    return s->sources ? 0 : ERR_NOMEM;
}

static struct webrtc_sent_source *source(struct webrtc_sent *s, uint32_t ssrc)
{
    for (size_t i = 0; i < s->source_count; i++) {
        if (s->sources[i].ssrc == ssrc) {
            return &s->sources[i];
        }
    }
    return NULL;
}

void webrtc_sent_name(struct webrtc_sent *s, uint32_t ssrc, uint16_t seq)
{
    struct webrtc_sent_source *from = source(s, ssrc);

    if (!s->sources) {
        return;
    }
    if (!from && s->source_count < WEBRTC_SENT_SOURCES) {
        from = &s->sources[s->source_count++];
        from->ssrc = ssrc;
    }
    if (from) {
        from->numbers[seq & (WEBRTC_SENT_MAX - 1)] = s->next;
        from->seqs[seq & (WEBRTC_SENT_MAX - 1)] = seq;
    }
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

/* ---- RFC 8888 ---- */

static struct webrtc_sent_packet *find_named(struct webrtc_sent *s, uint32_t ssrc, uint16_t seq)
{
    struct webrtc_sent_source *from = source(s, ssrc);
    int64_t number = from ? from->numbers[seq & (WEBRTC_SENT_MAX - 1)] : -1;
    struct webrtc_sent_packet *p;

    if (number < 0 || from->seqs[seq & (WEBRTC_SENT_MAX - 1)] != seq) {
        return NULL;
    }
    p = &s->ring[number & (WEBRTC_SENT_MAX - 1)];
    return p->number == number ? p : NULL;
}

/* Puts a packet into the batch of n by its number: sources report one behind the other. */
static void insert(struct webrtc_sent *s, size_t n, const struct webrtc_sent_packet *p,
                   const struct ccfb_status *status)
{
    size_t i = n;

    for (; i > 0 && s->batch_numbers[i - 1] > p->number; i--) {
        s->batch[i] = s->batch[i - 1];
        s->batch_numbers[i] = s->batch_numbers[i - 1];
    }
    s->batch_numbers[i] = p->number;
    s->batch[i] = (struct cc_packet){.sent = p->sent,
                                     .arrival = status->received ? status->arrival : 0,
                                     .bytes = p->bytes,
                                     .lost = !status->received,
                                     .probe = p->probe};
}

size_t webrtc_sent_ccfb(struct webrtc_sent *s, const struct rtcp_packet *feedback,
                        const struct record_sink *rec, const struct cc_packet **out, ns_t now)
{
    struct ccfb_feedback f;
    struct ccfb_status status;
    size_t n = 0;

    *out = s->batch;
    if (!s->sources || ccfb_parse(&f, &s->ccfb_clock, CCFB_NUM_REPORTS_COUNT, feedback) != 0) {
        s->malformed++;
        return 0;
    }
    s->feedbacks++;
    while (n < WEBRTC_SENT_MAX && ccfb_next(&f, &status)) {
        struct webrtc_sent_packet *p = find_named(s, status.ssrc, status.seq);
        if (!p) {
            s->unknown++;
            continue;
        }
        land(s, p->number);
        if (!learn(s, p, status.received, rec, now)) {
            continue;
        }
        s->told += status.received;
        s->marked += status.received && status.ecn == WEBRTC_SENT_CE;
        if (!status.received || status.arrival_known) {
            insert(s, n++, p, &status);
        }
    }
    return n;
}

void webrtc_sent_take_marks(struct webrtc_sent *s, int64_t *told, int64_t *marked)
{
    *told = s->told;
    *marked = s->marked;
    s->told = s->marked = 0;
}
