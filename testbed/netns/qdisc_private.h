/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the kinds of queueing disciplines share (private to qdisc.c and qdisc_*.c). */
#ifndef TESTBED_NETNS_QDISC_PRIVATE_H
#define TESTBED_NETNS_QDISC_PRIVATE_H

#include "testbed/netns/qdisc.h"

#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>

#define QDISC_OPTIONS_MAX 512

/* One qdisc as dumped: counters and its options' bytes. */
struct qdisc_dumped {
    struct qdisc q;
    uint8_t options[QDISC_OPTIONS_MAX];
    size_t options_len; /* of the kernel's; more than QDISC_OPTIONS_MAX: cut off */
};

/* A message that makes kind the root of an interface or changes it in place, up to its options;
 * room is for these. NULL: out of memory. */
struct nl_msg *qdisc_message(int ifindex, const char *kind, size_t room);
/* Sends msg and frees it, or with a failing rc or no msg only frees it; then reads back what is on
 * the interface now, which must be this kind alone. Returns 0, or ERR_OS with the reason. */
int qdisc_apply(struct nl_sock *sk, const char *kind, int ifindex, struct nl_msg *msg, int rc,
                struct qdisc_dumped *got, struct message *m);
/* Reads back what is on the interface. Returns 0; 1 with what differs when it is not this kind
 * alone; or ERR_OS with the reason. */
int qdisc_find(struct nl_sock *sk, const char *kind, int ifindex, struct qdisc_dumped *got,
               struct message *m);
/* Fails, and names the field, unless |got - want| <= tolerance. */
int qdisc_same(struct message *m, const char *field, uint64_t want, uint64_t got,
               uint64_t tolerance);

#endif
