/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/netns_run.h"

#include "agents/base/err.h"
#include "testbed/capture/capture_merge.h"
#include "testbed/netns/netns.h"
#include "testbed/scenario/scenario_flows.h"
#include "testbed/wire/realtime.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define READY_TIMEOUT (10 * NS_PER_S)
#define REPORT_TIMEOUT (10 * NS_PER_S)
#define MERGE_TIMEOUT (120 * NS_PER_S) /* reading and writing all packets once more */
/* The path may be this much idle before its last packet has come out of it; beyond the delay and
 * the time a packet takes at the rate. */
#define DRAIN_IDLE_MARGIN (150 * NS_PER_MS)
#define DRAIN_GRACE (10 * NS_PER_S)
#define DRAIN_STOP 'd'
#define FEEDBACK_RATE 1000000
#define CAPTURE_PAUSE_MAX (3 * NS_PER_S)
#define CAPTURE_BYTES_MIN (4 * 1024 * 1024)
#define CAPTURE_BYTES_MAX (64 * 1024 * 1024)
#define FILTER_BYTES 96
#define FRAME_MAX (TOPOLOGY_MTU + RATE_ETHERNET_OVERHEAD_BYTES)

/* A host of either side whose packets are wanted. */
struct captured {
    enum topology_node node;
    int side;
    struct capture_live *live;
    char path[NETNS_RUN_PATH_MAX];
    struct capture_live_stats stats;
};

#define HOSTS_MAX (NETNS_SIDES * TOPOLOGY_SEGMENTS_MAX)

struct capturing {
    struct captured hosts[HOSTS_MAX];
    size_t host_count;
    ns_t idle_enough; /* so long without a packet: the path is empty, or has lost all it had */
    ns_t drain_max;   /* a path that is not empty by then carries what is not the run's */
    struct message m;
};

static ns_t delay_max(const struct topology *t)
{
    ns_t sum = 0;

    for (size_t k = 0; k < t->segment_count; k++) {
        const struct impair_config *i = &t->impair[topology_link(k, TOPOLOGY_FORWARD)];

        sum = ns_add(sum, ns_max(impair_delay_max(&i[TOPOLOGY_FORWARD]),
                                 impair_delay_max(&i[TOPOLOGY_BACKWARD])));
    }
    return sum;
}

/* Of all bottlenecks together: a packet each, or a full queue each. */
static ns_t waiting_max(const struct topology *t, bool queues)
{
    ns_t sum = 0;

    for (size_t k = 0; k < t->segment_count; k++) {
        const struct shape_path *p = &t->paths[topology_link(k, TOPOLOGY_FORWARD)];

        sum =
            ns_add(sum, queues ? shape_queue_bound(p) : rate_duration(p->rate, SHAPE_PACKET_BYTES));
    }
    return sum;
}

static ns_t idle_enough(const struct topology *t)
{
    return delay_max(t) + waiting_max(t, false) + DRAIN_IDLE_MARGIN;
}

/* Both directions may hold a full queue when the agents end. */
static ns_t drain_max(const struct topology *t)
{
    return delay_max(t) + waiting_max(t, true) + 2 * idle_enough(t) + DRAIN_GRACE;
}

/* The topology with the path at its slowest, behind a queue as long as it ever was. */
static struct topology slowest(const struct netns_run *r)
{
    const struct scenario *s = &r->run->scenario;
    struct wire_extra extra[WIRE_EXTRAS_MAX];
    ns_t longest = netns_wire_extras(r, extra);
    struct topology t = r->topo;

    for (int i = 0; i < TOPOLOGY_DIRECTIONS; i++) {
        t.paths[i].rate = scenario_rate_min(s);
        t.paths[i].queue_bytes = scenario_queue_bytes_at(s, scenario_rate_max(s));
        t.impair[i].delay = ns_add(t.impair[i].delay, longest);
    }
    return t;
}

