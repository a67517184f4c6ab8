/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/run_check.h"

#include "agents/base/err.h"
#include "testbed/netns/netns.h"
#include "testbed/run/certify.h"
#include "testbed/run/netns_run.h"
#include "testbed/run/run_path.h"
#include "testbed/scenario/scenario_flows.h"
#include "testbed/wire/realtime.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define HOST_TIMEOUT (20 * NS_PER_S)

static void no_progress(void *ctx, ns_t run_time)
{
    (void)ctx;
    (void)run_time;
}

static int serve(int fd, void *arg)
{
    const struct run_check *k = arg;
    struct message m = {0};
    struct netns_run r = {.run = k->run, .opt = &k->opt, .progress = no_progress, .m = &m};
    struct run_check_result result;
    bool wire = k->opt.link == RUN_LINK_WIRE;
    int rc = netns_trial(&r);

    result = (struct run_check_result){.certified = r.certified,
                                       .wire_late_p99 = wire ? 0 : NS_NEVER,
                                       .wire_late_max = wire ? 0 : NS_NEVER};
    for (size_t i = 0; i < r.topo.segment_count && wire; i++) {
        result.wire_late_p99 = ns_max(result.wire_late_p99, r.wire_reports[i].late_p99);
        result.wire_late_max = ns_max(result.wire_late_max, r.wire_reports[i].late_max);
    }
    service_answer(fd, rc, &m, &result, sizeof result);
    return rc != 0;
}

int run_check_start(struct run_check *k, const struct plan_run *run, enum run_link link,
                    const char *dir, struct message *m)
{
    struct service_options o = {
        .child = {.name = "the check", .ns_fd = -1}, .serve = serve, .arg = k};
    struct certify_line l;

    *k = (struct run_check){
        .service = SERVICE_NONE,
        .opt = {.link = link, .link_why = "checked", .dir = dir, .plan = "selfcheck"},
        .run = run};
    certify_init(&l, &run->scenario, link_burst_bytes(run->scenario.path_rate));
    for (size_t i = 0; i < l.count; i++) {
        k->patience = ns_add(k->patience, certify_patience(&l.at[i]));
    }
    return service_start(&k->service, &o, m);
}

int run_check_finish(struct run_check *k, struct run_check_result *out, struct message *m)
{
    int rc = service_expect(&k->service, out, sizeof *out, realtime_mono() + k->patience, m);

    if (!rc) { /* until it has gone, its namespaces have not */
        (void)child_wait(&k->service.child, realtime_mono() + NS_PER_S);
    }
    service_kill(&k->service);
    return rc;
}

int run_check_sim(const struct plan_run *run, struct run_check_result *out)
{
    const struct scenario *s = &run->scenario;
    struct link_config links[SCENARIO_SEGMENT_COUNT_MAX][CERTIFICATE_DIRECTIONS];

    for (int i = 0; i < CERTIFICATE_DIRECTIONS; i++) {
        enum topology_direction d = i == CERTIFICATE_FORWARD ? TOPOLOGY_FORWARD : TOPOLOGY_BACKWARD;

        bps_t rate =
            scenario_rate_of(s, i == CERTIFICATE_FORWARD ? SCENARIO_FORWARD : SCENARIO_BACKWARD);

        links[0][i] = (struct link_config){.rate = rate,
                                           .burst_bytes = link_burst_bytes(rate),
                                           .queue_bytes = scenario_queue_bytes_at(s, rate),
                                           .impair = run_path_impair(s, d)};
    }
    for (size_t k = 1; k < scenario_segment_count(s); k++) {
        const struct scenario_segment *g = &s->segments[k - 1];

        links[k][CERTIFICATE_FORWARD] = links[k][CERTIFICATE_BACKWARD] =
            (struct link_config){.rate = g->rate,
                                 .burst_bytes = link_burst_bytes(g->rate),
                                 .queue_bytes = scenario_segment_queue_bytes(g),
                                 .impair = {.delay = g->delay}};
    }
    *out = (struct run_check_result){.wire_late_p99 = NS_NEVER, .wire_late_max = NS_NEVER};
    certify_init(&out->certified, s, link_burst_bytes(s->path_rate));
    return certify_links(&out->certified, links);
}

