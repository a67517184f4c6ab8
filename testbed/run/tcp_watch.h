/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Looks at the TCP connections of a server that is not ours every so often while a run lasts: what
 * congestion control they really have, and what it does (RECORD_TCP, sender.tcp.csv). */
#ifndef TESTBED_RUN_TCP_WATCH_H
#define TESTBED_RUN_TCP_WATCH_H

#include "agents/base/message.h"
#include "agents/base/ns.h"
#include "testbed/run/service.h"
#include "testbed/traffic/tcp_sock.h"

#define TCP_WATCH_INTERVAL (250 * NS_PER_MS)

struct tcp_watch_options {
    const char *dir;    /* of the run, for the records */
    int ns_fd;          /* the server's network namespace */
    uint16_t port;      /* the server's */
    ns_t start;         /* CLOCK_MONOTONIC at run time 0 */
    const char *wanted; /* congestion control that all should have */
};

struct tcp_watch_report {
    uint64_t looks, samples, connections; /* connections: different ports of the peer's */
    uint64_t wrong;                       /* samples with another congestion control than wanted */
    char found[TCP_SOCK_ALGORITHM_MAX];   /* the first such one */
};

/* Begins to look. o outlives the watch. Returns 0 or ERR_OS with the cause. */
int tcp_watch_start(struct service *s, const struct tcp_watch_options *o, struct message *m);
/* Looks a last time and ends; the records are on disk then. Returns 0 or ERR_OS with the cause. */
int tcp_watch_finish(struct service *s, struct tcp_watch_report *out, struct message *m);

#endif
