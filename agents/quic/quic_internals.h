/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the agent needs from inside ngtcp2 1.11 and its public interface does not give: its own
 * congestion control and pacing, strict priority of retransmissions, and padding packets. The
 * implementation and quic_ack_internals.c are the only files that see ngtcp2's private headers. */
#ifndef AGENTS_QUIC_QUIC_INTERNALS_H
#define AGENTS_QUIC_QUIC_INTERNALS_H

#include "agents/base/ns.h"

#include <ngtcp2/ngtcp2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The two classes of traffic, in order of priority. */
enum quic_class { QUIC_CLASS_MEDIA, QUIC_CLASS_DATA };

/* The order in which streams are served: the lower rank first, within a rank the older stream.
 * Streams without our data (the peer's) only ever carry control frames and come before all. */
#define QUIC_RANK_CONTROL (-1)
#define QUIC_RANK_MEDIA 0

/* Every stream we open has as its stream_user_data a struct that begins with this. */
struct quic_stream {
    enum quic_class class;
    int rank; /* of media QUIC_RANK_MEDIA, of data above it */
};

/* What happens to packets of the application's number space. bytes is the UDP payload. */
struct quic_hooks {
    void *ctx;
    void (*sent)(void *ctx, int64_t packet, size_t bytes); /* ack-eliciting packets only */
    void (*acked)(void *ctx, int64_t packet);
    void (*lost)(void *ctx, int64_t packet); /* acked may still follow */
    void (*rtt)(void *ctx);                  /* ngtcp2_conn_info has a new sample */
    /* ngtcp2's own functions, called first; set by quic_internals_observe, NULL for none */
    void (*own_sent)(void), (*own_acked)(void), (*own_lost)(void), (*own_rtt)(void);
    /* set by quic_internals_mend_bbr */
    void (*watched_sent)(void), (*own_ack)(void);
    bool rtt_known; /* the first pacing rate follows from a round trip */
};

/* Both of these make retransmissions follow the rank and, within a rank, the age of the stream, and
 * have the current connection's hooks (quic_current.h) called. Call one of them once, right after
 * the connection was made.
 *
 * Takes congestion control away from ngtcp2: no window, no pacing. */
void quic_internals_take_over(ngtcp2_conn *conn);
/* Leaves congestion control and pacing to ngtcp2 (settings.cc_algo) and only watches: h is the
 * current connection's. */
void quic_internals_observe(ngtcp2_conn *conn, struct quic_hooks *h);
/* After quic_internals_observe, for a connection under ngtcp2's BBR whose sender pauses between
 * what it has to send: has it do three things that its algorithm wants and the library does not
 * come to, to notice a restart from idle (and count acknowledged bytes from there), to keep the
 * bandwidth of a probe until the next one, and to take its first pacing rate from a round trip
 * (quic_bbr_internals.c). A fourth is for the sender: quic_internals_app_limited. */
void quic_internals_mend_bbr(ngtcp2_conn *conn, struct quic_hooks *h);

/* What ngtcp2's own congestion control allows at present. */
struct quic_window {
    int64_t window_bytes; /* UDP payload that may be unacknowledged */
    int64_t left_bytes;   /* of it; 0 also when more than the window is unacknowledged */
    ns_t smoothed_rtt;    /* 0: no sample yet */
    double pacing_bps;    /* of UDP payload; 0: the controller sets none (then it follows from
                             window and round trip, RFC 9002 section 7.7) */
    bool paced_out;       /* pacing lets nothing leave now */
};

void quic_internals_window(const ngtcp2_conn *conn, struct quic_window *out, ns_t now);
/* Notes that the sender has nothing to send, if that is what limits it, so that the delivery rate
 * of what it sends next is not taken for the path's (draft-cheng-iccrg-delivery-rate-estimation-02
 * section 3.4). ngtcp2 reckons with that mark and never sets it: without, its BBR believes each
 * pause a little more to be the path. To be called when all new data has been written. */
void quic_internals_app_limited(ngtcp2_conn *conn);
/* Until allowed again ngtcp2 writes nothing but packets of pure acknowledgement. */
void quic_internals_set_gate(ngtcp2_conn *conn, bool allowed);

/* Lost stream data waits in a queue inside ngtcp2 and is sent before anything new. These two take
 * what ranks behind out of it for as long as something of that rank is being written, and put it
 * back. Nothing else may be called on the connection between them but the write functions. */
struct quic_internals_hidden {
    ngtcp2_conn *conn;
    void *queue[5]; /* opaque: an ngtcp2_pq */
    bool active;
};

void quic_internals_hide_behind(ngtcp2_conn *conn, int rank, struct quic_internals_hidden *h);
void quic_internals_unhide(struct quic_internals_hidden *h);
/* Is there lost stream data of this class still to be sent again? */
bool quic_internals_has_lost(const ngtcp2_conn *conn, enum quic_class class);

/* A stream that waits to send lost data again, and how much of it. */
struct quic_internals_lost {
    void *user;
    int64_t stream_id;
    size_t bytes;
};

/* Up to max streams of the class with lost data, in no order; returns their number. */
size_t quic_internals_lost(const ngtcp2_conn *conn, enum quic_class class,
                           struct quic_internals_lost *out, size_t max);

/* Bytes of payload that the packet under construction (after NGTCP2_ERR_WRITE_MORE) still takes. */
size_t quic_internals_packet_left(ngtcp2_conn *conn);
/* Writes a 1-RTT packet of PING, and PADDING up to len bytes if pad. It is acknowledged and
 * reported lost like any other, and calls no sent hook. info: as of ngtcp2's write functions.
 * Returns its length, 0 if it cannot be written now, or a negative ngtcp2 error. */
ngtcp2_ssize quic_internals_write_ping(ngtcp2_conn *conn, ngtcp2_pkt_info *info, uint8_t *out,
                                       size_t len, bool pad, ns_t now);
/* Has ngtcp2 found that the path does not carry ECN (RFC 9000 section 13.4.2)? */
bool quic_internals_ecn_failed(const ngtcp2_conn *conn);
/* Number of the last 1-RTT packet written, -1 for none. */
int64_t quic_internals_last_packet(const ngtcp2_conn *conn);

#endif
