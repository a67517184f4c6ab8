/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The WebRTC agent's inner state, for webrtc_agent.c and webrtc_agent_signal.c. */
#ifndef AGENTS_WEBRTC_WEBRTC_AGENT_PRIVATE_H
#define AGENTS_WEBRTC_WEBRTC_AGENT_PRIVATE_H

#include "agents/agent_private.h"
#include "agents/webrtc/webrtc_agent.h"
#include "agents/webrtc/webrtc_channels.h"
#include "agents/webrtc/webrtc_conn.h"
#include "agents/webrtc/webrtc_data_rx.h"
#include "agents/webrtc/webrtc_media_rx.h"
#include "agents/webrtc/webrtc_media_tx.h"

enum webrtc_agent_phase {
    WEBRTC_PHASE_RUN,
    WEBRTC_PHASE_DRAIN, /* sender: the stream's reset is under way */
    WEBRTC_PHASE_CLOSE, /* the connection's own end */
    WEBRTC_PHASE_DONE,
};

struct webrtc_agent {
    struct agent agent; /* first */
    struct agent_config cfg;
    struct agent_env env;
    struct webrtc_conn conn;
    bool sender, has_media, has_data; /* of the sender: what is configured */
    bool running;                     /* sender: the flows exist */
    bool signalled;                   /* the peer is another's, found by offer and answer ... */
    struct webrtc_session session;    /* ... which settled this */
    struct webrtc_media_tx media_tx;
    struct webrtc_channels channels;
    struct webrtc_media_rx media_rx;
    struct webrtc_data_rx data_rx;
    enum webrtc_agent_phase phase;
    ns_t now;
    ns_t drain_until, delivered;
    bool ended;      /* the receiver's media has been finished */
    bool unfinished; /* file-unfinished has been recorded */
    ns_t bye_until;  /* the peer has said BYE and should have closed by then; NS_NEVER: not yet */
    bool breach;     /* its messages were no transfer ... */
    bool no_memory;  /* ... or could not be kept */
    int fatal;
};

static inline struct webrtc_agent *webrtc_agent_self(struct agent *a)
{
    return (struct webrtc_agent *)(void *)a;
}

static inline const struct webrtc_agent *webrtc_agent_const_self(const struct agent *a)
{
    return (const struct webrtc_agent *)(const void *)a;
}

#endif