/* Whether anything takes in a direction whatever it can get. */
static bool is_filled(const struct scenario *s, enum scenario_direction d)
{
    bool filled = !s->media || scenario_udp_there(&s->udp[d]) ||
                  (s->short_tcp.flows > 0 && s->short_tcp.direction == (int64_t)d);

    for (size_t i = 0; i < AGENT_CHANNELS_MAX; i++) {
        filled |= d == SCENARIO_FORWARD && s->channels[i].kind != AGENT_DATA_NONE;
    }
    for (size_t i = 0; i < SCENARIO_TCP_MAX; i++) {
        filled |= s->tcp[i].control != SCENARIO_CONTROL_NONE && s->tcp[i].direction == (int64_t)d;
    }
    return filled;
}

/* What a direction carries at most. A way back without limit carries feedback alone. */
static bps_t carried(const struct scenario *s, enum scenario_direction d)
{
    bps_t rate = scenario_rate_max_of(s, d), sum = FEEDBACK_RATE;

    for (size_t i = 1; i < scenario_segment_count(s); i++) {
        rate = s->segments[i - 1].rate > rate ? s->segments[i - 1].rate : rate;
    }
    for (size_t n = 0; n < SCENARIO_CALL_COUNT_MAX; n++) {
        sum +=
            scenario_has_call(s, n) && scenario_call_direction(s, n) == d ? s->media_max_rate : 0;
    }
    return is_filled(s, d) || sum > rate ? rate : sum;
}

/* For as long as a capture may have to wait for the disk; twice, since a sender may offer more than
 * the bottleneck takes. */
static size_t capture_bytes(const struct scenario *s)
{
    bps_t forward = carried(s, SCENARIO_FORWARD), backward = carried(s, SCENARIO_BACKWARD);
    int64_t bytes = 2 * rate_bytes(forward > backward ? forward : backward, CAPTURE_PAUSE_MAX);

    return (size_t)(bytes < CAPTURE_BYTES_MIN   ? CAPTURE_BYTES_MIN
                    : bytes > CAPTURE_BYTES_MAX ? CAPTURE_BYTES_MAX
                                                : bytes);
}

/* What belongs to the run: never the warm-up's last packets, nor what others send there. */
static void set_filter(const struct netns_run *r, char filter[FILTER_BYTES])
{
    if (netns_exec_wanted(r)) {
        snprintf(filter, FILTER_BYTES, "ip"); /* whatever the commands send each other */
    } else if (scenario_has_others(&r->run->scenario)) {
        snprintf(filter, FILTER_BYTES, "udp portrange %d-%d or udp portrange %d-%d or tcp",
                 scenario_call_port(0), scenario_call_port(SCENARIO_CALL_COUNT_MAX - 1),
                 scenario_udp_port(SCENARIO_FORWARD), scenario_udp_port(SCENARIO_BACKWARD));
    } else {
        snprintf(filter, FILTER_BYTES, "%s port %d", netns_http_wanted(r) ? "tcp" : "udp",
                 NETNS_RUN_PORT);
    }
}

static bool has_host(const struct capturing *c, enum topology_node node)
{
    for (size_t i = 0; i < c->host_count; i++) {
        if (c->hosts[i].node == node) {
            return true;
        }
    }
    return false;
}

static void add_host(struct capturing *c, enum topology_node node, int side)
{
    if (!has_host(c, node)) {
        c->hosts[c->host_count++] = (struct captured){.node = node, .side = side};
    }
}

/* The hosts at either end of the line and all others where calls begin or end. */
static void list_hosts(struct capturing *c, const struct netns_run *r)
{
    add_host(c, netns_host(SCENARIO_FORWARD, NETNS_SENDER), NETNS_SENDER);
    add_host(c, netns_host(SCENARIO_FORWARD, NETNS_RECEIVER), NETNS_RECEIVER);
    for (size_t n = 0; n < SCENARIO_CALL_COUNT_MAX; n++) {
        bool there = scenario_has_call(&r->run->scenario, n);
        bool backward = there && scenario_call_direction(&r->run->scenario, n) != SCENARIO_FORWARD;

        for (int end = 0; end < NETNS_SIDES && there; end++) {
            add_host(c, netns_call_host(r, n, end), backward ? !end : end);
        }
    }
}

