/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/netns/iface.h"

#include "agents/base/err.h"
#include "testbed/netns/offload.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/neighbour.h>
#include <net/if.h>
#include <netlink/addr.h>
#include <netlink/errno.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/link/inet.h>
#include <netlink/route/link/inet6.h>
#include <netlink/route/link/veth.h>
#include <netlink/route/neighbour.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define PREFIX_BITS 24
#define TX_QUEUE_PACKETS 1000
#define RUNNING_TRIES 10000 /* each of 0.5 ms and more */

static int refused(struct message *m, const char *what, int nl_error)
{
    return message_set(m, ERR_OS, "cannot %s: %s%s", what, nl_geterror(nl_error),
                       nl_error == -NLE_PERM ? " (needs CAP_NET_ADMIN)" : "");
}

static int no_memory(struct message *m)
{
    return message_set(m, ERR_NOMEM, "out of memory");
}

static struct nl_addr *ip_addr(uint32_t ip, int prefix)
{
    uint32_t bytes = htonl(ip);
    struct nl_addr *a = nl_addr_build(AF_INET, &bytes, sizeof bytes);

    if (a) {
        nl_addr_set_prefixlen(a, prefix);
    }
    return a;
}

static struct nl_addr *mac_addr(const uint8_t mac[6])
{
    uint8_t copy[6]; /* nl_addr_build only reads, but asks for a plain pointer */

    memcpy(copy, mac, sizeof copy);
    return nl_addr_build(AF_LLC, copy, sizeof copy);
}

void iface_disable_ipv6(void)
{
    static const char *const paths[] = {"/proc/sys/net/ipv6/conf/all/disable_ipv6",
                                        "/proc/sys/net/ipv6/conf/default/disable_ipv6"};

    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        int fd = open(paths[i], O_WRONLY | O_CLOEXEC);

        if (fd >= 0) {
            (void)!write(fd, "1", 1);
            close(fd);
        }
    }
}

static int describe_end(struct rtnl_link *link, const struct topology_iface *t)
{
    struct nl_addr *mac = mac_addr(t->mac);

    if (!mac) {
        return -NLE_NOMEM;
    }
    rtnl_link_set_name(link, t->name);
    rtnl_link_set_mtu(link, TOPOLOGY_MTU);
    rtnl_link_set_txqlen(link, TX_QUEUE_PACKETS);
    rtnl_link_set_num_tx_queues(link, 1);
    rtnl_link_set_num_rx_queues(link, 1);
    rtnl_link_set_addr(link, mac);
    nl_addr_put(mac);
    return 0;
}

int iface_create_pair(struct nl_sock *nl, const struct topology_iface *a,
                      const struct topology_iface *b, int b_ns, struct message *m)
{
    struct rtnl_link *link = rtnl_link_veth_alloc(), *peer;
    int rc;

    if (!link) {
        return no_memory(m);
    }
    peer = rtnl_link_veth_get_peer(link);
    rtnl_link_set_ns_fd(peer, b_ns);
    rc = describe_end(link, a);
    rc = rc ? rc : describe_end(peer, b);
    rc = rc ? rc : rtnl_link_add(nl, link, NLM_F_CREATE | NLM_F_EXCL);
    rtnl_link_put(peer);
    rtnl_link_veth_release(link);
    return rc ? refused(m, "create a veth pair", rc) : 0;
}

int iface_index(int inet_fd, const char *name)
{
    struct ifreq r = {0};

    snprintf(r.ifr_name, sizeof r.ifr_name, "%s", name);
    return ioctl(inet_fd, SIOCGIFINDEX, &r) ? ERR_OS : r.ifr_ifindex;
}

/* Applies one change to the interface; takes over change. */
static int change_link(const struct iface *f, struct rtnl_link *change)
{
    struct rtnl_link *which = rtnl_link_alloc();
    int rc = -NLE_NOMEM;

    if (which) {
        rtnl_link_set_ifindex(which, f->ifindex);
        rc = rtnl_link_change(f->nl, which, change, 0);
        rtnl_link_put(which);
    }
    rtnl_link_put(change);
    return rc;
}

static int set_forwarding(const struct iface *f, bool on)
{
    struct rtnl_link *change = rtnl_link_alloc();

    if (!change) {
        return -NLE_NOMEM;
    }
    if (rtnl_link_inet_set_conf(change, IPV4_DEVCONF_FORWARDING, on)) {
        rtnl_link_put(change);
        return -NLE_NOMEM;
    }
    return change_link(f, change);
}

/* No link-local address, so no duplicate address detection and no router solicitation. */
static int silence_ipv6(const struct iface *f)
{
    struct rtnl_link *change = rtnl_link_alloc();
    int rc;

    if (!change) {
        return -NLE_NOMEM;
    }
    rc = rtnl_link_inet6_set_addr_gen_mode(change, rtnl_link_inet6_str2addrgenmode("none"));
    if (rc) {
        rtnl_link_put(change);
        return rc;
    }
    rc = change_link(f, change);
    return rc == -NLE_AF_NOSUPPORT ? 0 : rc; /* a kernel without IPv6 is as quiet */
}

