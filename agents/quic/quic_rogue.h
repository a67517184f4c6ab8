/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A peer of the QUIC agent that completes the handshake and then does what it is told
 * (quic_attack.h): a bare connection, driven like an agent. For build/hostile. */
#ifndef AGENTS_QUIC_QUIC_ROGUE_H
#define AGENTS_QUIC_QUIC_ROGUE_H

#include "agents/agent.h"
#include "agents/quic/quic_attack.h"

#include <stdbool.h>

struct quic_rogue;

/* Makes one, a client when cfg says sender, and begins. What env points to outlives it. Returns 0
 * or a negative ERR_* code. */
int quic_rogue_new(struct quic_rogue **out, const struct agent_config *cfg,
                   const struct agent_env *env, ns_t now);
void quic_rogue_free(struct quic_rogue *r);
void quic_rogue_recv(struct quic_rogue *r, const struct dgram *d, ns_t now);
/* Returns 1 with a datagram to send now (out->data: AGENT_DATAGRAM_MAX bytes), or 0. */
int quic_rogue_poll(struct quic_rogue *r, struct dgram *out, ns_t now);
void quic_rogue_expire(struct quic_rogue *r, ns_t now);
/* The packet of an attack. Returns 0 or ERR_CRYPTO. */
int quic_rogue_attack(struct quic_rogue *r, const struct quic_attack *a, struct dgram *out,
                      ns_t now);
/* Begins an orderly end. */
void quic_rogue_close(struct quic_rogue *r, ns_t now);
/* From now on it neither reads nor writes. */
void quic_rogue_fall_silent(struct quic_rogue *r);
/* The handshake is done. */
bool quic_rogue_ready(const struct quic_rogue *r);
/* What the connection has to say of its end; never NULL. */
const char *quic_rogue_error(const struct quic_rogue *r);
/* Whether the connection is over, and whether the victim ended it as the attack's row says. */
bool quic_rogue_closed(const struct quic_rogue *r);
bool quic_rogue_closed_with(const struct quic_rogue *r, const struct quic_attack *a);

#endif
