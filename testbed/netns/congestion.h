/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which congestion control the kernel's TCP has for all that leaves a node, whoever opens the
 * sockets: an attribute of its route (ip-route(8): congctl). Unlike the namespace's sysctl it also
 * takes what the host keeps for the privileged (tcp_allowed_congestion_control), and it concerns
 * one direction alone. */
#ifndef TESTBED_NETNS_CONGESTION_H
#define TESTBED_NETNS_CONGESTION_H

#include "agents/base/message.h"
#include "testbed/topology/topology.h"

struct nl_sock;

/* Gives a route that exists, in the namespace of nl, the congestion control. Returns 0, or ERR_OS
 * with the cause. */
int congestion_set_route(struct nl_sock *nl, const struct topology_route *r, const char *name,
                         struct message *m);

#endif
