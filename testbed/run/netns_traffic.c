/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/netns_run.h"

#include "agents/base/err.h"
#include "agents/record/record_csv.h"
#include "testbed/run/run_bounds.h"
#include "testbed/run/run_path.h"
#include "testbed/scenario/scenario_flows.h"
#include "testbed/wire/realtime.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READY_TIMEOUT (10 * NS_PER_S)
#define REPORT_TIMEOUT (10 * NS_PER_S)
#define STOP 's'
/* Slow start may have twice in flight what path and queue hold. */
#define BUFFER_PATHS 2
#define BUFFER_BYTES_MIN (1024 * 1024)
#define BUFFER_BYTES_MAX (32 * 1024 * 1024)
/* The process may come so much late before a sender runs dry. */
#define ROUND_TRIP_MAX (60 * NS_PER_S)
#define AHEAD (100 * NS_PER_MS)
#define AHEAD_BYTES_MIN (128 * 1024)
#define AHEAD_BYTES_MAX (4 * 1024 * 1024)
/* A sender that its own host holds back for more of its time than this is not what was asked. */
#define HELD_MAX_PERCENT 5
/* Of a short time nothing can be said: the kernel's ticks. */
#define HELD_UNCERTAIN (50 * NS_PER_MS)
/* Beyond a round trip through full queues a connection has had time to bring something. */
#define FIRST_BYTE_MAX NS_PER_S

/* The scenario's TCP as the process wants it. */
struct flows {
    struct traffic_flow at[TRAFFIC_FLOWS_MAX];
    size_t count;
};

_Static_assert(SCENARIO_TCP_MAX + 1 <= TRAFFIC_FLOWS_MAX, "all TCP flows fit");
_Static_assert(SCENARIO_SHORT_TCP_FLOWS_MAX <= TRAFFIC_DOWNLOADERS_MAX, "so do the short ones");

static int within(int64_t bytes, int least, int most)
{
    return bytes < least ? least : bytes > most ? most : (int)bytes;
}

/* What a direction's full queue holds, and how long that takes at the slowest. */
static int64_t queue_bytes(const struct scenario *s, enum scenario_direction d, ns_t *time)
{
    int64_t bytes = scenario_queue_bytes_at(s, scenario_rate_max_of(s, d));

    *time = rate_duration(scenario_rate_min_of(s, d), bytes);
    return bytes;
}

/* So much that neither window nor buffer limits the flow: what path and queue hold while
 * acknowledgements come back through a full queue. */
static void set_buffers(struct traffic_flow *f, const struct scenario *s, enum scenario_direction d)
{
    enum scenario_direction back = d == SCENARIO_FORWARD ? SCENARIO_BACKWARD : SCENARIO_FORWARD;
    bps_t rate = scenario_rate_max_of(s, d);
    ns_t there, back_again;
    int64_t bytes = queue_bytes(s, d, &there);

    (void)queue_bytes(s, back, &back_again);
    bytes += rate_bytes(rate, ns_min(2 * run_path_delay_max(s) + back_again, ROUND_TRIP_MAX));
    f->buffer_bytes = within(BUFFER_PATHS * bytes, BUFFER_BYTES_MIN, BUFFER_BYTES_MAX);
    f->ahead_bytes = within(rate_bytes(rate, AHEAD), AHEAD_BYTES_MIN, AHEAD_BYTES_MAX);
}

static struct traffic_flow *add(struct flows *f, const struct netns_run *r, int64_t direction,
                                uint16_t port)
{
    enum topology_node from = netns_host((enum scenario_direction)direction, NETNS_SENDER);
    enum topology_node to = netns_host((enum scenario_direction)direction, NETNS_RECEIVER);
    struct traffic_flow *flow = &f->at[f->count++];

    *flow = (struct traffic_flow){.to = topology_host(&r->topo, to, port),
                                  .from_ns = r->chain ? chain_ns(r->chain, from) : -1,
                                  .to_ns = r->chain ? chain_ns(r->chain, to) : -1};
    set_buffers(flow, &r->run->scenario, (enum scenario_direction)direction);
    return flow;
}

