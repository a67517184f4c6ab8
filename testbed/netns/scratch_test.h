/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests of single qdiscs: a namespace of its own, and a netlink socket in it. */
#ifndef TESTBED_NETNS_SCRATCH_TEST_H
#define TESTBED_NETNS_SCRATCH_TEST_H

#include "agents/base/err.h"
#include "testbed/netns/netns.h"

#include <netlink/netlink.h>
#include <unistd.h>

struct scratch {
    int ns; /* negative: none is to be had */
    struct nl_sock *nl;
};

static inline int scratch_open_netlink(void *arg)
{
    struct nl_sock **sk = arg;

    *sk = nl_socket_alloc();
    return !*sk || nl_connect(*sk, NETLINK_ROUTE) ? ERR_OS : 0;
}

static inline struct scratch scratch_open(void)
{
    struct scratch s = {.nl = NULL};

    s.ns = netns_new(scratch_open_netlink, &s.nl);
    return s;
}

static inline void scratch_close(struct scratch *s)
{
    nl_socket_free(s->nl);
    close(s->ns);
}

#endif
