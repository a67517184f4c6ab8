/* SPDX-License-Identifier: GPL-3.0-or-later */
/* RTP retransmission (RFC 4588, SSRC multiplexing): the retransmission payload format, and the
 * packets a sender keeps for it. */
#ifndef AGENTS_RTP_RTX_H
#define AGENTS_RTP_RTX_H

#include "agents/base/ns.h"
#include "agents/rtp/rtp.h"

#include <stddef.h>
#include <stdint.h>

#define RTX_OSN_BYTES 2 /* the original sequence number before the payload */
#define RTX_PACKET_BYTES_MAX 1500
#define RTX_PADDING_CHOICE 32

/* The retransmission stream. */
struct rtx_stream {
    uint32_t ssrc;
    uint8_t payload_type;
    uint16_t next_seq;
};

/* Writes a retransmission of original: the stream's SSRC, payload type and next sequence number
 * (all advanced on success), the original's timestamp, marker, CSRCs, extensions and payload;
 * padding is left off. Returns its length, ERR_SPACE (cap, or a packet above RTX_PACKET_BYTES_MAX)
 * or ERR_MALFORMED (a field out of range). Set a new transport-wide number in original's extensions
 * before. */
int rtx_write(struct rtx_stream *s, const struct rtp_packet *original, uint8_t *out, size_t cap);
/* Turns a parsed retransmission into the packet it repeats. Returns 0, or ERR_MALFORMED without an
 * original sequence number (padding-only packets of the stream are such). */
int rtx_restore(struct rtp_packet *p, uint32_t original_ssrc, uint8_t original_payload_type);

/* Sent packets of one source, until they are too old or too many. */
struct rtx_history;

struct rtx_history_config {
    size_t packets_max; /* 1 .. 16384 */
    ns_t age_max;
};

/* Returns 0, ERR_NOMEM or ERR_CONFIG. */
int rtx_history_new(struct rtx_history **out, const struct rtx_history_config *cfg);
void rtx_history_free(struct rtx_history *h);
/* Copies a packet that leaves now; it replaces an older one of its place. Returns 0, ERR_SPACE
 * above RTX_PACKET_BYTES_MAX or ERR_NOMEM. */
int rtx_history_put(struct rtx_history *h, uint16_t seq, const uint8_t *data, size_t len, ns_t now);
/* The packet to send again now: NULL if it is not kept (any more), or was sent again less than
 * min_gap (a round trip) ago, so that the earlier repetition may still be under way. The first
 * request is always met: the estimate of the round trip may be too long. Counts as sent again.
 * Valid until the next call with h. */
const uint8_t *rtx_history_resend(struct rtx_history *h, uint16_t seq, ns_t min_gap, ns_t now,
                                  size_t *len);
/* The packet to repeat as padding: the largest of the newest RTX_PADDING_CHOICE kept; NULL if there
 * is none. Valid until the next call with h. */
const uint8_t *rtx_history_padding(const struct rtx_history *h, ns_t now, size_t *len);

#endif
