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

/* Where one is: the root of an interface, or below it. */
enum qdisc_place { QDISC_ROOT, QDISC_BELOW, QDISC_PLACES };

/* A message that makes kind what is at a place of an interface or changes it in place, up to its
 * options; room is for these. NULL: out of memory. */
struct nl_msg *qdisc_message(int ifindex, enum qdisc_place place, const char *kind, size_t room);
/* Sends msg and frees it, or with a failing rc or no msg only frees it. Returns 0, or ERR_OS with
 * the reason. */
int qdisc_send(struct nl_sock *sk, const char *kind, struct nl_msg *msg, int rc, struct message *m);
/* Reads back what is on the interface now, which must be root, and below it what is named (NULL:
 * nothing), alone. Returns 0; 1 with what differs; or ERR_OS with the reason. */
int qdisc_find(struct nl_sock *sk, int ifindex, const char *root, const char *below,
               struct qdisc_dumped got[QDISC_PLACES], struct message *m);
/* The same behind qdisc_send, where what differs is ERR_OS, too. */
int qdisc_confirm(struct nl_sock *sk, int ifindex, const char *root, const char *below,
                  struct qdisc_dumped got[QDISC_PLACES], struct message *m);
/* Fails, and names the field, unless |got - want| <= tolerance. */
int qdisc_same(struct message *m, const char *field, uint64_t want, uint64_t got,
               uint64_t tolerance);

/* qdisc_aqm.c: disciplines of the queue below tbf. */
int qdisc_send_aqm(struct nl_sock *sk, int ifindex, const struct shape_aqm *want,
                   struct message *m);
/* Returns 0, or ERR_OS with the field that differs. */
int qdisc_compare_aqm(const struct qdisc_dumped *d, const struct shape_aqm *want,
                      struct message *m);
/* What such a kind counts, if q is of one: from its own statistics, of so many bytes. */
void qdisc_read_aqm(struct qdisc *q, const void *stats, size_t len);

#endif
