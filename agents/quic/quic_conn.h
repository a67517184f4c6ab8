/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One QUIC connection: ngtcp2 with TLS, the acknowledgement extension and our hooks put together;
 * handshake, datagrams in, closing. What to write after the handshake is the owner's business
 * (quic_mux.h); it calls ngtcp2's write functions on conn itself and reports each datagram with
 * quic_conn_sent. All functions that take now enter quic_current themselves unless stated. */
#ifndef AGENTS_QUIC_QUIC_CONN_H
#define AGENTS_QUIC_QUIC_CONN_H

#include "agents/agent.h"
#include "agents/quic/quic_ack_ext.h"
#include "agents/quic/quic_current.h"
#include "agents/quic/quic_internals.h"
#include "agents/quic/quic_tls.h"

#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>
#include <sys/socket.h>

#define QUIC_CONN_ERROR_MAX 160
/* Connection ids of both sides; the length is part of every packet's overhead. */
#define QUIC_CONN_CID_BYTES 8
/* Type, connection id and packet number of a short header (numbers never need more than two bytes
 * while fewer than 2^15 packets are unacknowledged), and the AEAD tag. */
#define QUIC_CONN_OVERHEAD_BYTES (1 + QUIC_CONN_CID_BYTES + 2 + 16)

struct quic_conn;

/* What the connection tells its owner; every function runs inside one of the calls below. Those
 * that return int return 0, or -1 after quic_conn_fail. */
struct quic_conn_events {
    void (*handshake_done)(void *ctx);
    int (*datagram)(void *ctx, const uint8_t *data, size_t len);
    /* Bytes of a stream of the peer, in order; *user is the stream's own pointer, NULL at first,
     * and must point to something that begins with struct quic_stream. */
    int (*stream_data)(void *ctx, void **user, bool fin, const uint8_t *data, size_t len);
    /* A stream of either side is over (ours: all of it acknowledged); user is NULL if never set. */
    void (*stream_closed)(void *ctx, void *user);
    void (*acked)(void *ctx, int64_t packet);
    void (*lost)(void *ctx, int64_t packet);
    void (*timestamp)(void *ctx, int64_t packet, int64_t time_us);
    void (*rtt)(void *ctx);
};

struct quic_conn {
    const struct agent_config *cfg;
    const struct agent_env *env;
    const struct quic_conn_events *events;
    void *ctx;
    bool server;
    const char *alpn;
    const uint8_t *peer_fingerprint; /* of the only certificate to accept, NULL for any */
    /* Bidirectional streams of ours and of the peer, at once; 0: one from the peer is a fault. */
    uint64_t bidi_streams;
    /* First byte of every connection id we issue, so that the owner of several connections on one
     * pair of addresses can tell them apart (RFC 9000 section 5.1); -1: random like the rest. */
    int cid_tag;
    bool mend_bbr; /* quic_internals_mend_bbr, under the preset bbr */

    ngtcp2_conn *conn; /* NULL for a server nobody has contacted */
    struct quic_tls *tls;
    ngtcp2_crypto_conn_ref ref;
    struct quic_ack_ext ack_ext;
    struct quic_current current;
    struct quic_hooks hooks;
    struct sockaddr_storage local_sa, remote_sa;
    ngtcp2_path path;
    struct addr local, remote;

    ns_t started;
    bool handshake_done;
    size_t streams_to_return; /* closed streams of the peer not yet given back as credit */
    int64_t rx_packet;        /* last 1-RTT packet number in the datagram being read */
    int64_t rx_stream;        /* whose bytes the stream_data event brings */
    bool stream_reset;        /* the stream of the stream_closed event was reset, by either side */

    /* What a server has received and not acknowledged yet. */
    int64_t rx_expected; /* packet number */
    unsigned rx_unacked;
    ns_t rx_first; /* when the first of these came */
    bool rx_gap;

    ngtcp2_pkt_info tx_info; /* of the datagram under construction */
    bool rx_marked;          /* the last datagram came with CE */
    uint64_t rx_ecn[4];      /* datagrams received, by the two bits of their header */
    uint64_t ecn_sent;       /* datagrams sent as ECN-capable */

    bool sent_eliciting; /* the packet just written was ack-eliciting */
    size_t sent_bytes;   /* and its length */

