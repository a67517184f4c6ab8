/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sender's media flow: encoder, packetizer, and the queue in which RTP waits for the pacer. The
 * queue holds units: what travels in one DATAGRAM, or on one stream that ends with it. A unit is
 * one RTP packet, or with a stream per frame all packets of a frame, each behind its framing (RoQ),
 * so that sending it is one piece of memory. A unit on a stream stays here until the stream is
 * closed, since ngtcp2 sends lost stream data again out of this memory.
 *
 * A frame is worth sending until cfg->media_deadline after it was made. What of it still waits
 * then, be it for the first time or lost, is dropped, and its stream reset (ROQ_FRAME_CANCELLED).
 */
#ifndef AGENTS_QUIC_QUIC_MEDIA_TX_H
#define AGENTS_QUIC_QUIC_MEDIA_TX_H

#include "agents/agent.h"
#include "agents/media/encoder.h"
#include "agents/media/packetizer.h"
#include "agents/quic/quic_internals.h"
#include "agents/record/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The encoder's part of the prototype's estimate while no data is active. */
#define QUIC_MEDIA_PROTOTYPE_PPM 800000
#define QUIC_MEDIA_QUEUE_MAX 8192 /* packets; beyond it new ones are dropped and counted */
#define QUIC_MEDIA_LOST_MAX 1024  /* streams with lost bytes looked at in one go */

/* An RTP packet in a unit: where its bytes are, behind the framing. */
struct quic_media_piece {
    int64_t seq, frame_offset_bytes;
    size_t begin, len;
};

struct quic_media_unit {
    struct quic_stream stream; /* first: this is also the stream's user data */
    struct quic_media_unit *next, *prev;
    int64_t stream_id; /* -1: none */
    int64_t rtp_timestamp;
    ns_t queued;      /* when the frame was made */
    bps_t frame_rate; /* its media rate if all were of its size; 0 for a key frame */
    size_t len, sent; /* of data; sent has left */
    int tries;
    bool in_flight; /* in that list, else in the queue */
    bool cancelled; /* we have reset the stream */
    struct quic_media_piece *pieces;
    size_t piece_count;
    uint8_t *data; /* pieces and data lie behind the struct */
};

struct quic_media_list {
    struct quic_media_unit *head, *tail;
};

struct quic_media_tx {
    const struct agent_config *cfg;
    const struct record_sink *rec;
    struct encoder *encoder;
    struct packetizer packetizer;
    bool streams, whole_frames;
    size_t packet_bytes_max, framing_bytes;
    size_t overhead_bytes; /* of an RTP packet: framing, QUIC, UDP and IP */
    struct quic_media_list queue, in_flight;
    size_t queued_packets;
    bool started, discarding;
    bool overtake; /* so much is lost that new media goes before it */
    struct quic_internals_lost lost[QUIC_MEDIA_LOST_MAX];
    /* dropped and late count packets, the latter those dropped at the deadline; streams: opened,
     * times that none could be, cancelled by us, stopped by the peer */
    uint64_t frames, packets, bytes, dropped, late;
    uint64_t offered, skipped; /* frames that pushback has looked at, and those it has left out */
    uint64_t opened, blocked, cancelled, stopped;
};

/* now: the first frame comes no earlier. Returns 0, ERR_NOMEM or ERR_CONFIG. cfg is kept. */
int quic_media_tx_init(struct quic_media_tx *m, const struct agent_config *cfg,
                       const struct agent_env *env, ns_t now);
void quic_media_tx_fini(struct quic_media_tx *m);
/* The peer takes DATAGRAM frames up to this size (RFC 9221 section 3): makes packets that fit.
 * Returns false when datagrams are needed and too small for any sensible packet. */
bool quic_media_tx_fit(struct quic_media_tx *m, uint64_t datagram_frame_bytes_max);
/* When produce has something to do. */
ns_t quic_media_tx_deadline(const struct quic_media_tx *m);
/* When expire has something to do about the queue. */
ns_t quic_media_tx_queue_deadline(const struct quic_media_tx *m);
/* Encodes and queues the frames due, but for every skip-th, 0: all of them (pushback.h; never a key
 * frame). Returns 0 or ERR_NOMEM. */
int quic_media_tx_produce(struct quic_media_tx *m, int64_t skip, ns_t now);
/* Sets the encoder so that its packets take rate on the IP level, RTP and all framing included. */
void quic_media_tx_set_rate(struct quic_media_tx *m, bps_t rate, ns_t now);
/* Sets the encoder's rate itself, RTP and framing come on top. */
void quic_media_tx_set_payload_rate(struct quic_media_tx *m, bps_t rate, ns_t now);
/* The limits in cfg have changed. */
void quic_media_tx_limits_changed(struct quic_media_tx *m, ns_t now);
/* The IP-level rate that a payload rate makes. */
bps_t quic_media_tx_ip_rate(const struct quic_media_tx *m, bps_t payload_rate);
/* The unit to send next, NULL when none waits. */
struct quic_media_unit *quic_media_tx_head(const struct quic_media_tx *m);
/* Gives the unit a stream if it needs one. Returns false when the peer's limit forbids it for now.
 * Not while a packet is under construction. */
bool quic_media_tx_open(struct quic_media_tx *m, ngtcp2_conn *conn, struct quic_media_unit *u);
/* The head has left entirely: frees it, or keeps it until quic_media_tx_closed. */
void quic_media_tx_pop(struct quic_media_tx *m);
/* Gives up the head without sending (the rest of) it; its stream is gone or was never opened. */
void quic_media_tx_drop(struct quic_media_tx *m);
/* The unit's stream is over, acknowledged or reset. */
void quic_media_tx_closed(struct quic_media_tx *m, struct quic_media_unit *u, bool reset);
/* Gives up what is past its deadline, of the lost bytes also what would be by the time it could
 * leave, and of frames in the queue that a newer one follows those that would be, or are far too
 * large for the present rate without being key frames. pace is the pacer's rate, media_rate what
 * new media needs of it. Decides whether new media goes before lost: usually older is first, but
 * when so much is lost (an outage) that new frames would wait for it noticeably, they overtake. Not
 * while a packet is under construction; inside quic_current_enter. */
void quic_media_tx_expire(struct quic_media_tx *m, ngtcp2_conn *conn, bps_t pace, bps_t media_rate,
                          ns_t now);
/* While on, nothing is kept: the queue is emptied and what the encoder makes is thrown away. */
void quic_media_tx_discard(struct quic_media_tx *m, bool on);

#endif