/* ---- what the host has ---- */

/* Each returns 0 or a cause, in errno or in the message. */
static int try_namespaces(struct message *m)
{
    int fd = netns_acquire(m) ? -2 : netns_new(NULL, NULL);

    if (fd >= 0) {
        close(fd);
    } else if (fd != -2) {
        message_set(m, 0, "%s", strerror(errno));
    }
    return fd < 0;
}

static int open_packet_socket(void *arg)
{
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));

    (void)arg;
    if (fd >= 0) {
        close(fd);
    }
    return fd < 0 ? ERR_OS : 0;
}

/* In a namespace of our own, in the user namespace that try_namespaces has led us to. */
static int try_packet_socket(struct message *m)
{
    int fd = netns_new(open_packet_socket, NULL);

    if (fd < 0) {
        return message_set(m, 1, "%s", strerror(errno));
    }
    close(fd);
    return 0;
}

static int try_realtime(struct message *m)
{
    return realtime_schedule(REALTIME_AGENT) ? 0 : message_set(m, 1, "%s", strerror(errno));
}

static int try_lock(struct message *m)
{
    return mlockall(MCL_CURRENT) ? message_set(m, 1, "%s", strerror(errno)) : 0;
}

static int try_timers(struct message *m)
{
    struct timespec t;

    if (clock_getres(CLOCK_MONOTONIC, &t)) {
        return message_set(m, 1, "%s", strerror(errno));
    }
    return t.tv_sec || t.tv_nsec > NS_PER_US
               ? message_set(m, 1, "timers are as coarse as %.3f ms",
                             ns_to_ms((ns_t)t.tv_sec * NS_PER_S + t.tv_nsec))
               : 0;
}

static const struct {
    const char *name, *use;
    int (*attempt)(struct message *m);
} features[RUN_CHECK_FEATURES] = {
    {"namespaces", "links netem and wire: root (CAP_SYS_ADMIN) or user namespaces", try_namespaces},
    {"AF_PACKET", "link wire, captures (CAP_NET_RAW)", try_packet_socket},
    {"SCHED_FIFO", "being on time beside other work (CAP_SYS_NICE)", try_realtime},
    {"mlockall", "the same (CAP_IPC_LOCK or ulimit -l)", try_lock},
    {"hrtimers", "delays finer than a tick", try_timers},
};

struct findings {
    struct {
        int here;
        char detail[sizeof((struct run_check_feature *)0)->detail];
    } at[RUN_CHECK_FEATURES];
};

static int serve_host(int fd, void *arg)
{
    struct findings f = {0};

    (void)arg;
    for (int i = 0; i < RUN_CHECK_FEATURES; i++) {
        struct message m = {0};

        f.at[i].here = !features[i].attempt(&m);
        if (!f.at[i].here) {
            snprintf(f.at[i].detail, sizeof f.at[i].detail, "%.119s", m.text);
        }
    }
    service_answer(fd, 0, NULL, &f, sizeof f);
    return 0;
}

int run_check_host(struct run_check_feature out[RUN_CHECK_FEATURES], struct message *m)
{
    struct service_options o = {.child = {.name = "the check", .ns_fd = -1}, .serve = serve_host};
    struct service s = SERVICE_NONE;
    struct findings f;
    int rc = service_start(&s, &o, m);

    rc = rc ? rc : service_expect(&s, &f, sizeof f, realtime_mono() + HOST_TIMEOUT, m);
    service_kill(&s);
    for (int i = 0; i < RUN_CHECK_FEATURES && !rc; i++) {
        out[i] = (struct run_check_feature){
            .name = features[i].name, .use = features[i].use, .here = f.at[i].here != 0};
        memcpy(out[i].detail, f.at[i].detail, sizeof out[i].detail);
    }
    return rc;
}
