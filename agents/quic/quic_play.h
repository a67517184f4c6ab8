/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Streamed music over QUIC: an agent whose sender serves tracks (quic_fetch.h) under one of the
 * library's congestion controls, and whose receiver is up to PLAY_PLAYERS_MAX music players
 * (agents/play/player.h), each with connections of its own. The players are the clients. All
 * connections run between the same two addresses and are told apart by their ids. */
#ifndef AGENTS_QUIC_QUIC_PLAY_H
#define AGENTS_QUIC_QUIC_PLAY_H

#include "agents/agent.h"

/* Makes an agent of either role; configuration as of stack play-quic (agent_config_check). Returns
 * 0 or ERR_NOMEM, ERR_CONFIG; *out is set on success only.
 *
 * Players end by themselves after their last play, at the configuration's duration or, without one,
 * at its time limit; the server ends when all players have said that they have. Counters, of either
 * side: connections, connections-failed, bad-requests (of server and client what the other sent),
 * datagrams-sent, -received, -garbage. */
int quic_play_new(struct agent **out, const struct agent_config *cfg, const struct agent_env *env,
                  ns_t now);

#endif
