/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/netns_run.h"

#include "agents/base/err.h"
#include "testbed/netns/netns.h"
#include "testbed/wire/realtime.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PORT 9 /* not the run's: captures do not see it */
#define PACKETS 8
#define SPACING_MIN (2 * NS_PER_MS)
#define PAYLOAD_BYTES 1000
#define PATIENCE NS_PER_S /* beyond the delay */

struct end {
    int fd;
    struct sockaddr_in address;
};

/* Runs inside the end's namespace. */
static int open_end(void *arg)
{
    struct end *e = arg;

    e->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    return e->fd < 0 || bind(e->fd, (struct sockaddr *)&e->address, sizeof e->address) ? ERR_OS : 0;
}

/* Takes one of our packets if there is one; returns its one-way delay or NS_NEVER. */
static ns_t take(struct end *e)
{
    uint8_t data[PAYLOAD_BYTES];
    ns_t sent;

    if (recv(e->fd, data, sizeof data, 0) != sizeof data) {
        return NS_NEVER;
    }
    memcpy(&sent, data, sizeof sent);
    return realtime_mono() - sent;
}

static int give(struct end *from, const struct end *to)
{
    uint8_t data[PAYLOAD_BYTES] = {0};
    ns_t now = realtime_mono();

    memcpy(data, &now, sizeof now);
    return sendto(from->fd, data, sizeof data, 0, (const struct sockaddr *)&to->address,
                  sizeof to->address) == sizeof data
               ? 0
               : ERR_OS;
}

/* So far apart that the one before has left the shaper: the queue may have room for one only. */
static ns_t spacing_of(const struct shape_path *p)
{
    ns_t each = rate_duration(p->rate, PAYLOAD_BYTES + RATE_UDP_IP_OVERHEAD_BYTES +
                                           RATE_ETHERNET_OVERHEAD_BYTES);

    return ns_max(SPACING_MIN, each + each / 4);
}

/* Of the bottlenecks first to last. */
static ns_t longest_delay(const struct topology *t, size_t first, size_t last)
{
    ns_t sum = 0;

    for (size_t k = first; k <= last; k++) {
        sum += ns_max(t->impair[topology_link(k, TOPOLOGY_FORWARD)].delay,
                      t->impair[topology_link(k, TOPOLOGY_BACKWARD)].delay);
    }
    return sum;
}

static ns_t longest_spacing(const struct topology *t, size_t first, size_t last)
{
    ns_t longest = 0;

    for (size_t i = topology_link(first, TOPOLOGY_FORWARD);
         i <= topology_link(last, TOPOLOGY_BACKWARD); i++) {
        longest = ns_max(longest, spacing_of(&t->paths[i]));
    }
    return longest;
}

static int exchange(struct netns_run *r, size_t first, size_t last, struct end ends[2])
{
    ns_t spacing = longest_spacing(&r->topo, first, last), next = realtime_mono(),
         deadline = next + PACKETS * spacing + longest_delay(&r->topo, first, last) + PATIENCE;
    int sent = 0, got[2] = {0}, all = PACKETS;

    r->timing.warm_up_owd = NS_NEVER;
    while (got[0] < all || got[1] < all) {
        struct pollfd p[2] = {{.fd = ends[0].fd, .events = POLLIN},
                              {.fd = ends[1].fd, .events = POLLIN}};
        ns_t now = realtime_mono();
        struct timespec left;

        if (now >= deadline) {
            return message_set(r->m, ERR_OS,
                               "the path does not carry: of %d packets %d went forward, %d back",
                               all, got[1], got[0]);
        }
        if (sent < all && now >= next) {
            if (give(&ends[0], &ends[1]) || give(&ends[1], &ends[0])) {
                return message_set(r->m, ERR_OS, "warm-up: %s", strerror(errno));
            }
            sent++;
            next = realtime_mono() + spacing;
        }
        left = realtime_timespec(ns_max((sent < all ? next : deadline) - realtime_mono(), 0));
        (void)ppoll(p, 2, &left, NULL);
        for (int i = 0; i < 2; i++) {
            ns_t owd = take(&ends[i]);

            got[i] += owd != NS_NEVER;
            r->timing.warm_up_owd = ns_min(r->timing.warm_up_owd, owd);
        }
    }
    return 0;
}

/* From the hosts before the first of these bottlenecks to those behind the last, and back. */
static int warm_up(struct netns_run *r, size_t first, size_t last)
{
    const enum topology_node nodes[2] = {topology_entry(first), topology_exit(&r->topo, last)};
    struct end ends[2] = {{.fd = -1}, {.fd = -1}};
    int rc = 0;

    for (int i = 0; i < 2 && !rc; i++) {
        struct addr a = topology_host(&r->topo, nodes[i], PORT);

        ends[i].address.sin_family = AF_INET;
        ends[i].address.sin_port = htons(a.port);
        memcpy(&ends[i].address.sin_addr, a.ip, 4);
        if (netns_call(chain_ns(r->chain, nodes[i]), open_end, &ends[i])) {
            rc = message_set(r->m, ERR_OS, "warm-up: %s", strerror(errno));
        }
    }
    rc = rc ? rc : exchange(r, first, last, ends);
    for (int i = 0; i < 2; i++) {
        if (ends[i].fd >= 0) {
            close(ends[i].fd);
        }
    }
    return rc;
}

int netns_warm_up(struct netns_run *r)
{
    size_t count = r->topo.segment_count;
    int rc = 0;

    for (size_t k = 0; k < count && count > 1 && !rc; k++) {
        rc = warm_up(r, k, k);
    }
    return rc ? rc : warm_up(r, 0, count - 1);
}
