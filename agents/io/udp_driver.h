/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Drives an agent in real time over a UDP socket: poll until empty, wait for the earlier of
 * deadline and arrival, receive or expire. Deadlines are absolute on CLOCK_MONOTONIC. */
#ifndef AGENTS_IO_UDP_DRIVER_H
#define AGENTS_IO_UDP_DRIVER_H

#include "agents/agent.h"
#include "agents/base/hist.h"
#include "agents/io/udp_sock.h"

#include <stdint.h>

struct udp_driver {
    struct agent *agent;
    struct udp_sock *sock;
    ns_t start;  /* CLOCK_MONOTONIC at run time 0 */
    int stop_fd; /* a signalfd: the first signal stops the agent, a second one gives up; -1: none */

    /* filled in by udp_driver_run */
    struct hist late;      /* from a deadline to the wake-up it asked for; its max also tells of
                            * deadlines that passed while the agent was at work */
    uint64_t send_blocked; /* times the kernel's send buffer was full */
    uint64_t send_errors;  /* datagrams the kernel refused */
    int send_errno;        /* of the first of them */
};

/* Returns when the agent is done (0; agent_error tells how it ended), on a second signal
 * (ERR_LIMIT), or when the system fails (ERR_OS, ERR_NOMEM). Frees nothing of the caller's. */
int udp_driver_run(struct udp_driver *d);
/* Writes the figures above as counters driver-late-p50-ns, -p99-ns, -max-ns, send-blocked,
 * send-errors, receive-drops. */
void udp_driver_record(const struct udp_driver *d, const struct record_sink *sink);

#endif
