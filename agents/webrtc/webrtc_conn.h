/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One 5-tuple: DTLS, SRTP and SCTP put together, datagrams in and out. What to send as media and
 * data is the owner's business (webrtc_agent.c). Functions that take now enter tls_current
 * themselves. */
#ifndef AGENTS_WEBRTC_WEBRTC_CONN_H
#define AGENTS_WEBRTC_WEBRTC_CONN_H

#include "agents/agent.h"
#include "agents/tls/tls_current.h"
#include "agents/webrtc/ice_lite.h"
#include "agents/webrtc/webrtc_dtls.h"
#include "agents/webrtc/webrtc_sctp.h"
#include "agents/webrtc/webrtc_session.h"
#include "agents/webrtc/webrtc_srtp.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEBRTC_CONN_ERROR_MAX 160

/* A datagram that waits to be polled. */
struct webrtc_conn_datagram {
    struct webrtc_conn_datagram *next;
    struct addr from, to;
    size_t len, data_bytes;
    uint8_t data[];
};

/* What the connection tells its owner; every function runs inside one of the calls below. */
struct webrtc_conn_events {
    void (*established)(void *ctx); /* keys are there */
    /* Opened packets, in datagram number of ip_bytes. */
    void (*rtp)(void *ctx, const uint8_t *data, size_t len, int64_t datagram, size_t ip_bytes,
                ns_t arrival);
    void (*rtcp)(void *ctx, const uint8_t *data, size_t len);
    /* Of the association (webrtc_sctp.h). */
    void (*data_sent)(void *ctx, const struct webrtc_sctp_sent *part);
    void (*given_up)(void *ctx, uint16_t stream, uint32_t context);
    void (*message)(void *ctx, uint16_t stream, uint32_t ppid, const uint8_t *data, size_t len);
    void (*reset)(void *ctx, uint16_t stream, bool incoming);
};

struct webrtc_conn {
    const struct agent_config *cfg;
    const struct agent_env *env;
    const struct webrtc_conn_events *events;
    void *ctx;
    bool server;

    struct tls_current current;
    struct webrtc_dtls *dtls;
    struct webrtc_srtp *srtp; /* NULL until the handshake is done */
    struct webrtc_sctp *sctp; /* NULL until there is use for it */
    struct addr local, remote;
    struct ice_lite ice; /* for peers that check the path; ours need not */
    bool signalled;      /* such a peer: the pair it nominates is the path */

    struct webrtc_conn_datagram *head, *tail;
    size_t user_bytes;      /* of data in the packet on its way through DTLS */
    int64_t sent, received; /* datagrams so far: their indices in records */

    bool started;
    ns_t started_at, last_heard;
    ns_t wait_until; /* signalled: for the peer's first steps */

    bool closing, closed, failed, lost; /* lost: the association is over */
    bool no_memory; /* the association ended, or could not begin, for want of it */
    char error[WEBRTC_CONN_ERROR_MAX];
    uint8_t goodbye[AGENT_DATAGRAM_MAX]; /* the last datagram, sent again in case it is lost */
    size_t goodbye_len;
    int goodbye_copies;
    ns_t goodbye_next;

    uint8_t rx_bits;    /* ECN bits of the datagram being read */
    uint64_t rx_ecn[4]; /* SRTP packets received, by these; and sent as ECN-capable */
    uint64_t ecn_sent;

    uint64_t bytes_in, bytes_out, garbage, forged, replayed, unsent;
    uint8_t packet[AGENT_DATAGRAM_MAX + WEBRTC_SRTP_TRAILER_MAX] __attribute__((aligned(16)));
};

/* Fills in c and makes its certificate; events and everything in cfg and env outlive it. Returns 0,
 * ERR_NOMEM or ERR_CRYPTO. */
int webrtc_conn_init(struct webrtc_conn *c, const struct agent_config *cfg,
                     const struct agent_env *env, const struct webrtc_conn_events *events,
                     void *ctx, ns_t now);
void webrtc_conn_fini(struct webrtc_conn *c);
/* What signalling has settled with a peer that checks the path; before the first datagram. Until
 * it has nominated a pair only its checks, and a handshake it begins, are answered. Returns 0 or
 * ERR_CONFIG. */
int webrtc_conn_agree(struct webrtc_conn *c, const struct webrtc_session *session);
/* The connection may begin: a client says hello, once, as soon as there is a path. */
void webrtc_conn_start(struct webrtc_conn *c, ns_t now);
/* Makes the association, once; both sides begin it. Failures end the connection. */
void webrtc_conn_associate(struct webrtc_conn *c, ns_t now);
void webrtc_conn_recv(struct webrtc_conn *c, const struct dgram *d, ns_t now);
/* Takes a queued datagram. Returns 1 or 0. */
int webrtc_conn_poll(struct webrtc_conn *c, struct dgram *out, ns_t now);
ns_t webrtc_conn_deadline(const struct webrtc_conn *c);
void webrtc_conn_expire(struct webrtc_conn *c, ns_t now);
/* Protects an RTP packet (in a buffer with room for WEBRTC_SRTP_TRAILER_MAX more, aligned to 4) and
 * writes it as the next datagram. parts: bytes of media and padding in it. Returns 0 or ERR_CRYPTO.
 */
int webrtc_conn_send_rtp(struct webrtc_conn *c, uint8_t *packet, size_t len, size_t rtp_bytes,
                         size_t padding_bytes, struct dgram *out, ns_t now);
/* Protects and queues an RTCP packet of the same form. */
void webrtc_conn_send_rtcp(struct webrtc_conn *c, uint8_t *packet, size_t len, ns_t now);
/* Ends it in an orderly way: closed follows when the last datagram has been polled. rtt: between
 * the copies of it. */
void webrtc_conn_close(struct webrtc_conn *c, ns_t rtt, ns_t now);
/* Ends it for a reason; the first counts. */
void webrtc_conn_fail(struct webrtc_conn *c, const char *reason, ns_t now);
void webrtc_conn_counters(const struct webrtc_conn *c);

#endif
