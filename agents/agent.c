/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/agent.h"

#include "agents/agent_late.h"
#include "agents/agent_private.h"
#include "agents/base/err.h"
#include "agents/quic/quic_agent.h"
#include "agents/quic/quic_play.h"
#include "agents/traffic/cbr_agent.h"
#include "agents/webrtc/webrtc_agent.h"

static int make(struct agent **out, const struct agent_config *cfg, const struct agent_env *env,
                ns_t now)
{
    if (cfg->udp) {
        return cbr_agent_new(out, cfg, env, now);
    }
    switch (cfg->stack) {
    case AGENT_STACK_QUIC: return quic_agent_new(out, cfg, env, now);
    case AGENT_STACK_WEBRTC: return webrtc_agent_new(out, cfg, env, now);
    case AGENT_STACK_PLAY_QUIC: return quic_play_new(out, cfg, env, now);
    }
    return ERR_CONFIG;
}

int agent_new(struct agent **out, const struct agent_config *cfg, const struct agent_env *env,
              ns_t now)
{
    return cfg->start > now ? agent_late_new(out, cfg, env, make) : make(out, cfg, env, now);
}

int agent_recv(struct agent *a, const struct dgram *d, ns_t now)
{
    return a->ops->recv(a, d, now);
}

int agent_poll(struct agent *a, struct dgram *out, ns_t now)
{
    return a->ops->poll(a, out, now);
}

ns_t agent_deadline(const struct agent *a)
{
    return a->ops->deadline(a);
}

int agent_expire(struct agent *a, ns_t now)
{
    return a->ops->expire(a, now);
}

void agent_stop(struct agent *a, ns_t now)
{
    a->ops->stop(a, now);
}

bool agent_done(const struct agent *a)
{
    return a->ops->done(a);
}

const char *agent_error(const struct agent *a)
{
    return a->ops->error(a);
}

void agent_free(struct agent *a)
{
    if (a) {
        a->ops->free(a);
    }
}
