/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a peer of the QUIC agent can do wrong once the handshake is done: a table of packets, each
 * with what the agent must close with, and the making of such packets under a connection's own
 * keys. For tests and for build/hostile; no agent uses it. */
#ifndef AGENTS_QUIC_QUIC_ATTACK_H
#define AGENTS_QUIC_QUIC_ATTACK_H

#include "agents/agent.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUIC_ATTACK_SECRET_BYTES 32 /* of TLS_AES_128_GCM_SHA256 */
#define QUIC_ATTACK_FRAMES_MAX 1400
/* Number of the first packet that is made by hand: far above what the connection itself sends. */
#define QUIC_ATTACK_FIRST_PACKET 1000

/* Who has to bear it. */
enum quic_attack_victim {
    QUIC_ATTACK_RECEIVER,
    QUIC_ATTACK_SENDER,
    QUIC_ATTACK_BOTH,
    QUIC_ATTACK_HARMLESS, /* a receiver, which must go on */
};

struct quic_conn; /* agents/quic/quic_conn.h */

struct quic_attack {
    enum quic_attack_victim victim;
    const char *name, *bytes; /* the frames of one packet */
    size_t len;
    int type; /* NGTCP2_CCERR_TYPE_*: with what the agent must close */
    uint64_t code;
    const char *counter; /* the one of the agent's that must be 1 */
    uint8_t flags;       /* of the short header */
    int64_t max_per_ack; /* with which quic.timestamps-per-ack of the agent; 0: the default */
    int64_t exponent;    /* and quic.timestamp-exponent */
    bool late;           /* found out after 30 ms */
};

extern const struct quic_attack quic_attacks[];
extern const size_t quic_attack_count;

/* If this line of a key log (NSS format) holds the traffic secret of a server's or a client's 1-RTT
 * packets, takes it. Returns whether it did. */
bool quic_attack_secret(uint8_t secret[QUIC_ATTACK_SECRET_BYTES], const char *line, bool server);
/* Makes a packet of these frames, with PADDING before them, in out, which points to
 * AGENT_DATAGRAM_MAX bytes; flags go into the first byte, number becomes the next one. Returns 0,
 * or ERR_CRYPTO. */
int quic_attack_packet(struct quic_conn *c, const uint8_t secret[QUIC_ATTACK_SECRET_BYTES],
                       int64_t *number, const struct quic_attack *a, struct dgram *out, ns_t now);

#endif
