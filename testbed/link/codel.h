/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Controlled delay (RFC 8289): packets are dropped or marked when they leave the queue, once the
 * time they waited has stayed above the target for an interval, and then at times that come closer
 * together as interval / sqrt(count). Without the kernel's approximation of the root, else as its
 * sch_codel: the state of one queue is apart from the queue, since fq_codel has many. */
#ifndef TESTBED_LINK_CODEL_H
#define TESTBED_LINK_CODEL_H

#include "testbed/link/aqm_private.h"

#define CODEL_TARGET (5 * NS_PER_MS)     /* RFC 8289 section 4.3 */
#define CODEL_INTERVAL (100 * NS_PER_MS) /* section 4.2 */

/* All zero is the state of a queue that has seen nothing (section 5). */
struct codel {
    uint32_t count, last_count; /* drops since it began to drop; the same when it began last */
    bool dropping;
    ns_t first_above; /* when it may begin to; 0: the wait is below the target */
    ns_t drop_next;
};

/* The drop after one at t (section 5.5, control_law). */
ns_t codel_control_law(ns_t t, ns_t interval, uint32_t count);
/* Takes the next packet out of f, of all that q holds, at now; NULL when it is or becomes empty. */
struct aqm_packet *codel_dequeue(struct codel *c, struct aqm *q, struct aqm_fifo *f, ns_t now);

#endif
