/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/topology/topology.h"

#include "agents/base/err.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define NET(third) ((uint32_t)10 << 24 | (uint32_t)77 << 16 | (uint32_t)(third) << 8)
/* Routers and middles in line. */
#define LINE_MAX (2 * TOPOLOGY_SEGMENTS_MAX + 1)

/* The routers of bottleneck i are number i and the next. */
static const enum topology_node routers[TOPOLOGY_SEGMENTS_MAX + 1] = {
    TOPOLOGY_ROUTER1, TOPOLOGY_ROUTER2, TOPOLOGY_ROUTER3, TOPOLOGY_ROUTER4};
static const enum topology_node middles[TOPOLOGY_SEGMENTS_MAX] = {TOPOLOGY_MIDDLE, TOPOLOGY_MIDDLE2,
                                                                  TOPOLOGY_MIDDLE3};
static const enum topology_node entries[TOPOLOGY_SEGMENTS_MAX] = {
    TOPOLOGY_SENDER, TOPOLOGY_SENDER_AT2, TOPOLOGY_SENDER_AT3};
static const enum topology_node exits[TOPOLOGY_SEGMENTS_MAX - 1] = {TOPOLOGY_RECEIVER_AT2,
                                                                    TOPOLOGY_RECEIVER_AT3};
/* Nodes with so many bottlenecks in line; kind netem does without the middle of a single one. */
static const size_t node_counts[TOPOLOGY_SEGMENTS_MAX] = {TOPOLOGY_MIDDLE + 1,
                                                          TOPOLOGY_SENDER_AT2 + 1, TOPOLOGY_NODES};

/* Networks 10.77.x.0/24: of a bottleneck and its other half behind a middle that is a router, of
 * the hosts at a router. */
static const uint8_t wan_nets[TOPOLOGY_SEGMENTS_MAX] = {2, 12, 22};
static const uint8_t wan_east_nets[TOPOLOGY_SEGMENTS_MAX] = {4, 14, 24};
static const uint8_t entry_nets[TOPOLOGY_SEGMENTS_MAX] = {1, 11, 21};
static const uint8_t exit_nets[TOPOLOGY_SEGMENTS_MAX] = {13, 23, 3}; /* 3: of the last */

size_t topology_link(size_t segment, enum topology_direction d)
{
    return segment * TOPOLOGY_DIRECTIONS + d;
}

size_t topology_link_count(const struct topology *t)
{
    return t->segment_count * TOPOLOGY_DIRECTIONS;
}

const char *topology_link_name(size_t link)
{
    static const char *const names[TOPOLOGY_LINKS_MAX] = {"forward",   "backward", "forward2",
                                                          "backward2", "forward3", "backward3"};

    return names[link];
}

/* The interface of a router towards its bottleneck. */
static const char *wan_name(size_t segment)
{
    static const char *const names[TOPOLOGY_SEGMENTS_MAX] = {"wan", "wan2", "wan3"};

    return names[segment];
}

enum topology_node topology_entry(size_t segment)
{
    return entries[segment];
}

enum topology_node topology_exit(const struct topology *t, size_t segment)
{
    return segment + 1 == t->segment_count ? TOPOLOGY_RECEIVER : exits[segment];
}

enum topology_node topology_middle(size_t segment)
{
    return middles[segment];
}

bool topology_forwards(const struct topology *t, enum topology_node node)
{
    for (size_t i = 0; i <= t->segment_count; i++) {
        if (node == routers[i] ||
            (i < t->segment_count && node == middles[i] && t->kind == TOPOLOGY_NETEM)) {
            return true;
        }
    }
    return false;
}

/* ---- interfaces ---- */

static struct topology_iface *add_end(struct topology *t, enum topology_node node, const char *name,
                                      uint32_t ip)
{
    struct topology_iface *i = &t->ifaces[t->iface_count++];

    assert(t->iface_count <= TOPOLOGY_IFACES_MAX);
    *i = (struct topology_iface){
        .node = node,
        .mac = {0x02, 0x77, 0, 0, 0, (uint8_t)t->iface_count}, /* locally administered */
        .ip = ip,
        .neighbour = -1,
    };
    snprintf(i->name, sizeof i->name, "%s", name);
    return i;
}

/* A host at a router, whose interface for it has that name. */
static void add_host(struct topology *t, enum topology_node host, enum topology_node router,
                     const char *name, uint8_t net)
{
    bool enters =
        host == TOPOLOGY_SENDER || host == TOPOLOGY_SENDER_AT2 || host == TOPOLOGY_SENDER_AT3;

    if (enters) {
        add_end(t, host, "lan", NET(net) + 1);
        add_end(t, router, name, NET(net) + 2);
    } else {
        add_end(t, router, name, NET(net) + 1);
        add_end(t, host, "lan", NET(net) + 2);
    }
}

