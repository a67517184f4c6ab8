/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/cc/cc.h"
#include "agents/base/err.h"
#include "agents/cc/cc_private.h"

#include <stdlib.h>

int cc_make(struct cc **out, size_t size, const struct cc_ops *ops, const struct cc_config *cfg)
{
    struct cc *c;

    if (cfg->min_rate <= 0 || cfg->start_rate < cfg->min_rate || cfg->max_rate < cfg->start_rate) {
        return ERR_CONFIG;
    }
    c = calloc(1, size);
    if (!c) {
        return ERR_NOMEM;
    }
    c->ops = ops;
    *out = c;
    return 0;
}

bool cc_next_probe(struct probe_controller *p, struct probe_estimator *e, struct cc_probe *out,
                   ns_t now)
{
    probe_controller_start(p, now);
    if (!probe_controller_next(p, out, now)) {
        return false;
    }
    probe_estimator_expect(e, out);
    return true;
}

void cc_free(struct cc *c)
{
    free(c);
}

void cc_on_sent(struct cc *c, int32_t bytes, ns_t now)
{
    c->ops->on_sent(c, bytes, now);
}

void cc_on_feedback(struct cc *c, const struct cc_packet *packets, size_t n, ns_t rtt, ns_t now)
{
    c->ops->on_feedback(c, packets, n, rtt, now);
}

void cc_on_marks(struct cc *c, int64_t marked, int64_t packets, ns_t now)
{
    c->ops->on_marks(c, marked, packets, now);
}

bps_t cc_target(const struct cc *c)
{
    return c->ops->target(c);
}

void cc_demand(struct cc *c, ns_t now)
{
    c->ops->demand(c, now);
}

void cc_pause(struct cc *c, bool paused, ns_t now)
{
    if (c->ops->pause) {
        c->ops->pause(c, paused);
    }
    if (!paused) {
        cc_demand(c, now);
    }
}

bool cc_probe(struct cc *c, struct cc_probe *out, ns_t now)
{
    return c->ops->probe(c, out, now);
}

ns_t cc_deadline(const struct cc *c)
{
    return c->ops->deadline(c);
}

void cc_expire(struct cc *c, ns_t now)
{
    c->ops->expire(c, now);
}

void cc_state(const struct cc *c, struct cc_state *out)
{
    c->ops->state(c, out);
}
