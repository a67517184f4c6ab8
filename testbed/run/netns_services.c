/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/netns_run.h"

#include "agents/base/err.h"
#include "testbed/netns/netns.h"
#include "testbed/run/netns_queue.h"
#include "testbed/scenario/scenario_flows.h"
#include "testbed/wire/realtime.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define READY_TIMEOUT (10 * NS_PER_S)
#define REPORT_TIMEOUT (10 * NS_PER_S)
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

int netns_run_path(struct netns_run *r, char *path, const char *name, const char *suffix)
{
    int n = snprintf(path, NETNS_RUN_PATH_MAX, "%s/%s%s", r->opt->dir, name, suffix);

    return n < NETNS_RUN_PATH_MAX
               ? 0
               : message_set(r->m, ERR_LIMIT, "the run folder's path is too long");
}

int netns_side_path(struct netns_run *r, const struct netns_side *s, char *path, const char *prefix,
                    const char *suffix)
{
    char name[64];

    snprintf(name, sizeof name, "%s%s%s", s->folder, prefix, s->name);
    return netns_run_path(r, path, name, suffix);
}

/* ---- wire ---- */

static struct wire_config wire_settings(const struct topology *t)
{
    return (struct wire_config){
        .west = "west",
        .east = "east",
        .impair = {[WIRE_EASTWARD] = t->impair[TOPOLOGY_FORWARD],
                   [WIRE_WESTWARD] = t->impair[TOPOLOGY_BACKWARD]},
        .rate = ns_max(t->impair[TOPOLOGY_FORWARD].rate, t->impair[TOPOLOGY_BACKWARD].rate)};
}

/* Calls that take longer than others. Returns the longest of their extra delays. */
static ns_t set_extras(const struct netns_run *r, struct wire_extra extra[WIRE_EXTRAS_MAX])
{
    ns_t longest = 0;

    for (size_t n = 0; r->run && n < SCENARIO_CALL_COUNT_MAX; n++) {
        ns_t delay = scenario_has_call(&r->run->scenario, n)
                         ? scenario_call_extra_delay(&r->run->scenario, n)
                         : 0;

        extra[n] = (struct wire_extra){delay > 0 ? scenario_call_port(n) : 0, delay};
        longest = ns_max(longest, delay);
    }
    return longest;
}

_Static_assert(SCENARIO_CALL_COUNT_MAX <= WIRE_EXTRAS_MAX, "every call may have one");

static int serve_wire(int fd, void *arg)
{
    const struct netns_run *r = arg;
    struct wire_config cfg = wire_settings(&r->topo);
    struct netns_queue queue;
    struct wire_report report;
    struct message m;
    struct wire *w;
    int rc;

    netns_queue_shape(&queue, r, cfg.shape);
    (void)set_extras(r, cfg.extra);
    realtime_settle();
    rc = wire_open(&w, &cfg, &m);
    service_answer(fd, rc, &m, NULL, 0);
    if (rc) {
        return 1;
    }
    rc = wire_run(w, fd, &m);
    wire_report(w, &report);
    service_answer(fd, rc, &m, &report, sizeof report);
    wire_close(w);
    return rc != 0;
}

int netns_wire_start(struct netns_run *r)
{
    char log[NETNS_RUN_PATH_MAX];
    struct service_options o = {.child = {.name = "wire",
                                          .log_path = log,
                                          .ns_fd = chain_ns(r->chain, TOPOLOGY_MIDDLE),
                                          .priority = REALTIME_WIRE},
                                .serve = serve_wire,
                                .arg = r};
    int rc;

    if (r->topo.kind != TOPOLOGY_WIRE) {
        return 0;
    }
    rc = netns_run_path(r, log, "log/wire", ".log");
    rc = rc ? rc : service_start(&r->wire, &o, r->m);
    return rc ? rc : service_expect(&r->wire, NULL, 0, realtime_mono() + READY_TIMEOUT, r->m);
}

int netns_wire_reset(struct netns_run *r)
{
    return r->topo.kind == TOPOLOGY_WIRE ? service_command(&r->wire, WIRE_RESET, r->m) : 0;
}

int netns_wire_finish(struct netns_run *r)
{
    int rc;

    if (r->topo.kind != TOPOLOGY_WIRE) {
        return 0;
    }
    rc = service_command(&r->wire, WIRE_STOP, r->m);
    rc = rc ? rc
            : service_expect(&r->wire, &r->wire_report, sizeof r->wire_report,
                             realtime_mono() + REPORT_TIMEOUT, r->m);
    if (!rc) {
        (void)child_wait(&r->wire.child, realtime_mono() + REPORT_TIMEOUT);
    }
    service_kill(&r->wire);
    return rc;
}

struct attempt {
    struct wire_config cfg;
    struct message *m;
};

static int try_wire(void *arg)
{
    struct attempt *a = arg;
    struct wire *w;
    int rc = wire_open(&w, &a->cfg, a->m);

    if (!rc) {
        wire_close(w);
    }
    return rc;
}

int netns_wire_try(const struct chain *c, struct message *m)
{
    struct attempt a = {.cfg = wire_settings(chain_topology(c)), .m = m};

    return netns_call(chain_ns(c, TOPOLOGY_MIDDLE), try_wire, &a);
}

/* ---- captures ---- */

struct capturing {
    struct capture_live *ends[NETNS_SIDES];
    ns_t idle_enough; /* so long without a packet: the path is empty, or has lost all it had */
    ns_t drain_max;   /* a path that is not empty by then carries what is not the run's */
    struct message m;
};