static void shapes(struct topology_iface *i, size_t segment, enum topology_direction d)
{
    i->tbf = true;
    i->link = topology_link(segment, d);
}

static void delays(struct topology_iface *i, size_t segment, enum topology_direction d)
{
    i->netem = true;
    i->link = topology_link(segment, d);
}

/* A bottleneck with a node between its routers: a delay line without addresses, or a router. */
static void add_segment_around(struct topology *t, size_t k)
{
    bool netem = t->kind == TOPOLOGY_NETEM;
    const char *wan = wan_name(k);
    uint32_t east_net = NET(netem ? wan_east_nets[k] : wan_nets[k]);
    struct topology_iface *west, *east;

    shapes(add_end(t, routers[k], wan, NET(wan_nets[k]) + 1), k, TOPOLOGY_FORWARD);
    west = add_end(t, middles[k], "west", netem ? NET(wan_nets[k]) + 2 : 0);
    east = add_end(t, middles[k], "east", netem ? east_net + 1 : 0);
    shapes(add_end(t, routers[k + 1], wan, east_net + 2), k, TOPOLOGY_BACKWARD);
    if (netem) {
        delays(west, k, TOPOLOGY_BACKWARD);
        delays(east, k, TOPOLOGY_FORWARD);
    }
}

static void add_segment(struct topology *t, size_t k)
{
    if (t->kind == TOPOLOGY_WIRE || t->segment_count > 1) {
        add_segment_around(t, k);
        return;
    }
    shapes(add_end(t, routers[k], wan_name(k), NET(wan_nets[k]) + 1), k, TOPOLOGY_FORWARD);
    shapes(add_end(t, routers[k + 1], wan_name(k), NET(wan_nets[k]) + 2), k, TOPOLOGY_BACKWARD);
}

static void add_ifaces(struct topology *t)
{
    size_t last = t->segment_count - 1;

    add_host(t, TOPOLOGY_SENDER, routers[0], "lan", entry_nets[0]);
    for (size_t k = 0; k <= last; k++) {
        add_segment(t, k);
        if (k < last) {
            add_host(t, exits[k], routers[k + 1], "out", exit_nets[k]);
            add_host(t, entries[k + 1], routers[k + 1], "in", entry_nets[k + 1]);
        }
    }
    add_host(t, TOPOLOGY_RECEIVER, routers[last + 1], "lan", exit_nets[TOPOLOGY_SEGMENTS_MAX - 1]);
    if (t->kind == TOPOLOGY_NETEM && t->segment_count == 1) {
        /* each at the outer interface of the router behind the bottleneck */
        delays(&t->ifaces[topology_iface(t, TOPOLOGY_ROUTER1, "lan")], 0, TOPOLOGY_BACKWARD);
        delays(&t->ifaces[topology_iface(t, TOPOLOGY_ROUTER2, "lan")], 0, TOPOLOGY_FORWARD);
    }
}

/* On one IP link there are exactly two addresses of one /24. */
static void find_neighbours(struct topology *t)
{
    for (size_t a = 0; a < t->iface_count; a++) {
        for (size_t b = 0; b < t->iface_count; b++) {
            if (a != b && t->ifaces[a].ip && (t->ifaces[a].ip ^ t->ifaces[b].ip) >> 8 == 0) {
                t->ifaces[a].neighbour = (int)b;
            }
        }
    }
}

/* ---- routes ---- */

static bool is_host(const struct topology *t, enum topology_node node)
{
    return !topology_forwards(t, node) && topology_iface(t, node, "lan") >= 0;
}

static void add_route(struct topology *t, enum topology_node node, uint32_t dst, uint32_t via)
{
    assert(t->route_count < TOPOLOGY_ROUTES_MAX);
    t->routes[t->route_count++] = (struct topology_route){node, dst, via};
}

/* The address of neighbour on the link that it has with a node; 0: they have none. */
static uint32_t via(const struct topology *t, enum topology_node node, enum topology_node neighbour)
{
    for (size_t i = 0; i < t->iface_count; i++) {
        int n = t->ifaces[i].neighbour;

        if (t->ifaces[i].node == node && n >= 0 && t->ifaces[n].node == neighbour) {
            return t->ifaces[n].ip;
        }
    }
    return 0;
}

/* All that forwards, from the sender's side to the receiver's. */
static size_t line_up(const struct topology *t, enum topology_node line[LINE_MAX])
{
    size_t n = 0;

    for (size_t i = 0; i <= t->segment_count; i++) {
        line[n++] = routers[i];
        if (i < t->segment_count && topology_iface(t, middles[i], "west") >= 0 &&
            topology_forwards(t, middles[i])) {
            line[n++] = middles[i];
        }
    }
    return n;
}

