/* SPDX-License-Identifier: GPL-3.0-or-later */
/* RTP over QUIC framing (draft-ietf-avtcore-rtp-over-quic-14) and the identifiers shared with data
 * channels (draft-engelbart-multiplex-roq-qdc-00: bit 0x02 of an identifier set means RoQ). */
#ifndef AGENTS_QUIC_ROQ_H
#define AGENTS_QUIC_ROQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum roq_error {
    ROQ_NO_ERROR = 0x00,
    ROQ_GENERAL_ERROR = 0x01,
    ROQ_INTERNAL_ERROR = 0x02,
    ROQ_PACKET_ERROR = 0x03,
    ROQ_STREAM_CREATION_ERROR = 0x04,
    ROQ_FRAME_CANCELLED = 0x05,
    ROQ_UNKNOWN_FLOW_ID = 0x06,
    ROQ_EXPECTATION_UNMET = 0x07,
};

#define ROQ_PACKET_BYTES_MAX 65535

static inline bool roq_is_flow_id(uint64_t id)
{
    return id & 0x02;
}

/* DATAGRAM payload: flow id, then one RTP or RTCP packet. Return the length or ERR_SPACE. */
int roq_datagram_write(uint64_t flow_id, const uint8_t *packet, size_t len, uint8_t *out,
                       size_t cap);
/* *packet borrows from data. Returns 0 or ERR_MALFORMED (also for an empty packet). */
int roq_datagram_parse(const uint8_t *data, size_t data_len, uint64_t *flow_id,
                       const uint8_t **packet, size_t *len);
/* Stream prefix for one packet: flow id if first, then length. Returns the length or ERR_SPACE. */
int roq_stream_prefix_write(bool first, uint64_t flow_id, size_t packet_len, uint8_t *out,
                            size_t cap);

/* Incremental reader of a RoQ stream behind its flow id: { length, packet } repeated. */
struct roq_stream_reader {
    uint8_t length_bytes[8];
    size_t length_have;
    uint8_t *packet;
    size_t packet_len, packet_have, packet_cap;
};

void roq_stream_reader_init(struct roq_stream_reader *r);
void roq_stream_reader_fini(struct roq_stream_reader *r);
/* Consumes bytes from *data; returns 1 when a packet is complete (r->packet, r->packet_len, valid
 * until the next call), 0 when everything was consumed, ERR_MALFORMED (length 0 or above the
 * maximum), ERR_NOMEM. */
int roq_stream_reader_next(struct roq_stream_reader *r, const uint8_t **data, size_t *len);
/* True when the stream may end here (no partial packet). */
bool roq_stream_reader_at_boundary(const struct roq_stream_reader *r);

#endif
