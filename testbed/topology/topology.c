/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/topology/topology.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define IP(a, b, c, d)                                                                             \
    ((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (uint32_t)(d))

/* Host interfaces are "lan", what lies between the routers is "wan"; the middle node has the two
 * sides "west" and "east". */
struct end {
    enum topology_node node;
    const char *name;
    uint32_t ip;
};

static const struct end netem_ends[][2] = {
    {{TOPOLOGY_SENDER, "lan", IP(10, 77, 1, 1)}, {TOPOLOGY_ROUTER1, "lan", IP(10, 77, 1, 2)}},
    {{TOPOLOGY_ROUTER1, "wan", IP(10, 77, 2, 1)}, {TOPOLOGY_ROUTER2, "wan", IP(10, 77, 2, 2)}},
    {{TOPOLOGY_ROUTER2, "lan", IP(10, 77, 3, 1)}, {TOPOLOGY_RECEIVER, "lan", IP(10, 77, 3, 2)}},
};

static const struct end wire_ends[][2] = {
    {{TOPOLOGY_SENDER, "lan", IP(10, 77, 1, 1)}, {TOPOLOGY_ROUTER1, "lan", IP(10, 77, 1, 2)}},
    {{TOPOLOGY_ROUTER1, "wan", IP(10, 77, 2, 1)}, {TOPOLOGY_MIDDLE, "west", 0}},
    {{TOPOLOGY_MIDDLE, "east", 0}, {TOPOLOGY_ROUTER2, "wan", IP(10, 77, 2, 2)}},
    {{TOPOLOGY_ROUTER2, "lan", IP(10, 77, 3, 1)}, {TOPOLOGY_RECEIVER, "lan", IP(10, 77, 3, 2)}},
};

static const struct topology_route routes[] = {
    {TOPOLOGY_SENDER, 0, IP(10, 77, 1, 2)},
    {TOPOLOGY_ROUTER1, IP(10, 77, 3, 0), IP(10, 77, 2, 2)},
    {TOPOLOGY_ROUTER2, IP(10, 77, 1, 0), IP(10, 77, 2, 1)},
    {TOPOLOGY_RECEIVER, 0, IP(10, 77, 3, 1)},
};

static void add_end(struct topology *t, const struct end *e)
{
    struct topology_iface *i = &t->ifaces[t->iface_count];
    bool wan = !strcmp(e->name, "wan");

    *i = (struct topology_iface){
        .node = e->node,
        .mac = {0x02, 0x77, 0, 0, 0, (uint8_t)(t->iface_count + 1)}, /* locally administered */
        .ip = e->ip,
        .neighbour = -1,
        .tbf = wan,
        .netem = t->kind == TOPOLOGY_NETEM && topology_is_router(e->node) && !wan,
    };
    snprintf(i->name, sizeof i->name, "%s", e->name);
    t->iface_count++;
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

int topology_init(struct topology *t, enum topology_kind kind, const struct shape_path *path,
                  struct message *m)
{
    bool wire = kind == TOPOLOGY_WIRE;
    const struct end(*ends)[2] = wire ? wire_ends : netem_ends;
    size_t links =
        wire ? sizeof wire_ends / sizeof wire_ends[0] : sizeof netem_ends / sizeof netem_ends[0];

    *t = (struct topology){.kind = kind, .node_count = wire ? TOPOLOGY_NODES : TOPOLOGY_MIDDLE};
    for (size_t i = 0; i < links; i++) {
        add_end(t, &ends[i][0]);
        add_end(t, &ends[i][1]);
    }
    find_neighbours(t);
    t->route_count = sizeof routes / sizeof routes[0];
    memcpy(t->routes, routes, sizeof routes);
    for (int i = 0; i < TOPOLOGY_DIRECTIONS; i++) {
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

int topology_set_rate(struct topology *t, enum topology_direction d, bps_t rate,
                      int64_t queue_bytes, struct message *m)
{
    t->paths[d].rate = rate;
    t->paths[d].queue_bytes = queue_bytes;
    return shape_tbf(&t->tbf[d], &t->paths[d], m);
}

enum topology_direction topology_shaped_by(enum topology_node router)
{
    return router == TOPOLOGY_ROUTER1 ? TOPOLOGY_FORWARD : TOPOLOGY_BACKWARD;
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
    switch (node) {
    case TOPOLOGY_SENDER: return "sender";
    case TOPOLOGY_ROUTER1: return "router1";
    case TOPOLOGY_ROUTER2: return "router2";
    case TOPOLOGY_RECEIVER: return "receiver";
    case TOPOLOGY_MIDDLE: return "wire";
    case TOPOLOGY_NODES: break;
    }
    return "?";
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

bool topology_is_router(enum topology_node node)
{
    return node == TOPOLOGY_ROUTER1 || node == TOPOLOGY_ROUTER2;
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