int iface_prepare(const struct iface *f, bool forwarding, struct message *m)
{
    int rc = silence_ipv6(f);

    if (rc) {
        return refused(m, "keep IPv6 quiet", rc);
    }
    rc = set_forwarding(f, forwarding);
    if (rc) {
        return refused(m, "set forwarding", rc);
    }
    return offload_disable(f->inet_fd, f->name, m);
}

int iface_up(const struct iface *f, struct message *m)
{
    struct rtnl_link *change = rtnl_link_alloc();
    int rc;

    if (!change) {
        return no_memory(m);
    }
    rtnl_link_set_flags(change, IFF_UP);
    rc = change_link(f, change);
    return rc ? refused(m, "bring it up", rc) : 0;
}

int iface_wait_running(const struct iface *f, struct message *m)
{
    const struct timespec pause = {.tv_nsec = 500000};

    for (int i = 0; i < RUNNING_TRIES; i++) {
        struct rtnl_link *link;
        int rc = rtnl_link_get_kernel(f->nl, f->ifindex, NULL, &link);
        bool running;

        if (rc) {
            return refused(m, "read its state", rc);
        }
        /* set under the same lock and in the same step as the queueing discipline is switched on */
        running = rtnl_link_get_operstate(link) == rtnl_link_str2operstate("up");
        rtnl_link_put(link);
        if (running) {
            return 0;
        }
        nanosleep(&pause, NULL);
    }
    return message_set(m, ERR_OS, "it does not start to run");
}

int iface_add_address(const struct iface *f, uint32_t ip, struct message *m)
{
    struct rtnl_addr *a = rtnl_addr_alloc();
    struct nl_addr *local = ip_addr(ip, PREFIX_BITS);
    int rc = -NLE_NOMEM;

    if (a && local) {
        rtnl_addr_set_ifindex(a, f->ifindex);
        rc = rtnl_addr_set_local(a, local);
        rc = rc ? rc : rtnl_addr_add(f->nl, a, 0);
    }
    nl_addr_put(local);
    rtnl_addr_put(a);
    return rc ? refused(m, "add its address", rc) : 0;
}

int iface_add_neighbour(const struct iface *f, uint32_t ip, const uint8_t mac[6], struct message *m)
{
    struct rtnl_neigh *n = rtnl_neigh_alloc();
    struct nl_addr *dst = ip_addr(ip, 32), *ll = mac_addr(mac);
    int rc = -NLE_NOMEM;

    if (n && dst && ll) {
        rtnl_neigh_set_ifindex(n, f->ifindex);
        rtnl_neigh_set_lladdr(n, ll);
        rtnl_neigh_set_state(n, NUD_PERMANENT);
        rc = rtnl_neigh_set_dst(n, dst);
        rc = rc ? rc : rtnl_neigh_add(f->nl, n, NLM_F_CREATE | NLM_F_REPLACE);
    }
    nl_addr_put(dst);
    nl_addr_put(ll);
    rtnl_neigh_put(n);
    return rc ? refused(m, "add its neighbour", rc) : 0;
}

static int fill_route(struct rtnl_route *route, struct nl_addr *dst, struct nl_addr *via)
{
    struct rtnl_nexthop *hop = rtnl_route_nh_alloc();
    int rc;

    if (!hop) {
        return -NLE_NOMEM;
    }
    rtnl_route_nh_set_gateway(hop, via);
    rtnl_route_add_nexthop(route, hop); /* owns hop from here on */
    rc = rtnl_route_set_family(route, AF_INET);
    return rc ? rc : rtnl_route_set_dst(route, dst);
}

int iface_add_route(struct nl_sock *nl, const struct topology_route *r, struct message *m)
{
    struct rtnl_route *route = rtnl_route_alloc();
    struct nl_addr *dst = ip_addr(r->dst, r->dst ? PREFIX_BITS : 0), *via = ip_addr(r->via, 32);
    int rc = -NLE_NOMEM;

    if (route && dst && via) {
        rc = fill_route(route, dst, via);
        rc = rc ? rc : rtnl_route_add(nl, route, NLM_F_CREATE);
    }
    nl_addr_put(dst);
    nl_addr_put(via);
    rtnl_route_put(route);
    if (rc) {
        return message_set(m, ERR_OS, "%s: cannot add a route: %s", topology_node_name(r->node),
                           nl_geterror(rc));
    }
    return 0;
}

int iface_drops(const struct iface *f, uint64_t *out, struct message *m)
{
    struct rtnl_link *link;
    int rc = rtnl_link_get_kernel(f->nl, f->ifindex, NULL, &link);

    if (rc) {
        return refused(m, "read its counters", rc);
    }
    *out = rtnl_link_get_stat(link, RTNL_LINK_TX_DROPPED) +
           rtnl_link_get_stat(link, RTNL_LINK_RX_DROPPED) +
           rtnl_link_get_stat(link, RTNL_LINK_TX_ERRORS) +
           rtnl_link_get_stat(link, RTNL_LINK_RX_ERRORS);
    rtnl_link_put(link);
    return 0;
}
