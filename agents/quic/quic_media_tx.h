/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sender's media flow: encoder, packetizer, and the queue in which RTP packets wait for the
 * pacer. The framing (RoQ) is put in front of each packet when it is queued, so that sending it is
 * one piece of memory. With a stream per packet a packet stays here until its stream is closed,
 * since ngtcp2 sends lost stream data again out of this memory. */
#ifndef AGENTS_QUIC_QUIC_MEDIA_TX_H
#define AGENTS_QUIC_QUIC_MEDIA_TX_H

#include "agents/agent_config.h"
#include "agents/media/encoder.h"
#include "agents/media/packetizer.h"
#include "agents/quic/quic_internals.h"
#include "agents/record/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUIC_MEDIA_PREFIX_MAX 8
#define QUIC_MEDIA_QUEUE_MAX 8192 /* packets; beyond it new ones are dropped and counted */

struct quic_media_packet {
    struct quic_stream stream; /* first: this is also the stream's user data */
    struct quic_media_packet *next, *prev;
    int64_t stream_id; /* -1: none */
    int64_t seq, rtp_timestamp, frame_offset_bytes;
    ns_t queued;
    size_t len, prefix_len, sent; /* of data; prefix_len of it is framing; sent has left */
    int tries;
    bool in_flight; /* in that list, else in the queue */
    uint8_t data[];
};

struct quic_media_list {
    struct quic_media_packet *head, *tail;
    size_t count;
};

struct quic_media_tx {
    const struct agent_config *cfg;
    const struct record_sink *rec;
    struct encoder *encoder;
    struct packetizer packetizer;
    bool streams;
    size_t packet_bytes_max, framing_bytes;
    size_t overhead_bytes; /* of an RTP packet: framing, QUIC, UDP and IP */
    struct quic_media_list queue, in_flight;
    bool started, discarding;
    uint64_t frames, packets, bytes, dropped, cancelled;
};

/* now: the first frame comes no earlier. Returns 0, ERR_NOMEM or ERR_CONFIG. */
int quic_media_tx_init(struct quic_media_tx *m, const struct agent_config *cfg, uint64_t seed,
                       const struct record_sink *rec, ns_t now);
void quic_media_tx_fini(struct quic_media_tx *m);
/* The peer takes DATAGRAM frames up to this size (RFC 9221 section 3): makes packets that fit.
 * Returns false when datagrams are needed and too small for any sensible packet. */
bool quic_media_tx_fit(struct quic_media_tx *m, uint64_t datagram_frame_bytes_max);
/* When produce has something to do. */
ns_t quic_media_tx_deadline(const struct quic_media_tx *m);
/* Encodes and queues the frames due. Returns 0 or ERR_NOMEM. */
int quic_media_tx_produce(struct quic_media_tx *m, ns_t now);
/* Sets the encoder so that its packets take rate on the IP level, RTP and all framing included. */
void quic_media_tx_set_rate(struct quic_media_tx *m, bps_t rate, ns_t now);
/* The payload rate behind an IP-level rate, and back. */
bps_t quic_media_tx_payload_rate(const struct quic_media_tx *m, bps_t ip_rate);
bps_t quic_media_tx_ip_rate(const struct quic_media_tx *m, bps_t payload_rate);
/* The packet to send next, NULL when none waits. */
struct quic_media_packet *quic_media_tx_head(const struct quic_media_tx *m);
/* The head has left entirely: frees it, or keeps it until quic_media_tx_closed. */
void quic_media_tx_pop(struct quic_media_tx *m);
/* Gives up the head without sending (the rest of) it. */
void quic_media_tx_drop(struct quic_media_tx *m);
void quic_media_tx_closed(struct quic_media_tx *m, struct quic_media_packet *p);
/* Resets the streams whose lost bytes could only arrive too late for playout (ROQ_FRAME_CANCELLED),
 * so that they do not delay what still can be in time. */
void quic_media_tx_cancel_late(struct quic_media_tx *m, ngtcp2_conn *conn, ns_t now);
/* While on, nothing is kept: the queue is emptied and what the encoder makes is thrown away. */
void quic_media_tx_discard(struct quic_media_tx *m, bool on);

#endif