static ns_t delay_max(const struct topology *t)
{
    return ns_max(impair_delay_max(&t->impair[TOPOLOGY_FORWARD]),
                  impair_delay_max(&t->impair[TOPOLOGY_BACKWARD]));
}

static ns_t idle_enough(const struct topology *t)
{
    return delay_max(t) + rate_duration(t->paths[TOPOLOGY_FORWARD].rate, SHAPE_PACKET_BYTES) +
           DRAIN_IDLE_MARGIN;
}

/* Both directions may hold a full queue when the agents end. */
static ns_t drain_max(const struct topology *t)
{
    return delay_max(t) + shape_queue_bound(&t->paths[TOPOLOGY_FORWARD]) + 2 * idle_enough(t) +
           DRAIN_GRACE;
}

/* The topology with the path at its slowest, behind a queue as long as it ever was. */
static struct topology slowest(const struct netns_run *r)
{
    const struct scenario *s = &r->run->scenario;
    struct wire_extra extra[WIRE_EXTRAS_MAX];
    ns_t longest = set_extras(r, extra);
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

static int open_capture(struct capturing *c, struct netns_run *r, int side)
{
    char path[NETNS_RUN_PATH_MAX], filter[FILTER_BYTES];
    struct capture_live_config cfg = {.iface = "lan",
                                      .filter = filter,
                                      .path = path,
                                      .frame_max = FRAME_MAX,
                                      .buffer_bytes = capture_bytes(&r->run->scenario)};

    set_filter(r, filter);
    snprintf(path, sizeof path, "%s/%s.pcap", r->opt->dir, r->sides[side].name);
    if (netns_enter(chain_ns(r->chain, r->sides[side].node))) {
        return message_set(&c->m, ERR_OS, "capture: setns: %s", strerror(errno));
    }
    return capture_live_open(&c->ends[side], &cfg, &c->m);
}

/* Reads until told to stop, and from then on until the path is empty. */
static int capture_packets(struct capturing *c, int control_fd)
{
    struct pollfd p[] = {{.fd = capture_live_fd(c->ends[NETNS_SENDER]), .events = POLLIN},
                         {.fd = capture_live_fd(c->ends[NETNS_RECEIVER]), .events = POLLIN},
                         {.fd = control_fd, .events = POLLIN}};
    ns_t last = realtime_mono(), told = NS_NEVER, now = last;

    while (told == NS_NEVER || now - told < c->drain_max) {
        struct timespec tick = realtime_timespec(c->idle_enough / 2);
        int n = ppoll(p, told == NS_NEVER ? 3 : 2, told == NS_NEVER ? NULL : &tick, NULL);

        now = realtime_mono();
        if (n < 0 && errno != EINTR) {
            return message_set(&c->m, ERR_OS, "capture: poll: %s", strerror(errno));
        }
        for (int i = 0; i < NETNS_SIDES; i++) {
            int got = capture_live_read(c->ends[i], &c->m);

            if (got < 0) {
                return got;
            }
            last = got ? now : last;
        }
        if (told == NS_NEVER && p[2].revents) {
            char command;

            (void)!read(control_fd, &command, 1); /* closing with it unread would be a reset */
            told = last = now;
        }
        if (told != NS_NEVER && now - last >= c->idle_enough &&
            capture_live_drained(c->ends[NETNS_SENDER]) &&
            capture_live_drained(c->ends[NETNS_RECEIVER])) {
            break;
        }
    }
    return 0;
}

static int serve_captures(int fd, void *arg)
{
    struct netns_run *r = arg;
    const struct topology t = slowest(r);
    struct capturing c = {.idle_enough = idle_enough(&t), .drain_max = drain_max(&t)};
    struct capture_live_stats stats[NETNS_SIDES] = {0};
    int rc = 0;

    for (int i = 0; i < NETNS_SIDES && !rc; i++) {
        rc = open_capture(&c, r, i);
    }
    service_answer(fd, rc, &c.m, NULL, 0);
    rc = rc ? rc : capture_packets(&c, fd);
    for (int i = 0; i < NETNS_SIDES; i++) {
        struct message m = {0};
        int failed = 0;

        if (c.ends[i]) {
            failed = capture_live_stats(c.ends[i], &stats[i], &m);
            failed = capture_live_close(c.ends[i], &m) ? ERR_OS : failed;
        }
        if (failed && !rc) {
            rc = failed;
            c.m = m;
        }
    }
    service_answer(fd, rc, &c.m, stats, sizeof stats);
    return rc != 0;
}

int netns_capture_start(struct netns_run *r)
{
    char log[NETNS_RUN_PATH_MAX];
    struct service_options o = {.child = {.name = "capture", .log_path = log, .ns_fd = -1},
                                .serve = serve_captures,
                                .arg = r};
    int rc = netns_run_path(r, log, "log/capture", ".log");

    rc = rc ? rc : service_start(&r->capture, &o, r->m);
    return rc ? rc : service_expect(&r->capture, NULL, 0, realtime_mono() + READY_TIMEOUT, r->m);
}

int netns_capture_finish(struct netns_run *r)
{
    const struct topology t = slowest(r);
    struct capture_live_stats stats[NETNS_SIDES];
    int rc = service_command(&r->capture, DRAIN_STOP, r->m);

    rc = rc ? rc
            : service_expect(&r->capture, stats, sizeof stats,
                             realtime_mono() + drain_max(&t) + REPORT_TIMEOUT, r->m);
    for (int i = 0; i < NETNS_SIDES && !rc; i++) {
        r->captured[i] = stats[i];
    }
    if (!rc) {
        (void)child_wait(&r->capture.child, realtime_mono() + REPORT_TIMEOUT);
    }
    service_kill(&r->capture);
    return rc;
}