static bool is_alone(const struct capturing *c, const struct captured *h)
{
    size_t hosts = 0;

    for (size_t i = 0; i < c->host_count; i++) {
        hosts += c->hosts[i].side == h->side;
    }
    return hosts == 1;
}

/* A side's only host has the side's file; several have one each until the end. */
static int name_file(const struct capturing *c, struct netns_run *r, struct captured *h)
{
    char name[48];

    if (is_alone(c, h)) {
        snprintf(name, sizeof name, "%s", r->sides[h->side].name);
    } else {
        snprintf(name, sizeof name, "%s-part-%s", r->sides[h->side].name,
                 topology_node_name(h->node));
    }
    return netns_run_path(r, h->path, name, ".pcap");
}

static int open_capture(struct capturing *c, struct netns_run *r, struct captured *h)
{
    char filter[FILTER_BYTES];
    struct capture_live_config cfg = {.iface = "lan",
                                      .filter = filter,
                                      .path = h->path,
                                      .frame_max = FRAME_MAX,
                                      .buffer_bytes = capture_bytes(&r->run->scenario)};

    set_filter(r, filter);
    if (name_file(c, r, h)) {
        return message_set(&c->m, ERR_LIMIT, "the run folder's path is too long");
    }
    if (netns_enter(chain_ns(r->chain, h->node))) {
        return message_set(&c->m, ERR_OS, "capture: setns: %s", strerror(errno));
    }
    return capture_live_open(&h->live, &cfg, &c->m);
}

/* Takes what has come. Returns whether anything had, or a negative code. */
static int read_all(struct capturing *c)
{
    bool any = false;

    for (size_t i = 0; i < c->host_count; i++) {
        int got = capture_live_read(c->hosts[i].live, &c->m);

        if (got < 0) {
            return got;
        }
        any |= got > 0;
    }
    return any;
}

static bool all_drained(const struct capturing *c)
{
    for (size_t i = 0; i < c->host_count; i++) {
        if (!capture_live_drained(c->hosts[i].live)) {
            return false;
        }
    }
    return true;
}

/* Reads until told to stop, and from then on until the path is empty. */
static int capture_packets(struct capturing *c, int control_fd)
{
    struct pollfd p[HOSTS_MAX + 1];
    ns_t last = realtime_mono(), told = NS_NEVER, now = last;

    for (size_t i = 0; i < c->host_count; i++) {
        p[i] = (struct pollfd){.fd = capture_live_fd(c->hosts[i].live), .events = POLLIN};
    }
    p[c->host_count] = (struct pollfd){.fd = control_fd, .events = POLLIN};
    while (told == NS_NEVER || now - told < c->drain_max) {
        struct timespec tick = realtime_timespec(c->idle_enough / 2);
        nfds_t fds = c->host_count + (told == NS_NEVER);
        int n = ppoll(p, fds, told == NS_NEVER ? NULL : &tick, NULL), got;

        now = realtime_mono();
        if (n < 0 && errno != EINTR) {
            return message_set(&c->m, ERR_OS, "capture: poll: %s", strerror(errno));
        }
        got = read_all(c);
        if (got < 0) {
            return got;
        }
        last = got ? now : last;
        if (told == NS_NEVER && p[c->host_count].revents) {
            char command;

            (void)!read(control_fd, &command, 1); /* closing with it unread would be a reset */
            told = last = now;
        }
        if (told != NS_NEVER && now - last >= c->idle_enough && all_drained(c)) {
            break;
        }
    }
    return 0;
}

