/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/netns/chain.h"

#include "agents/base/err.h"
#include "testbed/netns/congestion.h"
#include "testbed/netns/iface.h"
#include "testbed/netns/netns.h"
#include "testbed/netns/qdisc.h"

#include <errno.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define QDISCS_MAX 32

/* Both sockets belong to the node's namespace for good, whoever uses them from where. */
struct node {
    int ns_fd, inet_fd;
    struct nl_sock *nl;
};

struct chain {
    struct topology topo;
    struct node nodes[TOPOLOGY_NODES];
    int ifindex[TOPOLOGY_IFACES_MAX];
    bool impaired; /* netem does more than delay, queues have their disciplines */
};

/* Runs inside a namespace just made. */
static int open_node(void *arg)
{
    struct node *n = arg;

    iface_disable_ipv6();
    n->inet_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    n->nl = nl_socket_alloc();
    if (n->inet_fd < 0 || !n->nl) {
        return ERR_OS;
    }
    return nl_connect(n->nl, NETLINK_ROUTE) ? ERR_OS : 0;
}

static int open_nodes(struct chain *c, struct message *m)
{
    for (size_t i = 0; i < c->topo.node_count; i++) {
        struct node *n = &c->nodes[i];

        n->ns_fd = netns_new(open_node, n);
        if (n->ns_fd < 0) {
            return message_set(m, ERR_OS, "%s: cannot create its namespace: %s",
                               topology_node_name((enum topology_node)i), strerror(errno));
        }
    }
    return 0;
}

static struct iface at(struct chain *c, size_t i)
{
    struct node *n = &c->nodes[c->topo.ifaces[i].node];

    return (struct iface){.nl = n->nl,
                          .inet_fd = n->inet_fd,
                          .ifindex = c->ifindex[i],
                          .name = c->topo.ifaces[i].name};
}

static int create_pairs(struct chain *c, struct message *m)
{
    for (size_t i = 0; i < c->topo.iface_count; i += 2) {
        const struct topology_iface *a = &c->topo.ifaces[i], *b = &c->topo.ifaces[i + 1];
        int rc = iface_create_pair(c->nodes[a->node].nl, a, b, c->nodes[b->node].ns_fd, m);

        for (size_t k = i; k < i + 2 && !rc; k++) {
            struct node *n = &c->nodes[c->topo.ifaces[k].node];

            c->ifindex[k] = iface_index(n->inet_fd, c->topo.ifaces[k].name);
            rc =
                c->ifindex[k] > 0 ? 0 : message_set(m, ERR_OS, "no interface: %s", strerror(errno));
        }
        if (rc) {
            return rc;
        }
    }
    return 0;
}

static int shape(const struct chain *c, const struct topology_iface *t, struct shape_netem *out,
                 struct message *m)
{
    const struct impair_config *asked = &c->topo.impair[t->link];
    const struct impair_config plain = {.delay = asked->delay};
    bps_t shaped = c->topo.paths[t->link].rate;
    bps_t rate = asked->rate > shaped ? asked->rate : shaped;
    int rc = shape_netem(out, rate, asked, m);

    return rc || c->impaired ? rc : shape_netem(out, rate, &plain, m);
}

static int set_netem(const struct chain *c, const struct iface *f, const struct topology_iface *t,
                     struct message *m)
{
    struct shape_netem netem;
    int rc = shape(c, t, &netem, m);

    return rc ? rc : qdisc_set_netem(f->nl, f->ifindex, &netem, m);
}

/* What disciplines the queue of a link's shaper now. */
static struct shape_aqm discipline(const struct chain *c, size_t link)
{
    struct shape_aqm aqm = c->topo.aqm[link];

    shape_aqm_follow(&aqm, &c->topo.tbf[link]);
    return c->impaired ? aqm : (struct shape_aqm){.kind = AQM_DROP_TAIL};
}

static int set_tbf(const struct chain *c, const struct iface *f, const struct topology_iface *t,
                   struct message *m)
{
    const struct shape_aqm aqm = discipline(c, t->link);

    return qdisc_set_tbf(f->nl, f->ifindex, &c->topo.tbf[t->link], &aqm, m);
}

