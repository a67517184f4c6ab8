/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Proportional integral controller enhanced (RFC 8033): packets are dropped or marked when they
 * come, with a probability that a controller moves every 15 ms by how long packets wait and how
 * that changes. The wait is what the latest packet to leave has seen (section 5.2, timestamps), as
 * in the kernel's sch_pie. */
#ifndef TESTBED_LINK_PIE_H
#define TESTBED_LINK_PIE_H

#include "agents/base/ns.h"

#include <stdbool.h>

#define PIE_TARGET (15 * NS_PER_MS)     /* QDELAY_REF, RFC 8033 section 4.1 ff. */
#define PIE_UPDATE (15 * NS_PER_MS)     /* T_UPDATE */
#define PIE_BURST_MAX (150 * NS_PER_MS) /* MAX_BURST */
#define PIE_ALPHA 0.125                 /* per second of wait above the target */
#define PIE_BETA 1.25                   /* per second of change */
#define PIE_MARK_MAX 0.1                /* mark_ecnth: above it ECN is no excuse (section 5.1) */

/* The controller of one queue. */
struct pie {
    double drop_prob;
    double accu_prob;    /* summed since the last drop (section 5.4, de-randomization) */
    ns_t wait, wait_old; /* seen by the latest packet to leave; at the update before */
    ns_t burst;          /* allowance left */
};

void pie_init(struct pie *c);
/* Every interval (sections 4.2, 4.4, 5.2, 5.5); empty: the queue is. */
void pie_update(struct pie *c, ns_t target, ns_t interval, bool empty);
/* Whether nothing changes any more while the queue stays empty. */
bool pie_at_rest(const struct pie *c);
/* Whether the next packet is to be dropped or marked (sections 4.1, 5.4); queued: bytes waiting
 * before it; draw: uniform in [0, 1). */
bool pie_drop_early(struct pie *c, ns_t target, int64_t queued, double draw);

#endif
