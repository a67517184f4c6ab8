/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Transport-wide congestion control feedback (draft-holmer-rmcat-transport-wide-cc-extensions-01):
 * every packet of a 5-tuple carries a 16-bit sequence number in an RTP header extension; the
 * receiver reports in RTCP (PT 205, FMT 15) which have arrived, and when, in units of 250 us. */
#ifndef AGENTS_RTP_TWCC_H
#define AGENTS_RTP_TWCC_H

#include "agents/base/ns.h"
#include "agents/base/rate.h"
#include "agents/rtp/rtcp.h"
#include "agents/rtp/rtp.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TWCC_URI "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"
#define TWCC_EXTENSION_BYTES 2
#define TWCC_TICK ((ns_t)250000)
#define TWCC_REFERENCE ((ns_t)64000000)
#define TWCC_PACKET_BYTES_MIN 32 /* room twcc_receiver_feedback needs at least */
#define TWCC_INTERVAL_DEFAULT (100 * NS_PER_MS)

/* The header extension: out borrows two bytes of data[]. */
void twcc_extension(struct rtp_extension *out, uint8_t id, uint16_t seq,
                    uint8_t data[TWCC_EXTENSION_BYTES]);
/* The number a packet carries in extension id; false if it has none (or one of another size). */
bool twcc_extension_seq(const struct rtp_packet *p, uint8_t id, uint16_t *seq);

/* ---- receiver ---- */

/* Arrivals not reported yet, and for half a second those that were: a packet that comes late makes
 * the next feedback reach back to it, and what is there is reported again. */
struct twcc_receiver;

/* Returns 0 or ERR_NOMEM. Memory is bounded (2^15 sequence numbers). */
int twcc_receiver_new(struct twcc_receiver **out);
void twcc_receiver_free(struct twcc_receiver *r);
/* A packet arrived (not before time 0). A duplicate changes nothing: the first arrival stays. */
void twcc_receiver_recv(struct twcc_receiver *r, uint16_t seq, ns_t arrival);
/* Is there anything to report? */
bool twcc_receiver_pending(const struct twcc_receiver *r);
/* Writes one feedback packet, a whole RTCP packet of at most cap bytes. Returns its length, 0 when
 * everything has been reported, ERR_SPACE for cap below TWCC_PACKET_BYTES_MIN. Call it until 0: a
 * gap in time or number too large for one packet, or a full one, makes more. */
int twcc_receiver_feedback(struct twcc_receiver *r, uint32_t sender_ssrc, uint32_t media_ssrc,
                           uint8_t *out, size_t cap);
/* libwebrtc's interval between feedbacks when bandwidth is what comes in: 5 % of it, in reports of
 * 68 bytes, between 50 and 250 ms. */
ns_t twcc_interval(bps_t bandwidth);

/* ---- sender ---- */

/* Unwraps the 24-bit reference time over a connection; start from {0}. */
struct twcc_clock {
    int64_t reference;
    bool started;
};

struct twcc_status {
    uint16_t seq;
    bool received;
    ns_t arrival; /* receiver's clock, a multiple of TWCC_TICK; set when received */
};

struct twcc_feedback {
    uint32_t sender_ssrc, media_ssrc;
    uint16_t base_seq, status_count;
    uint8_t feedback_count;
    ns_t reference;

    /* where twcc_next is */
    const uint8_t *chunk, *delta;
    uint32_t done;
    uint16_t word, left; /* the current chunk, and its symbols still to come */
    int64_t ticks;
};

/* Parses a packet of rtcp_next and moves the clock. Chunks and deltas are checked to the end, so
 * twcc_next cannot fail. f borrows the packet's bytes. Returns 0 or ERR_MALFORMED (the clock is
 * then untouched). */
int twcc_parse(struct twcc_feedback *f, struct twcc_clock *clock, const struct rtcp_packet *p);
/* The status of the next sequence number, from base_seq on; false after the last. */
bool twcc_next(struct twcc_feedback *f, struct twcc_status *s);

#endif
