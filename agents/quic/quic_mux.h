/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sender's scheduler: one rate controller and one pacer for media and data together. Which, the
 * preset says (quic_mux_rate.h, quic_mux_pace.h); what follows is common to all but where it says
 * pacer: with reno, cubic and bbr ngtcp2 itself says when something may leave.
 *
 * - Everything that asks for an acknowledgement waits for the pacer. RTP goes strictly first, be it
 *   new or lost and sent again; data takes what the pacer has left.
 * - While data is active the media is asked for its share of the target and pacing follows the
 *   target; else media may use all of it and pacing is faster (pacing_ppm).
 * - Audio goes before everything, each packet of it at once and in a datagram of its own.
 * - A probe cluster is made of media, else data, else padding.
 * - The circuit breaker: when nothing has been acknowledged for feedback_timeout although something
 *   should have been, nothing new is sent but a probe now and then; after three times that the
 *   connection is given up. ngtcp2's PTO does not serve, since it never fires while we keep
 *   sending. */
#ifndef AGENTS_QUIC_QUIC_MUX_H
#define AGENTS_QUIC_QUIC_MUX_H

#include "agents/cc/cc.h"
#include "agents/cc/pacer.h"
#include "agents/cc/pushback.h"
#include "agents/cc/tick_pacer.h"
#include "agents/media/audio.h"
#include "agents/quic/quic_channels.h"
#include "agents/quic/quic_conn.h"
#include "agents/quic/quic_media_tx.h"
#include "agents/quic/quic_rtcp.h"
#include "agents/quic/quic_sent.h"

#define QUIC_MUX_PIECES_MAX 32
/* Of a packet of audio: type and length of a DATAGRAM frame, and the flow id. */
#define QUIC_MUX_AUDIO_FRAMING_BYTES (1 + 2 + 1)

/* RTP put into the packet under construction; recorded when its number and size are known. */
struct quic_mux_piece {
    int64_t seq, rtp_timestamp, bytes, carried, frame_offset_bytes;
    ns_t queued;
    bool first;
};

struct quic_mux {
    struct agent_config live;       /* the configuration, changed by the steps so far */
    const struct agent_config *cfg; /* live, for reading */
    int64_t steps_taken;
    const struct agent_env *env;
    struct quic_conn *conn;
    struct quic_media_tx media;
    /* Waits for nobody: not for the pacer, which it burdens all the same, and not behind media. */
    struct audio_source audio;
    bps_t audio_rate; /* IP level */
    struct quic_channels data;
    struct quic_rtcp rtcp;
    bool has_media, has_data; /* configured */
    bool paused;              /* the video */
    bool running;             /* the handshake is done, the end has not begun */
    bool idle; /* the last write found nothing to send; what happens next may change that */

    bool windowed;     /* rate control and pacing are ngtcp2's own: no cc, no pacer */
    bool rate_started; /* the first flow has started */
    struct cc *cc;     /* NULL until then */
    bps_t rate_min, rate_max;
    ns_t estimate_due; /* windowed: when the target is taken from the window again */
    bps_t target;      /* of both flows together */
    bps_t pacing_rate; /* IP level, as far as known; for records */
    struct pacer pacer;
    bool ticking; /* tick_pacer takes pacer's place */
    struct tick_pacer tick_pacer;
    size_t burst_bytes; /* windowed: written at this instant, not yet told to ngtcp2's pacing */
    struct quic_sent sent;
    uint64_t marks_taken; /* of those the peer has counted */
    struct pushback pushback;
    ns_t round_trip_longest, round_trips_since; /* of the feedback not yet given to pushback */
    bool rtt_new, data_active, data_has_been;
    ns_t data_ended;  /* when data was active last; unset while data_has_been is false */
    bps_t media_rate; /* IP level */
    ns_t rate_recorded;
    int64_t recorded_state; /* what of cc's state was last recorded */
    int32_t probe_recorded;

    ns_t wait_since; /* unanswered since then; NS_NEVER when nothing is outstanding */
    bool tripped, dead;
    ns_t breaker_probe; /* when the next one is due */

    struct quic_mux_piece pieces[QUIC_MUX_PIECES_MAX];
    size_t piece_count;
    int64_t rtp_bytes, data_bytes, padding_bytes; /* of the packet under construction */

    uint64_t probe_packets, padding_packets, breaker_trips, media_too_large;
};

/* Returns 0, ERR_NOMEM or ERR_CONFIG. */
int quic_mux_init(struct quic_mux *m, const struct agent_config *cfg, const struct agent_env *env,
                  struct quic_conn *conn);
void quic_mux_fini(struct quic_mux *m);
/* The handshake is done: flows may start at their times. Returns 0, ERR_NOMEM or ERR_CONFIG. */
int quic_mux_start(struct quic_mux *m, ns_t now);
/* Ends the flows: no new frame, and the data channel with CLOSE. Returns 0 or ERR_NOMEM. */
int quic_mux_stop(struct quic_mux *m, ns_t now);
/* True when what quic_mux_stop queued has been acknowledged. */
bool quic_mux_drained(const struct quic_mux *m);

/* What the connection reports. */
void quic_mux_acked(struct quic_mux *m, int64_t packet);
void quic_mux_lost(struct quic_mux *m, int64_t packet);
void quic_mux_timestamp(struct quic_mux *m, int64_t packet, int64_t time_us);
void quic_mux_rtt(struct quic_mux *m);
/* A datagram of the peer's: RTCP, or a breach. Returns 0, or -1 after quic_conn_fail. */
int quic_mux_datagram(struct quic_mux *m, const uint8_t *data, size_t len);
void quic_mux_stream_closed(struct quic_mux *m, void *user);

/* After a datagram was read: feeds the rate control with what it told. */
void quic_mux_feedback(struct quic_mux *m, ns_t now);
/* Writes the next datagram. Returns 1, 0, or a negative code. */
int quic_mux_poll(struct quic_mux *m, struct dgram *out, ns_t now);
ns_t quic_mux_deadline(const struct quic_mux *m, ns_t now);
/* Returns 0 or ERR_NOMEM. */
int quic_mux_expire(struct quic_mux *m, ns_t now);
void quic_mux_counters(const struct quic_mux *m);

#endif