static int configure(struct chain *c, size_t i, struct message *m)
{
    const struct topology_iface *t = &c->topo.ifaces[i];
    struct iface f = at(c, i);
    int rc = iface_prepare(&f, topology_forwards(&c->topo, t->node), m);

    if (!rc && t->tbf) {
        rc = set_tbf(c, &f, t, m);
    }
    if (!rc && t->netem) {
        rc = set_netem(c, &f, t, m);
    }
    if (!rc && t->ip) {
        rc = iface_add_address(&f, t->ip, m);
    }
    rc = rc ? rc : iface_up(&f, m);
    if (!rc && t->neighbour >= 0) {
        const struct topology_iface *peer = &c->topo.ifaces[t->neighbour];

        rc = iface_add_neighbour(&f, peer->ip, peer->mac, m);
    }
    return rc;
}

static int add_routes(struct chain *c, struct message *m)
{
    for (size_t i = 0; i < c->topo.route_count; i++) {
        const struct topology_route *r = &c->topo.routes[i];
        int rc = iface_add_route(c->nodes[r->node].nl, r, m);

        if (rc) {
            return rc;
        }
    }
    return 0;
}

int chain_congestion(struct chain *c, enum topology_node node, const char *name, struct message *m)
{
    for (size_t i = 0; i < c->topo.route_count; i++) {
        const struct topology_route *r = &c->topo.routes[i];
        int rc = r->node == node ? congestion_set_route(c->nodes[node].nl, r, name, m) : 0;

        if (rc) {
            return rc;
        }
    }
    return 0;
}

/* Prefixes the message with where it happened. */
static int located(struct message *m, const struct topology_iface *t)
{
    struct message cause = *m;
    int saved = errno;

    message_set(m, 0, "%s %s: %.180s", topology_node_name(t->node), t->name, cause.text);
    errno = saved;
    return ERR_OS;
}

static int build(struct chain *c, struct message *m)
{
    int rc = open_nodes(c, m);

    rc = rc ? rc : create_pairs(c, m);
    for (size_t i = 0; i < c->topo.iface_count && !rc; i++) {
        if (configure(c, i, m)) {
            return located(m, &c->topo.ifaces[i]);
        }
    }
    for (size_t i = 0; i < c->topo.node_count && !rc; i++) {
        struct iface lo = {.nl = c->nodes[i].nl, .inet_fd = c->nodes[i].inet_fd, .name = "lo"};

        lo.ifindex = iface_index(lo.inet_fd, lo.name);
        rc = iface_up(&lo, m);
    }
    for (size_t i = 0; i < c->topo.iface_count && !rc; i++) {
        struct iface f = at(c, i);

        if (iface_wait_running(&f, m)) {
            return located(m, &c->topo.ifaces[i]);
        }
    }
    return rc ? rc : add_routes(c, m);
}

int chain_up(struct chain **out, const struct topology *t, struct message *m)
{
    struct chain *c = calloc(1, sizeof *c);
    int rc;

    if (!c) {
        return message_set(m, ERR_NOMEM, "out of memory");
    }
    c->topo = *t;
    for (size_t i = 0; i < TOPOLOGY_NODES; i++) {
        c->nodes[i].ns_fd = c->nodes[i].inet_fd = -1;
    }
    rc = build(c, m);
    if (rc) {
        chain_down(c);
        return rc;
    }
    *out = c;
    return 0;
}

void chain_down(struct chain *c)
{
    int saved = errno;

    if (!c) {
        return;
    }
    for (size_t i = 0; i < TOPOLOGY_NODES; i++) {
        struct node *n = &c->nodes[i];

        if (n->nl) {
            nl_socket_free(n->nl);
        }
        if (n->inet_fd >= 0) {
            close(n->inet_fd);
        }
        if (n->ns_fd >= 0) {
            close(n->ns_fd);
        }
    }
    free(c);
    errno = saved;
}

const struct topology *chain_topology(const struct chain *c)
{
    return &c->topo;
}

int chain_ns(const struct chain *c, enum topology_node node)
{
    return c->nodes[node].ns_fd;
}

static int list_node(struct chain *c, enum topology_node node, struct qdisc *list,
                     struct message *m)
{
    int n = qdisc_list(c->nodes[node].nl, list, QDISCS_MAX);

    if (n < 0) {
        return message_set(m, ERR_OS, "%s: cannot list its qdiscs: %s", topology_node_name(node),
                           strerror(errno));
    }
    return n;
}

