/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Queueing disciplines: tbf, what disciplines the queue below it, and netem, as raw netlink
 * attributes (libnl writes only part of them), read back and compared field by field; and the
 * counters of all. */
#ifndef TESTBED_NETNS_QDISC_H
#define TESTBED_NETNS_QDISC_H

#include "agents/base/message.h"
#include "testbed/topology/shape.h"
#include "testbed/topology/shape_aqm.h"
#include "testbed/topology/shape_netem.h"

#include <stddef.h>
#include <stdint.h>

struct nl_sock;

struct qdisc {
    int ifindex;
    uint32_t parent;
    char kind[16];
    uint64_t sent_bytes, sent_packets, drops, overlimits;
    uint32_t backlog_bytes, backlog_packets;
    /* of codel, fq_codel, pie and cake: drops for want of room, which are among drops (of cake 0:
     * it does not tell), and packets that got CE */
    uint64_t overflow_drops, marks;
};

/* Makes tbf the root of an interface, or changes the one that is there in place: its queue and
 * counters stay. With aqm the queue is that of the discipline, put below it in place of tbf's own
 * (which should be empty then) or changed in place; tbf's limit then says nothing. NULL, or kind
 * AQM_DROP_TAIL: none. Returns 0, or ERR_OS with what the kernel refused or the field that differs;
 * with errno ENOENT this kernel has no such discipline. */
int qdisc_set_tbf(struct nl_sock *sk, int ifindex, const struct shape_tbf *want,
                  const struct shape_aqm *aqm, struct message *m);
/* Whether this kernel has a discipline (not AQM_DROP_TAIL): tried on the loopback interface of the
 * namespace that the caller is in, which should be its own. Returns 0, or ERR_OS with the cause. */
int qdisc_try_aqm(enum aqm_kind kind, struct message *m);
/* The same as qdisc_set_tbf for netem. A kernel that knows no seed goes without. ERR_OS with errno
 * ENOENT: this kernel has no netem. */
int qdisc_set_netem(struct nl_sock *sk, int ifindex, const struct shape_netem *want,
                    struct message *m);
/* Whether the root of an interface still is what was set. Returns 0; 1 with what differs in m; or
 * ERR_OS with the cause. */
int qdisc_check_tbf(struct nl_sock *sk, int ifindex, const struct shape_tbf *want,
                    const struct shape_aqm *aqm, struct message *m);
int qdisc_check_netem(struct nl_sock *sk, int ifindex, const struct shape_netem *want,
                      struct message *m);
/* All qdiscs of the socket's namespace, at most max. Returns their number, or ERR_OS. */
int qdisc_list(struct nl_sock *sk, struct qdisc *out, size_t max);

#endif
