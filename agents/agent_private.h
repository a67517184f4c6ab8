/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a stack implements the contract of agent.h: it embeds struct agent first and fills in ops. */
#ifndef AGENTS_AGENT_PRIVATE_H
#define AGENTS_AGENT_PRIVATE_H

#include "agents/agent.h"

struct agent_ops {
    int (*recv)(struct agent *a, const struct dgram *d, ns_t now);
    int (*poll)(struct agent *a, struct dgram *out, ns_t now);
    ns_t (*deadline)(const struct agent *a);
    int (*expire)(struct agent *a, ns_t now);
    void (*stop)(struct agent *a, ns_t now);
    bool (*done)(const struct agent *a);
    const char *(*error)(const struct agent *a);
    void (*free)(struct agent *a);
};

struct agent {
    const struct agent_ops *ops;
};

#endif
