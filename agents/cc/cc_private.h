/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a controller implements cc.h: it embeds struct cc first and is made by cc_make. */
#ifndef AGENTS_CC_CC_PRIVATE_H
#define AGENTS_CC_CC_PRIVATE_H

#include "agents/cc/cc.h"
#include "agents/cc/probe_controller.h"
#include "agents/cc/probe_estimator.h"

struct cc_ops {
    void (*on_sent)(struct cc *c, int32_t bytes, ns_t now);
    void (*on_feedback)(struct cc *c, const struct cc_packet *packets, size_t n, ns_t rtt,
                        ns_t now);
    void (*on_marks)(struct cc *c, int64_t marked, int64_t packets, ns_t now);
    bps_t (*target)(const struct cc *c);
    void (*demand)(struct cc *c, ns_t now);
    void (*pause)(struct cc *c, bool paused); /* NULL: a controller that does not probe */
    bool (*probe)(struct cc *c, struct cc_probe *out, ns_t now);
    ns_t (*deadline)(const struct cc *c);
    void (*expire)(struct cc *c, ns_t now);
    void (*state)(const struct cc *c, struct cc_state *out);
};

struct cc {
    const struct cc_ops *ops;
};

/* A controller of size bytes that begins with a struct cc, all zero but for ops; cc_free frees it.
 * Returns 0, ERR_NOMEM, or ERR_CONFIG when cfg is none. */
int cc_make(struct cc **out, size_t size, const struct cc_ops *ops, const struct cc_config *cfg);
/* cc_probe of a controller that has both parts: the next cluster, which the estimator is told of.
 */
bool cc_next_probe(struct probe_controller *p, struct probe_estimator *e, struct cc_probe *out,
                   ns_t now);

#endif