/* The interface of a node that a qdisc is on; NULL: none of ours. */
static const struct topology_iface *iface_of(const struct chain *c, enum topology_node node,
                                             const struct qdisc *q)
{
    for (size_t i = 0; i < c->topo.iface_count; i++) {
        if (c->topo.ifaces[i].node == node && c->ifindex[i] == q->ifindex) {
            return &c->topo.ifaces[i];
        }
    }
    return NULL;
}

/* Whether this is the tbf that shapes what a router sends, or the discipline of its queue, not one
 * that somebody has put elsewhere. */
static bool is_shaper(const struct chain *c, const struct topology_iface *i, const struct qdisc *q)
{
    const char *aqm = i && i->tbf ? shape_aqm_name(c->topo.aqm[i->link].kind) : NULL;

    return i && i->tbf && (!strcmp(q->kind, "tbf") || (aqm && !strcmp(q->kind, aqm)));
}

/* The interface that shapes a link, or delays it; -1: none does. */
static int find_iface(const struct chain *c, size_t link, bool netem)
{
    for (size_t i = 0; i < c->topo.iface_count; i++) {
        const struct topology_iface *t = &c->topo.ifaces[i];

        if (t->link == link && (netem ? t->netem : t->tbf)) {
            return (int)i;
        }
    }
    return -1;
}

/* The qdisc of that kind on an interface; all 0 when somebody has taken it away, or at -1. */
static int find_kind(struct chain *c, int iface, const char *kind, struct qdisc *out,
                     struct message *m)
{
    struct qdisc list[QDISCS_MAX];
    int n = iface < 0 ? 0 : list_node(c, c->topo.ifaces[iface].node, list, m);

    *out = (struct qdisc){0};
    for (int i = 0; i < n; i++) {
        if (list[i].ifindex == c->ifindex[iface] && !strcmp(list[i].kind, kind)) {
            *out = list[i];
            return 0;
        }
    }
    return n < 0 ? n : 0;
}

static int aqm_counters(struct chain *c, size_t link, struct chain_link *out, struct message *m)
{
    const char *kind = shape_aqm_name(discipline(c, link).kind);
    struct qdisc aqm;
    int rc = kind ? find_kind(c, find_iface(c, link, false), kind, &aqm, m) : 0;

    if (kind && !rc) {
        out->overflow_drops = aqm.overflow_drops;
        out->early_drops = out->drops - aqm.overflow_drops; /* it does not count all its own */
        out->marks = aqm.marks;
    }
    return rc;
}

int chain_link_counters(struct chain *c, size_t link, struct chain_link *out, struct message *m)
{
    struct qdisc tbf, netem;
    int rc = find_kind(c, find_iface(c, link, false), "tbf", &tbf, m);

    rc = rc ? rc : find_kind(c, find_iface(c, link, true), "netem", &netem, m);
    if (rc) {
        return rc;
    }
    *out = (struct chain_link){
        .in_packets = tbf.sent_packets + tbf.drops + tbf.backlog_packets,
        .out_packets = tbf.sent_packets,
        .out_bytes = tbf.sent_bytes,
        .drops = tbf.drops,
        .backlog_packets = tbf.backlog_packets,
        .delayed_packets = netem.sent_packets,
        .delayed_bytes = netem.sent_bytes,
    };
    return aqm_counters(c, link, out, m);
}

int chain_shaper(struct chain *c, size_t link, uint64_t *out_bytes, int64_t *backlog_bytes,
                 struct message *m)
{
    struct qdisc tbf;
    int rc = find_kind(c, find_iface(c, link, false), "tbf", &tbf, m);

    *out_bytes = tbf.sent_bytes;
    *backlog_bytes = tbf.backlog_bytes;
    return rc;
}

int chain_counters(struct chain *c, struct chain_link *forward, struct chain_link *backward,
                   struct message *m)
{
    int rc = chain_link_counters(c, TOPOLOGY_FORWARD, forward, m);

    return rc ? rc : chain_link_counters(c, TOPOLOGY_BACKWARD, backward, m);
}

static void note_loss(struct chain_losses *out, uint64_t count, enum topology_node node,
                      const char *name, const char *what)
{
    if (count && !out->where[0]) {
        snprintf(out->where, sizeof out->where, "%s %s %s", topology_node_name(node), name, what);
    }
}

static void count_drops(const struct chain *c, enum topology_node node, const struct qdisc *q,
                        struct chain_losses *out)
{
    const struct topology_iface *i = iface_of(c, node, q);
    uint64_t asked, unexpected = q->drops;

