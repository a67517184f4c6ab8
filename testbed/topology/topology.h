/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The chain sender - router 1 - router 2 - receiver as data: nodes, interfaces, addresses, routes,
 * and which interface shapes or delays. Nothing here touches the system; testbed/netns makes it
 * real. Namespaces are anonymous, so equal names and addresses in two runs never meet. */
#ifndef TESTBED_TOPOLOGY_TOPOLOGY_H
#define TESTBED_TOPOLOGY_TOPOLOGY_H

#include "agents/base/addr.h"
#include "testbed/link/impair.h"
#include "testbed/topology/shape.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOPOLOGY_IFACES_MAX 8
#define TOPOLOGY_ROUTES_MAX 4
#define TOPOLOGY_MTU 1500

enum topology_kind {
    TOPOLOGY_NETEM, /* the routers' outer interfaces delay by netem */
    TOPOLOGY_WIRE,  /* a fifth node between the routers delays in user space */
};

enum topology_node {
    TOPOLOGY_SENDER,
    TOPOLOGY_ROUTER1,
    TOPOLOGY_ROUTER2,
    TOPOLOGY_RECEIVER,
    TOPOLOGY_MIDDLE, /* only with TOPOLOGY_WIRE */
    TOPOLOGY_NODES,
};

enum topology_direction {
    TOPOLOGY_FORWARD, /* sender to receiver */
    TOPOLOGY_BACKWARD,
    TOPOLOGY_DIRECTIONS,
};

/* Interfaces 2i and 2i+1 are the two ends of one veth pair. */
struct topology_iface {
    enum topology_node node;
    char name[16];
    uint8_t mac[6];
    uint32_t ip;   /* host order; 0: no address (the middle node's) */
    int neighbour; /* index of the interface at the other end of the IP link, -1: none */
    bool tbf, netem;
};

/* dst/24, or the default route when dst is 0. */
struct topology_route {
    enum topology_node node;
    uint32_t dst, via; /* host order */
};

struct topology {
    enum topology_kind kind;
    size_t node_count, iface_count, route_count;
    struct topology_iface ifaces[TOPOLOGY_IFACES_MAX];
    struct topology_route routes[TOPOLOGY_ROUTES_MAX];
    struct shape_path paths[TOPOLOGY_DIRECTIONS];
    /* Delay and what else happens behind the bottleneck. topology_init sets the path's delay; who
     * wants more sets it afterwards. */
    struct impair_config impair[TOPOLOGY_DIRECTIONS];
    struct shape_tbf tbf[TOPOLOGY_DIRECTIONS];
};

/* The direction that a router's outer interface shapes. */
enum topology_direction topology_shaped_by(enum topology_node router);
/* Lays out the chain, with a path that is alike in both directions. Returns 0, or ERR_CONFIG with
 * what is wrong about the path. */
int topology_init(struct topology *t, enum topology_kind kind, const struct shape_path *path,
                  struct message *m);
/* Gives one direction a rate and a queue of its own. Likewise. */
int topology_set_rate(struct topology *t, enum topology_direction d, bps_t rate,
                      int64_t queue_bytes, struct message *m);
/* Of kind wire: rate and queue are the middle node's, too, and no router has a shaper. */
void topology_wire_shapes(struct topology *t);
const char *topology_node_name(enum topology_node node);
/* Index of a node's interface by name ("lan", "wan", "west", "east"); -1: none. */
int topology_iface(const struct topology *t, enum topology_node node, const char *name);
bool topology_is_router(enum topology_node node);
/* The end host's address with port. */
struct addr topology_host(const struct topology *t, enum topology_node host, uint16_t port);

#endif
