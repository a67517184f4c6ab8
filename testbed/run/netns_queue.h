/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs whose bottleneck is the wire's own, since its queue has a discipline (private to
 * run_netns.c and the netns_*.c beside it). Such a chain has no kernel shaper; rate, queue and
 * steps of the rate are the wire's, by the code of the simulated link. */
#ifndef TESTBED_RUN_NETNS_QUEUE_H
#define TESTBED_RUN_NETNS_QUEUE_H

#include "testbed/run/netns_run.h"

/* What a wire borrows while it is open. */
struct netns_queue {
    struct rate_step one[TOPOLOGY_DIRECTIONS]; /* of constant rates */
    struct rate_schedule schedules[TOPOLOGY_DIRECTIONS];
};

bool netns_queue_wanted(const struct netns_run *r);
/* What the wire of a bottleneck is to do of it; nothing unless wanted. q is not to be moved. */
void netns_queue_shape(struct netns_queue *q, const struct netns_run *r, size_t segment,
                       struct shaped_config shape[WIRE_DIRECTIONS]);
/* Tells the wires of the run when the run began. Returns 0 or ERR_OS with r->m set. */
int netns_queue_start(struct netns_run *r);
/* Records what the disciplines did, the wire's or the kernel's; and when the wire's rate changed.
 */
void netns_queue_record(const struct netns_run *r, const struct record_sink *sink, ns_t time);

#endif
