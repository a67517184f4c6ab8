/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A peer over a real UDP socket that completes the handshake with an agent and then does one of
 * the things of a list: the attacks of both stacks' tables, and what needs no knowledge of a
 * protocol (floods, falling silent, other addresses). Part of build/hostile alone. */
#ifndef AGENTS_HOSTILE_PEER_H
#define AGENTS_HOSTILE_PEER_H

#include "agents/agent.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOSTILE_MESSAGE_BYTES 200

struct quic_attack;   /* agents/quic/quic_attack.h */
struct webrtc_attack; /* agents/webrtc/webrtc_attack.h */

enum hostile_deed {
    HOSTILE_TABLE, /* of the stack's own table */
    HOSTILE_FLOOD,
    HOSTILE_DRIP,
    HOSTILE_VANISH,
    HOSTILE_MOVE,
};

/* One thing to do to an agent of one stack and role. */
struct hostile_attack {
    const char *name;
    int stack;      /* AGENT_STACK_* */
    bool on_sender; /* the victim's role */
    enum hostile_deed deed;
    const struct quic_attack *quic; /* the row of its table, or NULL */
    const struct webrtc_attack *webrtc;
};

/* The n-th of all; false behind the last one. */
bool hostile_attack_get(struct hostile_attack *out, size_t n);

/* Does it to the agent at remote, from local. *stop becomes true when the victim has ended: the
 * peer then ends soon. Returns 0 if the victim did on the wire what it must, 1 if not (message
 * says what happened), or a negative ERR_* code. */
int hostile_peer_run(const struct hostile_attack *a, const struct addr *local,
                     const struct addr *remote, const volatile bool *stop,
                     char message[HOSTILE_MESSAGE_BYTES]);

#endif
