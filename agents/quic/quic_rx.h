/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The receiver: tells RTP (RoQ) from data-channel messages (QDC) by the identifier that begins
 * every stream and datagram, and hands them to playout and data channel. Breaches close the
 * connection with RoQ's error codes, each under a counter of its own. */
#ifndef AGENTS_QUIC_QUIC_RX_H
#define AGENTS_QUIC_QUIC_RX_H

#include "agents/media/audio.h"
#include "agents/media/playout.h"
#include "agents/quic/quic_conn.h"
#include "agents/quic/quic_data_rx.h"
#include "agents/quic/quic_internals.h"
#include "agents/quic/quic_rtcp.h"
#include "agents/quic/roq.h"

struct quic_rx {
    struct quic_conn *conn;
    struct playout *playout;
    bool has_audio; /* configured */
    struct audio_sink audio;
    struct quic_data_rx data[AGENT_CHANNELS_MAX]; /* by order of their identifiers */
    struct quic_rtcp rtcp;
    struct quic_rx_stream *streams; /* all that are open */
    int64_t looked_at;              /* playout's next frame when streams were last looked through */
    uint64_t stopped;               /* streams of media we have given up */
    size_t held_bytes;              /* of messages not complete yet */
    uint64_t unknown_flow_ids, bad_framing, bad_transfer, bad_rtp, bad_numbering, oversized;
};

/* Returns 0 or ERR_NOMEM. */
int quic_rx_init(struct quic_rx *r, struct quic_conn *conn);
void quic_rx_fini(struct quic_rx *r);
/* The three event functions of the connection. */
int quic_rx_datagram(struct quic_rx *r, const uint8_t *data, size_t len);
int quic_rx_stream_data(struct quic_rx *r, void **user, bool fin, const uint8_t *data, size_t len);
void quic_rx_stream_closed(struct quic_rx *r, void *user);
/* When quic_rx_expire has something to do. Call it also after datagrams were read: it plays, and
 * stops streams of frames that have been given up (STOP_SENDING, ROQ_FRAME_CANCELLED). */
ns_t quic_rx_deadline(const struct quic_rx *r);
void quic_rx_expire(struct quic_rx *r, ns_t now);
void quic_rx_counters(const struct quic_rx *r);

#endif
