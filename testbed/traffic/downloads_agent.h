/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A short TCP flow (downloads.h) in virtual time, played by agents: each download is a file on a
 * connection of its own, so it begins with a handshake and the initial window, as the kernel's do
 * (traffic.h). The sender has the files; the receiver answers whoever connects. */
#ifndef TESTBED_TRAFFIC_DOWNLOADS_AGENT_H
#define TESTBED_TRAFFIC_DOWNLOADS_AGENT_H

#include "agents/agent.h"
#include "testbed/traffic/downloads.h"

struct downloads_agent_config {
    struct downloads_config downloads;
    uint64_t seed;
    int index;        /* of the flow in its group */
    bool on;          /* begins with a download, not with an idle time */
    ns_t start, stop; /* no download before or from then on; one under way is given up */
};

/* cfg is what an agent of one download is told, but for size and seed. The sender is done when it
 * has stopped, the receiver when it is told to stop. A download that fails is an error only of its
 * own: agent_error is NULL, unless no download could be made at all. Returns 0, ERR_NOMEM or
 * ERR_CONFIG. */
int downloads_agent_new(struct agent **out, const struct agent_config *cfg,
                        const struct agent_env *env, const struct downloads_agent_config *d);

#endif
