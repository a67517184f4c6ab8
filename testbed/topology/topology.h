/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The chain sender - router 1 - router 2 - receiver as data: nodes, interfaces, addresses, routes,
 * and which interface shapes or delays. Nothing here touches the system; testbed/netns makes it
 * real. Namespaces are anonymous, so equal names and addresses in two runs never meet.
 *
 * With further bottlenecks in line (segments, counted from 0) there is a router more for each, and
 * every router between two of them has two hosts of its own: a receiver, where flows end that leave
 * there, and a sender, where flows begin that come in there. */
#ifndef TESTBED_TOPOLOGY_TOPOLOGY_H
#define TESTBED_TOPOLOGY_TOPOLOGY_H

#include "agents/base/addr.h"
#include "testbed/link/impair.h"
#include "testbed/topology/shape.h"
#include "testbed/topology/shape_aqm.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOPOLOGY_SEGMENTS_MAX 3
#define TOPOLOGY_IFACES_MAX 24
#define TOPOLOGY_ROUTES_MAX 48
#define TOPOLOGY_MTU 1500

enum topology_kind {
    TOPOLOGY_NETEM, /* netem delays: on the routers' outer interfaces, or with several bottlenecks
                       on both interfaces of a further router within each */
    TOPOLOGY_WIRE,  /* a further node between the routers of a bottleneck delays in user space */
};

/* A topology has the first node_count of them. */
enum topology_node {
    TOPOLOGY_SENDER,
    TOPOLOGY_ROUTER1,
    TOPOLOGY_ROUTER2,
    TOPOLOGY_RECEIVER, /* behind the last bottleneck */
    TOPOLOGY_MIDDLE,   /* only with TOPOLOGY_WIRE or several bottlenecks */
    /* from two bottlenecks on */
    TOPOLOGY_MIDDLE2,
    TOPOLOGY_ROUTER3,
    TOPOLOGY_RECEIVER_AT2, /* both at router 2 */
    TOPOLOGY_SENDER_AT2,
    /* with three */
    TOPOLOGY_MIDDLE3,
    TOPOLOGY_ROUTER4,
    TOPOLOGY_RECEIVER_AT3,
    TOPOLOGY_SENDER_AT3,
    TOPOLOGY_NODES,
};

enum topology_direction {
    TOPOLOGY_FORWARD, /* sender to receiver */
    TOPOLOGY_BACKWARD,
    TOPOLOGY_DIRECTIONS,
};

/* A link is one direction of one bottleneck. Those of the first are numbered as the directions are,
 * those of the second follow, and so on. */
#define TOPOLOGY_LINKS_MAX (TOPOLOGY_SEGMENTS_MAX * TOPOLOGY_DIRECTIONS)

/* Interfaces 2i and 2i+1 are the two ends of one veth pair. */
struct topology_iface {
    enum topology_node node;
    char name[16];
    uint8_t mac[6];
    uint32_t ip;   /* host order; 0: no address (the middle node's) */
    int neighbour; /* index of the interface at the other end of the IP link, -1: none */
    bool tbf, netem;
    size_t link; /* with tbf or netem: of what it sends */
};

/* dst/24, or the default route when dst is 0. */
struct topology_route {
    enum topology_node node;
    uint32_t dst, via; /* host order */
};

struct topology {
    enum topology_kind kind;
    size_t node_count, segment_count, iface_count, route_count;
    struct topology_iface ifaces[TOPOLOGY_IFACES_MAX];
    struct topology_route routes[TOPOLOGY_ROUTES_MAX];
    /* by link; those of bottlenecks that are not there are empty */
    struct shape_path paths[TOPOLOGY_LINKS_MAX];
    /* Delay and what else happens behind the bottleneck. topology_init sets the path's delay; who
     * wants more sets it afterwards. */
    struct impair_config impair[TOPOLOGY_LINKS_MAX];
    struct shape_tbf tbf[TOPOLOGY_LINKS_MAX];
    /* What disciplines the queues of the shapers; topology_init leaves them tail drop. */
    struct shape_aqm aqm[TOPOLOGY_LINKS_MAX];
};

/* The link of that direction of a bottleneck, counted from 0. */
size_t topology_link(size_t segment, enum topology_direction d);
/* How many links there are: their numbers are 0 and up. */
size_t topology_link_count(const struct topology *t);
/* "forward", "backward", "forward2" and so on. */
const char *topology_link_name(size_t link);
/* Lays out the chain with one bottleneck, with a path that is alike in both directions. Returns 0,
 * or ERR_CONFIG with what is wrong about the path. */
int topology_init(struct topology *t, enum topology_kind kind, const struct shape_path *path,
                  struct message *m);
/* The same with 1 to TOPOLOGY_SEGMENTS_MAX bottlenecks in line, from the sender to the receiver. */
int topology_init_line(struct topology *t, enum topology_kind kind, const struct shape_path *paths,
                       size_t count, struct message *m);
/* Gives one link a rate and a queue of its own. Likewise. */
int topology_set_rate(struct topology *t, size_t link, bps_t rate, int64_t queue_bytes,
                      struct message *m);
/* Of kind wire: rate and queue are the middle nodes', too, and no router has a shaper. */
void topology_wire_shapes(struct topology *t);
const char *topology_node_name(enum topology_node node);
/* Index of a node's interface by name ("lan", "wan", "wan2", "in", "out", "west", "east"); -1:
 * none. */
int topology_iface(const struct topology *t, enum topology_node node, const char *name);
/* Whether a node forwards IP packets. */
bool topology_forwards(const struct topology *t, enum topology_node node);
/* Where what crosses the bottlenecks from segment on begins, and where what crosses them up to
 * segment ends, in the direction forward; and the node within a bottleneck. */
enum topology_node topology_entry(size_t segment);
enum topology_node topology_exit(const struct topology *t, size_t segment);
enum topology_node topology_middle(size_t segment);
/* The end host's address with port. */
struct addr topology_host(const struct topology *t, enum topology_node host, uint16_t port);

#endif
