/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One SCTP association inside DTLS (RFC 8261, RFC 8831): usrsctp's socket, told what deployed
 * stacks tell theirs. Takes and gives whole SCTP packets and whole messages. */
#ifndef AGENTS_WEBRTC_WEBRTC_SCTP_H
#define AGENTS_WEBRTC_WEBRTC_SCTP_H

#include "agents/base/ns.h"
#include "agents/tls/tls_current.h"
#include "agents/webrtc/webrtc_sctp_lib.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEBRTC_SCTP_PORT 5000
/* Messages above this are a breach: what dcSCTP advertises as its limit. */
#define WEBRTC_SCTP_MESSAGE_MAX (256 * 1024)
#define WEBRTC_SCTP_RESET_MAX 16

/* Whose constants. Both have the congestion control of RFC 9260. */
enum webrtc_sctp_flavour {
    WEBRTC_SCTP_DCSCTP, /* Chrome since version 95 */
    WEBRTC_SCTP_PION,
};

struct webrtc_sctp;

/* How a message is to be sent. The last three are for channels that may lose messages (RFC 3758,
 * RFC 7496); of the limits at most one is set. */
struct webrtc_sctp_message {
    uint16_t stream;
    uint32_t ppid;
    bool unordered;
    bool limited;     /* given up after so many retransmissions */
    bool timed;       /* given up after so long */
    uint32_t limit;   /* retransmissions, or ms */
    uint32_t context; /* the owner's name for it */
};

/* A part of a message that leaves for the first time. */
struct webrtc_sctp_sent {
    uint16_t stream;
    uint32_t tsn;
    size_t bytes; /* of the message */
    bool last;    /* the message's end */
};

struct webrtc_sctp_config {
    enum webrtc_sctp_flavour flavour;
    size_t packet_bytes_max;     /* the flavour's own is used where it is smaller */
    struct tls_current *current; /* outlives the association */
    /* A packet to send; bytes of user data in it. */
    void (*send)(void *ctx, const uint8_t *data, size_t len, size_t user_bytes);
    /* Messages of a stream leave in the order they were handed over. */
    void (*sent)(void *ctx, const struct webrtc_sctp_sent *part);
    /* What has not left of a message, or has got lost, will not be sent: its limit has been
     * reached. May be said more than once of one message. */
    void (*given_up)(void *ctx, uint16_t stream, uint32_t context);
    void (*message)(void *ctx, uint16_t stream, uint32_t ppid, const uint8_t *data, size_t len);
    /* The peer has reset its stream, or answered our reset. */
    void (*reset)(void *ctx, uint16_t stream, bool incoming);
    void *ctx;
};

/* Returns 0, ERR_NOMEM, ERR_LIMIT or ERR_OS (the library refuses a setting). */
int webrtc_sctp_new(struct webrtc_sctp **out, const struct webrtc_sctp_config *cfg, ns_t now);
/* Aborts what is still open. */
void webrtc_sctp_free(struct webrtc_sctp *s, ns_t now);
/* Begins the association: both sides do (RFC 8831 section 5), at about the same time. Returns 0,
 * ERR_NOMEM or ERR_OS. */
int webrtc_sctp_connect(struct webrtc_sctp *s, ns_t now);
/* One packet of the peer. Callbacks run inside; they must not call back into s. */
void webrtc_sctp_recv(struct webrtc_sctp *s, const uint8_t *data, size_t len, ns_t now);
ns_t webrtc_sctp_deadline(const struct webrtc_sctp *s);
void webrtc_sctp_expire(struct webrtc_sctp *s, ns_t now);
/* Hands over as much of a message as there is room for, with the end marked when all of it is; the
 * rest must follow before any other message. Returns the number of bytes taken (0: no room now), or
 * ERR_OS when the association is over. */
int webrtc_sctp_send(struct webrtc_sctp *s, const struct webrtc_sctp_message *m,
                     const uint8_t *data, size_t len, ns_t now);
/* The same for a message that is reliable and in order. */
int webrtc_sctp_write(struct webrtc_sctp *s, uint16_t stream, uint32_t ppid, const uint8_t *data,
                      size_t len, ns_t now);
/* Resets outgoing streams (WEBRTC_SCTP_RESET_MAX at most) once what has been written to them has
 * been acknowledged (RFC 6525). Returns 0, or ERR_AGAIN while an earlier request is under way or
 * when the association is over. */
int webrtc_sctp_reset(struct webrtc_sctp *s, const uint16_t *streams, size_t count, ns_t now);
/* Aborts the association; the peer is told. */
void webrtc_sctp_abort(struct webrtc_sctp *s, ns_t now);

bool webrtc_sctp_up(const struct webrtc_sctp *s);
/* Why the association ended, NULL while it has not or when we have ended it. */
const char *webrtc_sctp_error(const struct webrtc_sctp *s);
/* Did it end because the peer broke the rules of messages, or memory ran out? Then nothing of the
 * peer should be believed any more. */
bool webrtc_sctp_breach(const struct webrtc_sctp *s);
/* Did it end because memory ran out? */
bool webrtc_sctp_no_memory(const struct webrtc_sctp *s);
/* Have all parts up to that number been acknowledged, or given up? */
bool webrtc_sctp_acked(const struct webrtc_sctp *s, uint32_t tsn);

struct webrtc_sctp_counters {
    uint64_t packets_sent, packets_received, data_chunks, data_chunks_repeated, forward_tsns;
};
void webrtc_sctp_counters(const struct webrtc_sctp *s, struct webrtc_sctp_counters *out);

#endif
