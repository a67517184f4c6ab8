/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/run_real.h"

#include "agents/base/err.h"
#include "testbed/netns/netns.h"
#include "testbed/netns/qdisc.h"
#include "testbed/run/origin.h"
#include "testbed/run/service.h"
#include "testbed/scenario/scenario_flows.h"
#include "testbed/traffic/tcp_sock.h"
#include "testbed/wire/realtime.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE (10 * NS_PER_S)

/* ---- what no real link does ---- */

/* "extra-delay" of the first call, "call2.extra-delay" of a further one. */
static const char *key_of(char key[40], size_t call, const char *leaf)
{
    snprintf(key, 40, "%s%s%s", scenario_call_name(call), call ? "." : "", leaf);
    return key;
}

/* netem delays all packets of an interface alike. */
static int refuse_delays(const struct scenario *s, enum run_link link, struct message *m)
{
    char key[40];

    for (size_t n = 0; n < SCENARIO_CALL_COUNT_MAX; n++) {
        if (link == RUN_LINK_NETEM && scenario_has_call(s, n) &&
            scenario_call_extra_delay(s, n) != 0) {
            return message_set(m, ERR_CONFIG,
                               "%s: links of kind netem delay all calls alike; allowed: 0s, or "
                               "--link wire or sim",
                               key_of(key, n, "extra-delay"));
        }
    }
    return 0;
}

int run_real_can(const struct scenario *s, enum run_link link, struct message *m)
{
    if (s->stack == AGENT_STACK_PLAY_HTTP &&
        origin_bytes(&s->play, (uint64_t)s->seed) > ORIGIN_BYTES_MAX) {
        return message_set(m, ERR_CONFIG,
                           "play.count: the tracks of all plays take more than %.1f GB, which the "
                           "web server has in memory; allowed: fewer plays, or shorter ones",
                           (double)ORIGIN_BYTES_MAX / 1e9);
    }
    return refuse_delays(s, link, m);
}

/* ---- what the kernel has ---- */

/* What of the kernel's runs want: which of enum scenario_control, which of enum aqm_kind. */
struct wanted {
    bool controls[SCENARIO_CONTROL_BBR + 1], disciplines[AQM_KINDS];
    struct message m;
};

static void note(struct wanted *c, const struct scenario *s, enum run_link link)
{
    c->disciplines[s->path_aqm] |= link == RUN_LINK_NETEM && s->path_aqm != SCENARIO_AQM_DROP_TAIL;
    for (size_t i = 0; i < SCENARIO_TCP_MAX; i++) {
        c->controls[s->tcp[i].control] = true;
    }
    if (s->short_tcp.flows > 0) {
        c->controls[s->short_tcp.control] = true;
    }
    if (s->stack == AGENT_STACK_PLAY_HTTP) { /* the server's */
        c->controls[SCENARIO_CONTROL_RENO] |= s->preset == AGENT_PRESET_RENO;
        c->controls[SCENARIO_CONTROL_CUBIC] |= s->preset == AGENT_PRESET_CUBIC;
        c->controls[SCENARIO_CONTROL_BBR] |= s->preset == AGENT_PRESET_BBR;
    }
    c->controls[SCENARIO_CONTROL_NONE] = false;
}

static int try_all(void *arg)
{
    struct wanted *c = arg;

    for (int i = 0; i <= SCENARIO_CONTROL_BBR; i++) {
        if (c->controls[i] && tcp_sock_try(scenario_control_name(i), &c->m)) {
            return ERR_OS;
        }
    }
    for (enum aqm_kind k = 0; k < AQM_KINDS; k++) {
        if (c->disciplines[k] && qdisc_try_aqm(k, &c->m)) {
            return ERR_OS;
        }
    }
    return 0;
}

/* As in a run: in a namespace of ours, in which we may take what others may not. */
static int serve(int fd, void *arg)
{
    struct wanted *c = arg;
    int rc = netns_acquire(&c->m), ns;

    if (!rc) {
        ns = netns_new(NULL, NULL);
        rc =
            ns < 0 ? message_set(&c->m, ERR_OS, "%s", strerror(errno)) : netns_call(ns, try_all, c);
        if (ns >= 0) {
            close(ns);
        }
    }
    service_answer(fd, rc, &c->m, NULL, 0);
    return 0;
}

int run_real_programs(const struct plan *plan, struct message *m)
{
    char program[ORIGIN_PROGRAM_MAX];

    for (size_t i = 0; i < plan->run_count; i++) {
        if (plan->runs[i].scenario.stack == AGENT_STACK_PLAY_HTTP) {
            return origin_find(program, m);
        }
    }
    return 0;
}

int run_real_kernel(const struct plan *plan, enum run_link link, struct message *m)
{
    struct wanted c = {0};
    struct service_options o = {
        .child = {.name = "the probe", .ns_fd = -1}, .serve = serve, .arg = &c};
    struct service s = SERVICE_NONE;
    bool any = false;
    int rc;

    for (size_t i = 0; i < plan->run_count; i++) {
        note(&c, &plan->runs[i].scenario, link);
    }
    for (int i = 0; i <= SCENARIO_CONTROL_BBR; i++) {
        any |= c.controls[i];
    }
    for (int i = 0; i < AQM_KINDS; i++) {
        any |= c.disciplines[i];
    }
    if (!any) {
        return 0;
    }
    rc = service_start(&s, &o, m);
    rc = rc ? rc : service_expect(&s, NULL, 0, realtime_mono() + PATIENCE, m);
    service_kill(&s);
    return rc;
}
