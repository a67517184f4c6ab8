/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A topology made real: namespaces, veth pairs, addresses, routes, permanent neighbours, shapers.
 * Nothing of it has a name in the file system; it lives by the descriptors in struct chain and by
 * the processes that enter it. */
#ifndef TESTBED_NETNS_CHAIN_H
#define TESTBED_NETNS_CHAIN_H

#include "agents/base/message.h"
#include "testbed/topology/topology.h"

#include <stdint.h>

struct chain;

/* Counters of one link since the chain came up. */
struct chain_link {
    uint64_t in_packets, out_packets, out_bytes, drops;
    uint32_t backlog_packets;
    uint64_t delayed_packets, delayed_bytes; /* out of netem behind it, without those it lost */
    /* By the discipline of its queue; both kinds of drops are among drops. Packets above a limit
     * made smaller count as early drops. */
    uint64_t overflow_drops, early_drops, marks;
};

/* Packets lost elsewhere than at the shapers. All but asked should stay 0. */
struct chain_losses {
    /* by netem, as the topology asks of a link; what is more than chance explains is among
     * qdisc_drops */
    uint64_t asked[TOPOLOGY_LINKS_MAX];
    uint64_t qdisc_drops; /* on qdiscs other than the shapers */
    uint64_t iface_drops; /* by an interface: a full backlog, a peer that is down */
    char where[48];       /* the first place with a loss: "router1 lan netem" */
};

/* What somebody else has made of the chain's queueing disciplines. */
struct chain_changes {
    uint64_t count; /* interfaces that are not as they were set up */
    char what[160]; /* the first one and what differs: "router1 wan: tbf is gone" */
};

/* Builds the topology; needs netns_acquire before. Returns 0, or ERR_OS / ERR_NOMEM with node,
 * interface and cause; then nothing is left. */
int chain_up(struct chain **out, const struct topology *t, struct message *m);
/* From now on netem does all that the topology asks of it, and the queues, which should be empty,
 * have their disciplines; until then there is only delay and tail drop, so that the link can be
 * tried and measured. Does nothing where neither is asked for. Returns 0, or ERR_OS with the cause.
 */
int chain_impair(struct chain *c, struct message *m);
/* Closes the descriptors; the kernel removes the namespaces once nobody is inside. */
void chain_down(struct chain *c);
const struct topology *chain_topology(const struct chain *c);
/* The node's namespace; owned by the chain. */
int chain_ns(const struct chain *c, enum topology_node node);
/* What the link has carried; all 0 where somebody has taken the shaper away. Returns 0 or ERR_OS
 * with the cause. */
int chain_link_counters(struct chain *c, size_t link, struct chain_link *out, struct message *m);
/* What a link's shaper has sent, and what waits there, for those who look often: both 0 where
 * somebody has taken it away. Returns 0 or ERR_OS with the cause. */
int chain_shaper(struct chain *c, size_t link, uint64_t *out_bytes, int64_t *backlog_bytes,
                 struct message *m);
/* The same of both directions of the first bottleneck: forward is what router 1 sends. */
int chain_counters(struct chain *c, struct chain_link *forward, struct chain_link *backward,
                   struct message *m);
int chain_losses(struct chain *c, struct chain_losses *out, struct message *m);
/* Reads every queueing discipline back and compares it with what was set up or last reshaped. */
int chain_changes(struct chain *c, struct chain_changes *out, struct message *m);
/* Gives TCP connections whose data a node sends the congestion control of that name, as the kernel
 * calls it, whoever opens them. Returns 0, or ERR_OS with the cause. */
int chain_congestion(struct chain *c, enum topology_node node, const char *name, struct message *m);
/* Changes rate and queue limit of one link's shaper in place, and the limit of the discipline of
 * its queue, if it has one. */
int chain_reshape(struct chain *c, size_t link, const struct shape_tbf *tbf, struct message *m);

#endif