/* The end of the run is the end of every flow, whenever its agents have gone. */
static void set_times(struct traffic_flow *f, const struct scenario *s, ns_t start, ns_t stop)
{
    f->start = start;
    f->stop = ns_min(stop, run_bounds_end(s));
}

static void list_flows(struct flows *f, const struct netns_run *r)
{
    const struct scenario *s = &r->run->scenario;
    const struct scenario_short_tcp *t = &s->short_tcp;

    f->count = 0;
    for (size_t i = 0; i < SCENARIO_TCP_MAX; i++) {
        if (s->tcp[i].control != SCENARIO_CONTROL_NONE) {
            struct traffic_flow *flow = add(f, r, s->tcp[i].direction, scenario_tcp_port(i));

            flow->name = scenario_tcp_name(i);
            flow->congestion_control = scenario_control_name(s->tcp[i].control);
            set_times(flow, s, s->tcp[i].start, s->tcp[i].stop);
        }
    }
    if (t->flows > 0) {
        struct traffic_flow *flow = add(f, r, t->direction, scenario_short_tcp_port(0));

        flow->name = "short-tcp";
        flow->congestion_control = scenario_control_name(t->control);
        set_times(flow, s, t->start, t->stop);
        flow->downloaders = (int)t->flows;
        flow->downloaders_on = (int)t->on;
        flow->downloads = (struct downloads_config){
            .bytes_min = t->size_min, .bytes_max = t->size_max, .idle_mean = t->idle};
    }
}

/* ---- the process ---- */

/* Until the common start is told; a leader that has gone takes us with it. */
static int await_start(int fd, ns_t *start)
{
    ssize_t n;

    do {
        n = recv(fd, start, sizeof *start, 0);
    } while (n < 0 && errno == EINTR);
    return n == sizeof *start ? 0 : ERR_OS;
}

/* Unread when we close, a command would take our last answer with it. */
static int take_command(int fd, struct message *m)
{
    char command;

    return read(fd, &command, 1) == 1 ? 0
                                      : message_set(m, ERR_OS, "traffic: its leader is not there");
}

static int carry(struct traffic *t, int fd, struct message *m)
{
    ns_t start;
    int rc;

    if (await_start(fd, &start)) {
        return message_set(m, ERR_OS, "traffic: no start time came");
    }
    rc = traffic_run(t, start, fd, m);
    rc = rc ? rc : take_command(fd, m);
    rc = rc ? rc : traffic_drain(t, fd, m);
    return rc ? rc : take_command(fd, m);
}

static int serve(int fd, void *arg)
{
    const struct netns_run *r = arg;
    struct traffic_report report = {0};
    struct traffic_config cfg = {.seed = (uint64_t)r->run->scenario.seed};
    struct record_csv *records = NULL;
    struct traffic *t = NULL;
    struct message m = {0};
    struct flows flows;
    int rc = record_csv_open(&records, r->opt->dir, "testbed");

    list_flows(&flows, r);
    cfg.flows = flows.at;
    cfg.count = flows.count;
    if (rc) {
        message_set(&m, rc, "out of memory");
    } else {
        cfg.sink = record_csv_sink(records);
        rc = traffic_open(&t, &cfg, &m);
    }
    realtime_settle();
    service_answer(fd, rc, &m, NULL, 0);
    if (!rc) {
        rc = carry(t, fd, &m);
        traffic_report(t, &report);
        traffic_close(t);
    }
    if (record_csv_close(records) && !rc) {
        rc = message_set(&m, ERR_OS, "records of the traffic: %s", strerror(errno));
    }
    service_answer(fd, rc, &m, &report, sizeof report);
    return rc != 0;
}

/* ---- the leader's side ---- */

static bool there(const struct netns_run *r)
{
    return child_running(&r->traffic.child);
}

