/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kernel TCP as cross traffic: one process with the sockets of both end hosts. A long flow sends
 * without end (RFC 8868 section 5.1); a short one is a sequence of downloads, each on a connection
 * of its own: web resources are what that section models, and so every download begins with the
 * handshake and the initial window, whatever the one before has learnt. The host that gets the data
 * listens, the one that has it connects. */
#ifndef TESTBED_TRAFFIC_TRAFFIC_H
#define TESTBED_TRAFFIC_TRAFFIC_H

#include "agents/base/addr.h"
#include "agents/base/message.h"
#include "agents/base/ns.h"
#include "agents/record/record.h"
#include "testbed/traffic/downloads.h"

#include <stddef.h>
#include <stdint.h>

#define TRAFFIC_FLOWS_MAX 4
#define TRAFFIC_DOWNLOADERS_MAX 30
#define TRAFFIC_SAMPLE_INTERVAL (200 * NS_PER_MS)

/* Times are of the run. */
struct traffic_flow {
    const char *name;               /* "tcp", "short-tcp" */
    const char *congestion_control; /* of the kernel's: "reno", "cubic", "bbr" */
    struct addr to;                 /* where the data goes */
    int from_ns, to_ns;             /* namespaces of the two hosts; -1: the process's own */
    ns_t start, stop;               /* stop NS_NEVER: goes on to the end */
    int downloaders;                /* 0: one long flow; else so many short ones */
    int downloaders_on;             /* of these begin with a download, the others with a pause */
    struct downloads_config downloads;
    int buffer_bytes, ahead_bytes; /* of its connections (tcp_sock.h) */
};

struct traffic_config {
    const struct traffic_flow *flows; /* borrowed until traffic_close */
    size_t count;                     /* at most TRAFFIC_FLOWS_MAX */
    uint64_t seed;
    const struct record_sink *sink; /* RECORD_TCP and RECORD_DOWNLOAD; borrowed */
};

/* What came of one flow, all its connections together. */
struct traffic_outcome {
    int64_t connections, downloads; /* begun; complete */
    int64_t sent_bytes;             /* taken by the kernel */
    int64_t received_bytes;         /* given to the other end's program */
    int64_t retransmits;            /* segments */
    ns_t up;                        /* connections were there for so long in all */
    ns_t held; /* of this the sender's host, not the path, kept from sending: a window or a buffer
                * was full, or the program was late with data */
    int64_t failures;  /* connections that ended without being asked to */
    char failure[120]; /* the first; empty: none */
};

struct traffic_report {
    struct traffic_outcome flows[TRAFFIC_FLOWS_MAX];
};

struct traffic;

/* Opens what listens. The calling thread changes its namespace now and then from here on. Returns
 * 0, or ERR_OS / ERR_NOMEM with the cause; then nothing is left open. */
int traffic_open(struct traffic **out, const struct traffic_config *cfg, struct message *m);
/* Sends and receives from run time 0, which is at CLOCK_MONOTONIC start, until control_fd becomes
 * readable; then all senders give up at once. Returns 0 or ERR_OS with the cause. */
int traffic_run(struct traffic *t, ns_t start, int control_fd, struct message *m);
/* After that: takes what still arrives until control_fd becomes readable once more (the caller has
 * read what made it so before). */
int traffic_drain(struct traffic *t, int control_fd, struct message *m);
void traffic_report(const struct traffic *t, struct traffic_report *out);
void traffic_close(struct traffic *t);

#endif
