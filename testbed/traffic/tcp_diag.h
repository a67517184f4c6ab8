/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the kernel says of the TCP connections of a namespace whoever has them (sock_diag(7), as
 * ss -ti): for servers that are not ours. */
#ifndef TESTBED_TRAFFIC_TCP_DIAG_H
#define TESTBED_TRAFFIC_TCP_DIAG_H

#include "testbed/traffic/tcp_sock.h"

#include <stddef.h>
#include <stdint.h>

struct tcp_diag {
    uint16_t local_port, peer_port;
    char congestion_control[TCP_SOCK_ALGORITHM_MAX]; /* empty: the kernel did not say */
    struct tcp_sock_info info;
};

/* A descriptor for the namespace of the calling thread, or ERR_OS with the cause. */
int tcp_diag_open(struct message *m);
/* The connections over IPv4 from a local port, those that are not established yet, or have closed
 * their own side and wait for nothing but the peer, left out. Returns how many there are, of which
 * at most max are in out, or ERR_OS with the cause. */
int tcp_diag_list(int fd, uint16_t local_port, struct tcp_diag *out, size_t max, struct message *m);
/* One message of the answer, its netlink header included. Returns 0 or ERR_MALFORMED. */
int tcp_diag_parse(struct tcp_diag *out, const void *message, size_t len);

#endif