int netns_traffic_start(struct netns_run *r)
{
    char log[NETNS_RUN_PATH_MAX];
    struct service_options o = {
        .child = {.name = "traffic", .log_path = log, .ns_fd = -1, .priority = REALTIME_AGENT},
        .serve = serve,
        .arg = r};
    struct flows flows;
    int rc;

    list_flows(&flows, r);
    if (flows.count == 0) {
        return 0;
    }
    rc = netns_run_path(r, log, "log/traffic", ".log");
    rc = rc ? rc : service_start(&r->traffic, &o, r->m);
    return rc ? rc : service_expect(&r->traffic, NULL, 0, realtime_mono() + READY_TIMEOUT, r->m);
}

int netns_traffic_release(struct netns_run *r)
{
    if (!there(r)) {
        return 0;
    }
    return send(r->traffic.fd, &r->start, sizeof r->start, MSG_NOSIGNAL) == sizeof r->start
               ? 0
               : message_set(r->m, ERR_OS, "traffic does not listen: %s", strerror(errno));
}

int netns_traffic_stop(struct netns_run *r)
{
    return there(r) ? service_command(&r->traffic, STOP, r->m) : 0;
}

int netns_traffic_finish(struct netns_run *r)
{
    int rc;

    if (!there(r)) {
        return 0;
    }
    rc = service_command(&r->traffic, STOP, r->m);
    rc = rc ? rc
            : service_expect(&r->traffic, &r->traffic_report, sizeof r->traffic_report,
                             realtime_mono() + REPORT_TIMEOUT, r->m);
    if (!rc) {
        (void)child_wait(&r->traffic.child, realtime_mono() + REPORT_TIMEOUT);
    }
    service_kill(&r->traffic);
    return rc;
}

/* ---- what came of it ---- */

static void judge_flow(struct netns_run *r, const struct traffic_flow *f,
                       const struct traffic_outcome *o)
{
    char detail[160];

    if (o->failures) {
        snprintf(detail, sizeof detail, "%s", o->failure);
        manifest_add_invalid(&r->manifest, "traffic-failed", o->failures, detail);
    }
    if (o->up > 2 * run_bounds_path(&r->run->scenario) + FIRST_BYTE_MAX && !o->received_bytes) {
        snprintf(detail, sizeof detail, "%s: no byte arrived", f->name);
        manifest_add_invalid(&r->manifest, "traffic-missing", 1, detail);
    }
    if (o->held > o->up / 100 * HELD_MAX_PERCENT + HELD_UNCERTAIN) {
        snprintf(detail, sizeof detail, "%s: for %.1f of %.1f s", f->name, ns_to_s(o->held),
                 ns_to_s(o->up));
        manifest_add_invalid(&r->manifest, "traffic-held", 1, detail);
    }
}

void netns_traffic_judge(struct netns_run *r)
{
    struct flows flows;

    list_flows(&flows, r);
    for (size_t i = 0; i < flows.count; i++) {
        judge_flow(r, &flows.at[i], &r->traffic_report.flows[i]);
    }
}

void netns_traffic_write(const struct netns_run *r, const struct record_sink *sink)
{
    struct flows flows;

    list_flows(&flows, r);
    for (size_t i = 0; i < flows.count; i++) {
        const struct traffic_outcome *o = &r->traffic_report.flows[i];
        const struct {
            const char *name;
            int64_t value;
        } counters[] = {{"connections", o->connections},
                        {"downloads", o->downloads},
                        {"sent-bytes", o->sent_bytes},
                        {"received-bytes", o->received_bytes},
                        {"retransmits", o->retransmits},
                        {"up-ns", o->up},
                        {"held-ns", o->held}};

        for (size_t k = 0; k < sizeof counters / sizeof counters[0]; k++) {
            char name[48];

            snprintf(name, sizeof name, "traffic-%s-%s", flows.at[i].name, counters[k].name);
            record_put_named(sink, RECORD_COUNTER, name, counters[k].value);
        }
    }
}
