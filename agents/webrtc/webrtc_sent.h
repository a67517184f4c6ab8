/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sender's memory of its RTP packets by transport-wide sequence number (and, where feedback has
 * to tell of ECN, which transport-wide feedback cannot, by source and sequence number): joins what
 * was sent with the receiver's feedback and makes the rate control's input of it. A number that a
 * feedback calls missing counts as lost; should a later one say that it has arrived after all, that
 * is reported too. Numbers no feedback speaks of stay unknown, as in libwebrtc. */
#ifndef AGENTS_WEBRTC_WEBRTC_SENT_H
#define AGENTS_WEBRTC_WEBRTC_SENT_H

#include "agents/cc/cc.h"
#include "agents/record/record.h"
#include "agents/rtp/ccfb.h"
#include "agents/rtp/twcc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEBRTC_SENT_SOURCES 3 /* video, its retransmissions, audio */
#define WEBRTC_SENT_MAX 16384 /* packets remembered; a power of two below 2^16 */

struct webrtc_sent_packet {
    int64_t number; /* extended; -1: empty */
    int64_t datagram;
    ns_t sent;
    int32_t bytes, probe;
    bool received, lost;
};

/* The packets of one RTP source: which number its sequence number went out under. */
struct webrtc_sent_source {
    uint32_t ssrc;
    int64_t numbers[WEBRTC_SENT_MAX]; /* by sequence number; -1: none */
    uint16_t seqs[WEBRTC_SENT_MAX];   /* that sequence number: others have the same place */
};

struct webrtc_sent {
    struct webrtc_sent_packet *ring;
    struct cc_packet *batch;
    int64_t *batch_numbers;
    /* For feedback by source (RFC 8888), NULL without. */
    struct webrtc_sent_source *sources;
    size_t source_count;
    struct ccfb_clock ccfb_clock;
    int64_t told, marked; /* packets a feedback has told of for the first time, those of them
                             marked; since webrtc_sent_take_marks */
    struct twcc_clock clock;
    int64_t next;            /* the next packet's number */
    int64_t spoken_of;       /* the newest a feedback has said anything about */
    int64_t in_flight_bytes; /* of those after it */
    uint64_t feedbacks, malformed, lost, spurious, unknown;
};

/* Returns 0 or ERR_NOMEM. */
int webrtc_sent_init(struct webrtc_sent *s);
void webrtc_sent_fini(struct webrtc_sent *s);
/* Feedback will come by source and sequence number. Returns 0 or ERR_NOMEM. */
int webrtc_sent_by_source(struct webrtc_sent *s);
/* The packet that is added next is this one of its source. */
void webrtc_sent_name(struct webrtc_sent *s, uint32_t ssrc, uint16_t seq);
/* A feedback of RFC 8888 came; else as webrtc_sent_feedback. A packet whose arrival it does not
 * tell is not among *out. */
size_t webrtc_sent_ccfb(struct webrtc_sent *s, const struct rtcp_packet *feedback,
                        const struct record_sink *rec, const struct cc_packet **out, ns_t now);
/* Counts of told and marked packets since the last call. */
void webrtc_sent_take_marks(struct webrtc_sent *s, int64_t *told, int64_t *marked);
/* The number the next packet must carry. */
uint16_t webrtc_sent_seq(const struct webrtc_sent *s);
/* The packet with that number left: bytes of the IP packet, index of the datagram, cluster id or
 * CC_NO_PROBE. */
void webrtc_sent_add(struct webrtc_sent *s, int32_t bytes, int64_t datagram, int32_t probe,
                     ns_t now);
/* A transport-wide feedback packet came. *out are the packets whose fate it told, in the order they
 * were sent, valid until the next call; losses go to rec. Returns their number. */
size_t webrtc_sent_feedback(struct webrtc_sent *s, const struct rtcp_packet *feedback,
                            const struct record_sink *rec, const struct cc_packet **out, ns_t now);

#endif