/* What is for the host goes along the line to the router that has it. */
static void add_routes_to(struct topology *t, const struct topology_iface *host,
                          const enum topology_node *line, size_t n)
{
    enum topology_node router = t->ifaces[host->neighbour].node;
    size_t at = 0;

    while (line[at] != router) {
        at++;
    }
    add_route(t, host->node, 0, t->ifaces[host->neighbour].ip);
    for (size_t i = 0; i < n; i++) {
        if (i != at) {
            add_route(t, line[i], host->ip & ~UINT32_C(0xff),
                      via(t, line[i], line[i < at ? i + 1 : i - 1]));
        }
    }
}

static void add_routes(struct topology *t)
{
    enum topology_node line[LINE_MAX];
    size_t n = line_up(t, line);

    for (size_t i = 0; i < t->iface_count; i++) {
        if (is_host(t, t->ifaces[i].node)) {
            add_routes_to(t, &t->ifaces[i], line, n);
        }
    }
}

/* ---- all ---- */

int topology_init_line(struct topology *t, enum topology_kind kind, const struct shape_path *paths,
                       size_t count, struct message *m)
{
    if (count < 1 || count > TOPOLOGY_SEGMENTS_MAX) {
        return message_set(m, ERR_CONFIG, "%zu bottlenecks in line; allowed: 1 to %d", count,
                           TOPOLOGY_SEGMENTS_MAX);
    }
    *t = (struct topology){.kind = kind,
                           .segment_count = count,
                           .node_count = count == 1 && kind == TOPOLOGY_NETEM
                                             ? TOPOLOGY_MIDDLE
                                             : node_counts[count - 1]};
    add_ifaces(t);
    find_neighbours(t);
    add_routes(t);
    for (size_t i = 0; i < topology_link_count(t); i++) {
        const struct shape_path *path = &paths[i / TOPOLOGY_DIRECTIONS];
        int rc;

        t->paths[i] = *path;
        t->impair[i] = (struct impair_config){.delay = path->delay, .rate = path->rate};
        rc = shape_tbf(&t->tbf[i], path, m);
        if (rc) {
            return rc;
        }
    }
    return 0;
}

int topology_init(struct topology *t, enum topology_kind kind, const struct shape_path *path,
                  struct message *m)
{
    return topology_init_line(t, kind, path, 1, m);
}

int topology_set_rate(struct topology *t, size_t link, bps_t rate, int64_t queue_bytes,
                      struct message *m)
{
    t->paths[link].rate = rate;
    t->paths[link].queue_bytes = queue_bytes;
    return shape_tbf(&t->tbf[link], &t->paths[link], m);
}

void topology_wire_shapes(struct topology *t)
{
    assert(t->kind == TOPOLOGY_WIRE);
    for (size_t i = 0; i < t->iface_count; i++) {
        t->ifaces[i].tbf = false;
    }
}

const char *topology_node_name(enum topology_node node)
{
    static const char *const names[TOPOLOGY_NODES] = {
        [TOPOLOGY_SENDER] = "sender",         [TOPOLOGY_ROUTER1] = "router1",
        [TOPOLOGY_ROUTER2] = "router2",       [TOPOLOGY_RECEIVER] = "receiver",
        [TOPOLOGY_MIDDLE] = "middle",         [TOPOLOGY_MIDDLE2] = "middle2",
        [TOPOLOGY_ROUTER3] = "router3",       [TOPOLOGY_RECEIVER_AT2] = "receiver-at2",
        [TOPOLOGY_SENDER_AT2] = "sender-at2", [TOPOLOGY_MIDDLE3] = "middle3",
        [TOPOLOGY_ROUTER4] = "router4",       [TOPOLOGY_RECEIVER_AT3] = "receiver-at3",
        [TOPOLOGY_SENDER_AT3] = "sender-at3"};

    return node < TOPOLOGY_NODES ? names[node] : "?";
}

int topology_iface(const struct topology *t, enum topology_node node, const char *name)
{
    for (size_t i = 0; i < t->iface_count; i++) {
        if (t->ifaces[i].node == node && !strcmp(t->ifaces[i].name, name)) {
            return (int)i;
        }
    }
    return -1;
}

struct addr topology_host(const struct topology *t, enum topology_node host, uint16_t port)
{
    int i = topology_iface(t, host, "lan");
    struct addr a = {.family = 4, .port = port};

    assert(i >= 0);
    for (int byte = 0; byte < 4; byte++) {
        a.ip[byte] = (uint8_t)(t->ifaces[i].ip >> (24 - 8 * byte));
    }
    return a;
}