    if (is_shaper(c, i, q)) {
        return;
    }
    if (i && i->netem && !strcmp(q->kind, "netem")) {
        asked = shape_netem_losses_max(&c->topo.impair[i->link], q->sent_packets + q->drops);
        asked = asked < q->drops ? asked : q->drops;
        out->asked[i->link] += asked;
        unexpected -= asked;
    }
    out->qdisc_drops += unexpected;
    note_loss(out, unexpected, node, "qdisc", q->kind);
}

int chain_losses(struct chain *c, struct chain_losses *out, struct message *m)
{
    struct qdisc list[QDISCS_MAX];

    *out = (struct chain_losses){0};
    for (size_t i = 0; i < c->topo.node_count; i++) {
        enum topology_node node = (enum topology_node)i;
        int n = list_node(c, node, list, m);

        if (n < 0) {
            return n;
        }
        for (int k = 0; k < n; k++) {
            count_drops(c, node, &list[k], out);
        }
    }
    for (size_t i = 0; i < c->topo.iface_count; i++) {
        struct iface f = at(c, i);
        uint64_t drops;

        if (iface_drops(&f, &drops, m)) {
            return located(m, &c->topo.ifaces[i]);
        }
        out->iface_drops += drops;
        note_loss(out, drops, c->topo.ifaces[i].node, f.name, "interface");
    }
    return 0;
}

/* An interface that neither shapes nor delays has no queue: returns 1 with the kind of one. */
static int check_plain(struct chain *c, size_t i, struct message *m)
{
    struct qdisc list[QDISCS_MAX];
    int n = list_node(c, c->topo.ifaces[i].node, list, m);

    for (int k = 0; k < n; k++) {
        if (list[k].ifindex == c->ifindex[i] && strcmp(list[k].kind, "noqueue") != 0) {
            message_set(m, 0, "%s where no queue was", list[k].kind);
            return 1;
        }
    }
    return n < 0 ? n : 0;
}

static int check_iface(struct chain *c, size_t i, struct message *m)
{
    const struct topology_iface *t = &c->topo.ifaces[i];
    struct iface f = at(c, i);
    struct shape_netem netem;

    if (t->netem) {
        int rc = shape(c, t, &netem, m);

        return rc ? rc : qdisc_check_netem(f.nl, f.ifindex, &netem, m);
    }
    if (t->tbf) {
        const struct shape_aqm aqm = discipline(c, t->link);

        return qdisc_check_tbf(f.nl, f.ifindex, &c->topo.tbf[t->link], &aqm, m);
    }
    return check_plain(c, i, m);
}

int chain_impair(struct chain *c, struct message *m)
{
    c->impaired = true;
    for (size_t i = 0; i < c->topo.iface_count; i++) {
        const struct topology_iface *t = &c->topo.ifaces[i];
        struct iface f = at(c, i);
        bool aqm = t->tbf && discipline(c, t->link).kind != AQM_DROP_TAIL;
        int rc = aqm ? set_tbf(c, &f, t, m) : 0;

        rc = rc || !t->netem ? rc : set_netem(c, &f, t, m);
        if (rc) {
            return located(m, t);
        }
    }
    return 0;
}

int chain_changes(struct chain *c, struct chain_changes *out, struct message *m)
{
    *out = (struct chain_changes){0};
    for (size_t i = 0; i < c->topo.iface_count; i++) {
        const struct topology_iface *t = &c->topo.ifaces[i];
        int rc = check_iface(c, i, m);

        if (rc < 0) {
            return located(m, t);
        }
        if (rc && !out->count++) {
            snprintf(out->what, sizeof out->what, "%s %s: %.120s", topology_node_name(t->node),
                     t->name, m->text);
        }
    }
    return 0;
}

int chain_reshape(struct chain *c, size_t link, const struct shape_tbf *tbf, struct message *m)
{
    const struct shape_tbf before = c->topo.tbf[link];
    int i = find_iface(c, link, false);

    c->topo.tbf[link] = *tbf;
    if (i >= 0) {
        struct iface f = at(c, (size_t)i);

        if (set_tbf(c, &f, &c->topo.ifaces[i], m)) {
            c->topo.tbf[link] = before;
            return located(m, &c->topo.ifaces[i]);
        }
    }
    return 0;
}
