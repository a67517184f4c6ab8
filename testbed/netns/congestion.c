/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/netns/congestion.h"

#include "agents/base/err.h"

#include <arpa/inet.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <sys/socket.h>

#define NETWORK_BITS 24

/* libnl's routes know only metrics that are numbers, so the message is put together here. */
static int fill(struct nl_msg *msg, const struct topology_route *r, const char *name)
{
    struct rtmsg head = {.rtm_family = AF_INET,
                         .rtm_dst_len = r->dst ? NETWORK_BITS : 0,
                         .rtm_table = RT_TABLE_MAIN,
                         .rtm_protocol = RTPROT_STATIC,
                         .rtm_scope = RT_SCOPE_UNIVERSE,
                         .rtm_type = RTN_UNICAST};
    struct nlattr *metrics;
    int rc = nlmsg_append(msg, &head, sizeof head, NLMSG_ALIGNTO);

    if (!rc && r->dst) {
        rc = nla_put_u32(msg, RTA_DST, htonl(r->dst));
    }
    rc = rc ? rc : nla_put_u32(msg, RTA_GATEWAY, htonl(r->via));
    metrics = rc ? NULL : nla_nest_start(msg, RTA_METRICS);
    if (!metrics) {
        return rc ? rc : -NLE_NOMEM;
    }
    rc = nla_put_string(msg, RTAX_CC_ALGO, name);
    return rc ? rc : nla_nest_end(msg, metrics);
}

int congestion_set_route(struct nl_sock *nl, const struct topology_route *r, const char *name,
                         struct message *m)
{
    struct nl_msg *msg = nlmsg_alloc_simple(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE);
    int rc = -NLE_NOMEM;

    if (msg) {
        rc = fill(msg, r, name);
        if (rc) {
            nlmsg_free(msg);
        } else {
            rc = nl_send_sync(nl, msg); /* owns msg */
        }
    }
    return rc ? message_set(m, ERR_OS, "%s: congestion control %s on its route: %s",
                            topology_node_name(r->node), name, nl_geterror(rc))
              : 0;
}
