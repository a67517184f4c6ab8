/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A peer of the WebRTC agent that completes the handshake and then breaks the rules, by a table of
 * attacks. Driven like an agent. For tests and for build/hostile; no agent uses it. */
#ifndef AGENTS_WEBRTC_WEBRTC_ATTACK_H
#define AGENTS_WEBRTC_WEBRTC_ATTACK_H

#include "agents/agent.h"
#include "agents/base/prng.h"
#include "agents/webrtc/webrtc_conn.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct webrtc_rogue {
    struct agent_config cfg;
    struct agent_env env;
    struct webrtc_conn conn;
    struct prng random; /* of the attacks' content */
    size_t written;     /* bytes of the message under way */
    bool up, deaf;      /* keys are there; does not read or write any more (set by the caller) */
};

struct webrtc_attack {
    const char *name;
    bool on_sender; /* the victim; else a receiver */
    int turns;      /* so many calls of step, 2 ms or more apart */
    /* Does something; returns 1 with a datagram to send as it is (out->data: AGENT_DATAGRAM_MAX
     * bytes), or 0: what the connection has to send is polled. */
    int (*step)(struct webrtc_rogue *r, int turn, struct dgram *out, ns_t now);
    const char *error;   /* with which the agent must end; NULL: it must go on */
    const char *counter; /* of the agent's, NULL for none, */
    int64_t at_least;    /* and what it must then show */
};

extern const struct webrtc_attack webrtc_attacks[];
extern const size_t webrtc_attack_count;

/* Fills in r, the DTLS client when cfg says sender, and begins. env outlives it. Returns 0 or a
 * negative ERR_* code; webrtc_rogue_fini frees after 0. */
int webrtc_rogue_init(struct webrtc_rogue *r, const struct agent_config *cfg,
                      const struct agent_env *env, ns_t now);
void webrtc_rogue_fini(struct webrtc_rogue *r);
void webrtc_rogue_recv(struct webrtc_rogue *r, const struct dgram *d, ns_t now);
/* Returns 1 with a datagram to send now, or 0. */
int webrtc_rogue_poll(struct webrtc_rogue *r, struct dgram *out, ns_t now);
/* To be called about every millisecond. */
void webrtc_rogue_expire(struct webrtc_rogue *r, ns_t now);
/* Keys and, for a sender's peer too, the association are there. */
bool webrtc_rogue_ready(const struct webrtc_rogue *r);

#endif
