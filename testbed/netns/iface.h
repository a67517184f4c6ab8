/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One interface of a node: created, configured and read through the node's own sockets. All
 * functions return 0, or ERR_OS / ERR_NOMEM with the cause. */
#ifndef TESTBED_NETNS_IFACE_H
#define TESTBED_NETNS_IFACE_H

#include "agents/base/message.h"
#include "testbed/topology/topology.h"

#include <stdbool.h>
#include <stdint.h>

struct nl_sock;

struct iface {
    struct nl_sock *nl; /* of the interface's namespace, like inet_fd */
    int inet_fd, ifindex;
    const char *name;
};

/* Switches IPv6 off for interfaces yet to come in the calling thread's namespace, where /proc/sys
 * can be written; iface_prepare keeps it quiet where not. */
void iface_disable_ipv6(void);
/* A veth pair: a in the namespace of nl, b directly in the namespace b_ns. */
int iface_create_pair(struct nl_sock *nl, const struct topology_iface *a,
                      const struct topology_iface *b, int b_ns, struct message *m);
/* Index by name in the namespace of inet_fd; ERR_OS with errno when there is none. */
int iface_index(int inet_fd, const char *name);
/* Offloads off (and verified), no IPv6 addresses, IPv4 forwarding as told. */
int iface_prepare(const struct iface *f, bool forwarding, struct message *m);
int iface_up(const struct iface *f, struct message *m);
/* Waits until packets pass: once both ends of a pair are up the kernel switches their queueing
 * disciplines on from a work queue, and until then loses what is sent without a trace. */
int iface_wait_running(const struct iface *f, struct message *m);
int iface_add_address(const struct iface *f, uint32_t ip, struct message *m);
/* A permanent entry: the first packet never waits for ARP. */
int iface_add_neighbour(const struct iface *f, uint32_t ip, const uint8_t mac[6],
                        struct message *m);
int iface_add_route(struct nl_sock *nl, const struct topology_route *r, struct message *m);
/* Packets the interface lost by itself, in both directions. */
int iface_drops(const struct iface *f, uint64_t *out, struct message *m);

#endif