    /* Closing: the packet is repeated, since nobody acknowledges it. */
    ngtcp2_ccerr close_error;
    bool closing, closed;
    int close_copies;
    uint8_t close_packet[AGENT_DATAGRAM_MAX]; /* ngtcp2 makes it once */
    size_t close_len;
    ns_t close_next, close_interval;
    bool failed;
    char error[QUIC_CONN_ERROR_MAX];

    uint64_t datagrams_garbage, datagrams_in, datagrams_out, bytes_in, bytes_out;
    /* What a peer did wrong, by who noticed it: streams of the wrong kind, parameters of the
     * timestamp extension, TLS, or the rules of RFC 9000 (ngtcp2). */
    uint64_t bidirectional_streams, bad_parameters, tls_failures, transport_violations;
};

/* Is congestion control left to ngtcp2 (reno, cubic, bbr)? */
bool quic_conn_is_windowed(const struct agent_config *cfg);
/* Fills in c; events and everything in cfg and env outlive it. The receiver is the server of the
 * multiplex; until the connection is made its owner may set server, alpn, bidi_streams, cid_tag and
 * mend_bbr otherwise. */
void quic_conn_init(struct quic_conn *c, const struct agent_config *cfg,
                    const struct agent_env *env, const struct quic_conn_events *events, void *ctx);
void quic_conn_fini(struct quic_conn *c);
/* Client: makes the connection; the first write sends its Initial. Returns 0 or a fatal ERR_*. */
int quic_conn_connect(struct quic_conn *c, ns_t now);
/* Reads one datagram. Returns 0, or ERR_NOMEM / ERR_CRYPTO for a failure of our own. */
int quic_conn_recv(struct quic_conn *c, const struct dgram *d, ns_t now);
ns_t quic_conn_deadline(const struct quic_conn *c);
void quic_conn_expire(struct quic_conn *c, ns_t now);
/* Until when a server may leave what it has received unacknowledged; <= now when it should write
 * now, and so always where there are no receive timestamps: then ngtcp2's own rule serves,
 * two packets or an eighth of the round trip, which controllers that count acknowledgements expect.
 */
ns_t quic_conn_ack_due(const struct quic_conn *c);
/* Begins a datagram: what ngtcp2's write functions are to be given as their packet info, NULL
 * without ECN; the same until the datagram is complete. */
ngtcp2_pkt_info *quic_conn_begin(struct quic_conn *c);
/* Records a written datagram; bytes of RTP, data and padding in it as known to the owner. packet is
 * the number of its 1-RTT packet or RECORD_NONE. */
struct quic_conn_parts {
    int64_t packet, rtp_bytes, data_bytes, padding_bytes;
};

void quic_conn_sent(struct quic_conn *c, struct dgram *out, size_t len,
                    const struct quic_conn_parts *parts, ns_t now);

/* Begins an orderly end with an application error code (0: ROQ_NO_ERROR). */
void quic_conn_close(struct quic_conn *c, uint64_t code, ns_t now);
/* Says that the connection must end because of the peer or ourselves: application error code, and
 * one line for agent_error. The first failure counts. From an event function the closing follows by
 * itself, else it is for quic_conn_shut to begin it. */
void quic_conn_fail(struct quic_conn *c, uint64_t code, const char *reason);
/* The same with a transport error code (RFC 9000 section 20.1). */
void quic_conn_fail_transport(struct quic_conn *c, uint64_t code, const char *reason);
void quic_conn_shut(struct quic_conn *c, ns_t now);
/* Takes a negative result of an ngtcp2 function and begins the closing it asks for. */
void quic_conn_library_error(struct quic_conn *c, int rv, ns_t now);
/* Writes the closing packet if it is due. Returns 1 or 0; afterwards closed may be set. */
int quic_conn_poll_close(struct quic_conn *c, struct dgram *out, ns_t now);
/* Smoothed round-trip time; the initial guess before the first sample. */
ns_t quic_conn_smoothed_rtt(const struct quic_conn *c);
ns_t quic_conn_latest_rtt(const struct quic_conn *c);
/* How long the peer says it waited before it sent the acknowledgement just read. */
ns_t quic_conn_ack_delay(const struct quic_conn *c);

#endif
