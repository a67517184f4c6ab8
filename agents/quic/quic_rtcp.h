/* SPDX-License-Identifier: GPL-3.0-or-later */
/* RTCP beside the media flow, for whoever wants RTP's own reports (RTP over QUIC needs none): the
 * sender's SR and the receiver's RR, each with SDES CNAME as a compound packet (RFC 3550 section
 * 6.1), and a BYE at the end since the connection is shared (draft-ietf-avtcore-rtp-over-quic-14).
 * It has a flow identifier of its own and travels in datagrams whatever carries RTP: a report that
 * is lost is soon replaced by a newer one.
 *
 * Reports are 0.5 to 1.5 times a second apart, divided by 1.21828 (RFC 3550 section 6.3.1 with two
 * members, whose reports of some 60 bytes are far below 5 % of any media here). */
#ifndef AGENTS_QUIC_QUIC_RTCP_H
#define AGENTS_QUIC_QUIC_RTCP_H

#include "agents/base/ns.h"
#include "agents/base/prng.h"
#include "agents/record/record.h"
#include "agents/rtp/rtpstat.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUIC_RTCP_BYTES_MAX 128 /* of a report with its RoQ framing */

struct quic_rtcp {
    bool on;
    struct prng random;
    uint32_t ssrc, media_ssrc; /* own; of the media, which for a sender is the same */
    bool media_known;
    struct rtpstat stat; /* of the receiver */
    ns_t due;
    uint8_t packet[QUIC_RTCP_BYTES_MAX]; /* the report that waits to be sent */
    size_t len;                          /* 0: none */
    uint64_t sent, received, malformed;
    ns_t rtt; /* last round trip seen by the sender, application to application; 0: none */
    struct rtcp_block last; /* last block on the media that came or was made */
};

/* What a sender report says of the media. */
struct quic_rtcp_sent {
    uint32_t rtp_timestamp; /* of now */
    uint64_t packets, payload_bytes;
};

/* on: else nothing ever happens. sender: ssrc is the media's; a receiver draws its own. */
void quic_rtcp_init(struct quic_rtcp *r, bool on, bool sender, uint32_t ssrc, uint64_t seed);
/* Media has begun, or the connection is up: reports from now on. */
void quic_rtcp_start(struct quic_rtcp *r, ns_t now);
/* When a report is to be made. */
ns_t quic_rtcp_deadline(const struct quic_rtcp *r);
/* Make one, replacing any that still waits; bye: the last. */
void quic_rtcp_make_sr(struct quic_rtcp *r, const struct quic_rtcp_sent *sent, bool bye, ns_t now);
void quic_rtcp_make_rr(struct quic_rtcp *r, ns_t now);
/* The waiting report has been sent. */
void quic_rtcp_taken(struct quic_rtcp *r);
/* An RTP packet has come to the receiver. */
void quic_rtcp_media(struct quic_rtcp *r, const uint8_t *packet, size_t len, ns_t arrival);
/* A compound packet from the peer; a malformed one is counted and ignored as a whole. */
void quic_rtcp_recv(struct quic_rtcp *r, const uint8_t *data, size_t len, ns_t now);
/* Writes the counters, if on. */
void quic_rtcp_counters(const struct quic_rtcp *r, const struct record_sink *rec);

#endif