/* Counts what a side has, and closes all. */
static int close_all(struct capturing *c, struct capture_live_stats stats[NETNS_SIDES])
{
    int rc = 0;

    for (size_t i = 0; i < c->host_count; i++) {
        struct captured *h = &c->hosts[i];
        struct capture_live_stats *sum = &stats[h->side];
        struct message m = {0};
        int failed = h->live ? capture_live_stats(h->live, &h->stats, &m) : 0;

        failed = h->live && capture_live_close(h->live, &m) ? ERR_OS : failed;
        sum->packets += h->stats.packets;
        sum->received += h->stats.received;
        sum->dropped += h->stats.dropped;
        sum->oversize += h->stats.oversize;
        sum->longest = h->stats.longest > sum->longest ? h->stats.longest : sum->longest;
        if (failed && !rc) {
            rc = failed;
            c->m = m;
        }
    }
    return rc;
}

/* Makes one file of those of a side's hosts, if they are several. */
static int merge_side(struct capturing *c, struct netns_run *r, int side)
{
    const char *parts[HOSTS_MAX];
    char path[NETNS_RUN_PATH_MAX];
    size_t count = 0;
    int rc;

    for (size_t i = 0; i < c->host_count; i++) {
        if (c->hosts[i].side == side) {
            parts[count++] = c->hosts[i].path;
        }
    }
    if (count < 2) {
        return 0;
    }
    if (netns_run_path(r, path, r->sides[side].name, ".pcap")) {
        return message_set(&c->m, ERR_LIMIT, "the run folder's path is too long");
    }
    rc = capture_merge(parts, count, path, &c->m);
    for (size_t i = 0; i < count && !rc; i++) {
        if (unlink(parts[i])) {
            rc = message_set(&c->m, ERR_OS, "%.180s: %s", parts[i], strerror(errno));
        }
    }
    return rc;
}

static int serve(int fd, void *arg)
{
    struct netns_run *r = arg;
    const struct topology t = slowest(r);
    static struct capturing c; /* too large for the stack, and this process has one */
    struct capture_live_stats stats[NETNS_SIDES] = {0};
    int rc = 0, failed;

    c = (struct capturing){.idle_enough = idle_enough(&t), .drain_max = drain_max(&t)};
    list_hosts(&c, r);
    for (size_t i = 0; i < c.host_count && !rc; i++) {
        rc = open_capture(&c, r, &c.hosts[i]);
    }
    service_answer(fd, rc, &c.m, NULL, 0);
    rc = rc ? rc : capture_packets(&c, fd);
    failed = close_all(&c, stats);
    rc = rc ? rc : failed;
    for (int side = 0; side < NETNS_SIDES && !rc; side++) {
        rc = merge_side(&c, r, side);
    }
    service_answer(fd, rc, &c.m, stats, sizeof stats);
    return rc != 0;
}

int netns_capture_start(struct netns_run *r)
{
    char log[NETNS_RUN_PATH_MAX];
    struct service_options o = {
        .child = {.name = "capture", .log_path = log, .ns_fd = -1}, .serve = serve, .arg = r};
    int rc = netns_run_path(r, log, "log/capture", ".log");

    rc = rc ? rc : service_start(&r->capture, &o, r->m);
    return rc ? rc : service_expect(&r->capture, NULL, 0, realtime_mono() + READY_TIMEOUT, r->m);
}

int netns_capture_finish(struct netns_run *r)
{
    const struct topology t = slowest(r);
    struct capture_live_stats stats[NETNS_SIDES];
    ns_t patience = REPORT_TIMEOUT + (t.segment_count > 1 ? MERGE_TIMEOUT : 0);
    int rc = service_command(&r->capture, DRAIN_STOP, r->m);

    rc = rc ? rc
            : service_expect(&r->capture, stats, sizeof stats,
                             realtime_mono() + drain_max(&t) + patience, r->m);
    for (int i = 0; i < NETNS_SIDES && !rc; i++) {
        r->captured[i] = stats[i];
    }
    if (!rc) {
        (void)child_wait(&r->capture.child, realtime_mono() + REPORT_TIMEOUT);
    }
    service_kill(&r->capture);
    return rc;
}
