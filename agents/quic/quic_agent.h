/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The QUIC agent: media (RoQ) and data channel (QDC) multiplexed on one connection, under one rate
 * controller, media strictly first. The sender is the QUIC client and opens what the configuration
 * asks for; the receiver is the server and takes it. */
#ifndef AGENTS_QUIC_QUIC_AGENT_H
#define AGENTS_QUIC_QUIC_AGENT_H

#include "agents/agent.h"

/* Fixed identifiers: the media flow (RoQ, bit 0x02 set) and the data channel (QDC, opened by the
 * client, hence even; draft-engelbart-multiplex-roq-qdc-00). */
#define QUIC_AGENT_MEDIA_FLOW 2
#define QUIC_AGENT_RTCP_FLOW 3    /* of both directions, if there is RTCP at all */
#define QUIC_AGENT_AUDIO_FLOW 6   /* if there is audio; in datagrams whatever the mapping */
#define QUIC_AGENT_DATA_CHANNEL 0 /* the first; the others follow in steps of 4 */
#define QUIC_AGENT_ALPN "roq-qdc-mux"

/* The identifier of data channel index: the client's channels are 0, 4, 8, ... */
static inline int64_t quic_agent_channel_id(size_t index)
{
    return QUIC_AGENT_DATA_CHANNEL + 4 * (int64_t)index;
}

/* Makes an agent of either role; a sender starts its handshake with the first poll. Returns 0 or
 * ERR_NOMEM, ERR_CONFIG, ERR_CRYPTO; *out is set on success only. */
int quic_agent_new(struct agent **out, const struct agent_config *cfg, const struct agent_env *env,
                   ns_t now);

#endif
