/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A peer of the QUIC agent that completes the handshake and then does what it is told
 * (quic_attack.h): a bare connection, driven like an agent. For build/hostile. */
#ifndef AGENTS_QUIC_QUIC_ROGUE_H
#define AGENTS_QUIC_QUIC_ROGUE_H

#include "agents/agent.h"
#include "agents/quic/quic_attack.h"
#include "agents/quic/quic_conn.h"

#include <stdbool.h>

struct quic_rogue {
    struct agent_config cfg;
    struct agent_env env, random; /* the connection's; whose random() serves it */
    struct quic_conn conn;
    uint8_t secret[QUIC_ATTACK_SECRET_BYTES];
    int64_t next_packet;
    bool up, deaf, broken; /* deaf: does not read any more; set by the caller */
};

/* Fills in r, a client when cfg says sender, and begins. What cfg and env point to outlives it.
 * Returns 0 or a negative ERR_* code; quic_rogue_fini frees in any case. */
int quic_rogue_init(struct quic_rogue *r, const struct agent_config *cfg,
                    const struct agent_env *env, ns_t now);
void quic_rogue_fini(struct quic_rogue *r);
void quic_rogue_recv(struct quic_rogue *r, const struct dgram *d, ns_t now);
/* Returns 1 with a datagram to send now (out->data: AGENT_DATAGRAM_MAX bytes), or 0. */
int quic_rogue_poll(struct quic_rogue *r, struct dgram *out, ns_t now);
void quic_rogue_expire(struct quic_rogue *r, ns_t now);
/* The packet of an attack. Returns 0 or ERR_CRYPTO. */
int quic_rogue_attack(struct quic_rogue *r, const struct quic_attack *a, struct dgram *out,
                      ns_t now);
/* Begins an orderly end. */
void quic_rogue_close(struct quic_rogue *r, ns_t now);
/* Whether the connection is over, and whether the victim ended it as the attack's row says. */
bool quic_rogue_closed(const struct quic_rogue *r);
bool quic_rogue_closed_with(const struct quic_rogue *r, const struct quic_attack *a);

#endif
