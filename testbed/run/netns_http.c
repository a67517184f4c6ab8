/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/netns_http.h"

#include "agents/base/err.h"
#include "testbed/run/exec_port.h"
#include "testbed/run/netns_run.h"
#include "testbed/run/run_bounds.h"
#include "testbed/scenario/scenario_keys.h"
#include "testbed/wire/realtime.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A server that begins writes its tracks first. */
#define ORIGIN_READY_TIMEOUT (60 * NS_PER_S)
#define READY_LOOK_EVERY (10 * NS_PER_MS)
/* From a server's end to its next beginning, as whoever looks after one would have it. */
#define RESTART_DELAY NS_PER_S
#define RESTARTS_MAX 20
#define LIMIT_MARGIN (10 * NS_PER_S)
#define BESIDE 1 /* the first of the pairs that are agents: UDP traffic */

bool netns_http_wanted(const struct netns_run *r)
{
    return r->run->scenario.stack == AGENT_STACK_PLAY_HTTP;
}

/* As the kernel calls it, which is as the scenario does. */
static const char *congestion_control(const struct scenario *s)
{
    return scenario_key_find("preset")->words[s->preset];
}

static int start_origin(struct netns_run *r)
{
    struct netns_side *n = &r->sides[NETNS_SENDER];
    char log[NETNS_RUN_PATH_MAX];
    struct child_options o = {.name = n->name,
                              .log_path = log,
                              .ns_fd = chain_ns(r->chain, n->node),
                              .run = origin_run,
                              .arg = &r->http.origin};

    if (netns_side_path(r, n, log, "log/", ".log")) {
        return ERR_LIMIT;
    }
    return child_start(&n->agent, &o, r->m);
}

static int await_origin(struct netns_run *r)
{
    struct netns_side *n = &r->sides[NETNS_SENDER];
    ns_t deadline = realtime_mono() + ORIGIN_READY_TIMEOUT;

    while (!exec_port_open(n->agent.pid, true, r->http.origin.port)) {
        ns_t now = realtime_mono();

        if (child_wait(&n->agent, now + READY_LOOK_EVERY)) {
            return netns_agents_not_ready(r, n);
        }
        if (now >= deadline) {
            return message_set(r->m, ERR_OS, "the web server does not listen after %g s",
                               ns_to_s(ORIGIN_READY_TIMEOUT));
        }
    }
    return 0;
}

static int set_options(struct netns_run *r)
{
    const struct scenario *s = &r->run->scenario;
    struct netns_http *h = &r->http;

    if (!realpath(r->opt->dir, h->dir)) {
        return message_set(r->m, ERR_OS, "%.100s: %s", r->opt->dir, strerror(errno));
    }
    h->origin = (struct origin_options){.dir = h->dir,
                                        .ip = r->manifest.sender_ip,
                                        .port = NETNS_RUN_PORT,
                                        .play = &s->play,
                                        .seed = (uint64_t)s->seed,
                                        .tls = s->play_tls};
    h->look = (struct tcp_watch_options){.dir = h->dir,
                                         .ns_fd = chain_ns(r->chain, TOPOLOGY_SENDER),
                                         .port = NETNS_RUN_PORT,
                                         .wanted = congestion_control(s)};
    return 0;
}

int netns_http_start(struct netns_run *r)
{
    char url[64], ca[NETNS_RUN_PATH_MAX];
    const char *const arguments[] = {"--url", url, r->run->scenario.play_tls ? "--ca" : NULL, ca,
                                     NULL};
    int rc = netns_run_path(r, ca, ORIGIN_CERTIFICATE, "");

    rc = rc ? rc : set_options(r);

    r->http.wanted = !rc;
    snprintf(url, sizeof url, "%s://%s:%d", r->run->scenario.play_tls ? "https" : "http",
             r->manifest.sender_ip, NETNS_RUN_PORT);
    origin_version(r->manifest.server, sizeof r->manifest.server);
    rc = rc ? rc : chain_congestion(r->chain, TOPOLOGY_SENDER, r->http.look.wanted, r->m);
    rc = rc ? rc : start_origin(r);
    rc = rc ? rc : await_origin(r);
    rc = rc ? rc : netns_launch(r, &r->sides[NETNS_RECEIVER], "player", arguments);
    rc = rc ? rc : netns_await_ready(r, &r->sides[NETNS_RECEIVER]);
    return rc ? rc : netns_agents_start_from(r, BESIDE);
}

int netns_http_release(struct netns_run *r)
{
    struct netns_side *n = &r->sides[NETNS_RECEIVER];

    r->start = realtime_mono() + NETNS_START_AHEAD;
    r->wall_offset_start = netns_clock_look(r);
    r->http.look.start = r->start;
    if (write(n->start_fd, &r->start, sizeof r->start) != sizeof r->start) {
        return netns_agents_not_ready(r, n);
    }
    return netns_agents_release_from(r, BESIDE)
               ? ERR_OS
               : tcp_watch_start(&r->http.watch, &r->http.look, r->m);
}

/* ---- the end ---- */

/* When a server that has ended while players need it begins again; NS_NEVER: it need not. */
static ns_t note_death(struct netns_run *r, ns_t now)
{
    struct netns_http *h = &r->http;

    if (!h->deaths++) {
        child_describe(&r->sides[NETNS_SENDER].agent, h->death, sizeof h->death);
    }
    return h->deaths > RESTARTS_MAX ? NS_NEVER : now + RESTART_DELAY;
}

/* Agents beside the music, and how far their ends have been brought about. */
struct beside {
    struct netns_stopping at[NETNS_PAIRS_MAX * NETNS_SIDES];
    size_t count;
};

static void beside_init(struct beside *b, struct netns_run *r, ns_t limit)
{
    for (size_t i = NETNS_SIDES * BESIDE; i < NETNS_SIDES * r->pair_count; i++) {
        b->at[b->count++] = (struct netns_stopping){&r->sides[i], limit, SIGTERM};
    }
}

/* They end with the music. Returns how many still run; *next: when there is something to do. */
static size_t look_beside(struct beside *b, bool play, ns_t now, ns_t *next)
{
    size_t running = 0;

    *next = NS_NEVER;
    for (size_t i = 0; i < b->count; i++) {
        struct netns_stopping *s = &b->at[i];

        if (child_wait(&s->side->agent, 0)) {
            continue;
        }
        if (!play && s->signal == SIGTERM) {
            s->next = ns_min(s->next, now);
        }
        netns_agents_step(s, now);
        *next = ns_min(*next, s->next);
        running++;
    }
    return running;
}

int netns_http_wait(struct netns_run *r)
{
    const struct scenario *s = &r->run->scenario;
    ns_t limit = ns_add(r->start, run_bounds_end(s));
    struct netns_stopping server = {&r->sides[NETNS_SENDER], NS_NEVER, SIGTERM};
    struct netns_stopping players = {&r->sides[NETNS_RECEIVER], ns_add(limit, LIMIT_MARGIN),
                                     SIGTERM};
    struct beside beside = {.count = 0};
    ns_t now = realtime_mono(), progress = r->start, restart = NS_NEVER, others = NS_NEVER;
    bool serves = true, play = true;
    size_t running;
    int rc = 0;

    beside_init(&beside, r, players.next);
    running = beside.count;

    while (!rc && (play || running || child_running(&server.side->agent))) {
        ns_t next = ns_min(ns_min(server.next, players.next), others);

        rc = netns_agents_poll(r, ns_min(ns_min(progress, restart), next));
        now = realtime_mono();
        if (play && child_wait(&players.side->agent, 0)) {
            play = false;
            restart = players.next = NS_NEVER;
            server.next = now;
        }
        if (child_wait(&server.side->agent, 0) && serves) {
            serves = false;
            server.next = NS_NEVER;
            restart = play ? note_death(r, now) : NS_NEVER;
        }
        if (now >= restart) {
            restart = NS_NEVER;
            serves = true;
            rc = rc ? rc : start_origin(r);
        }
        netns_agents_step(&server, now);
        netns_agents_step(&players, now);
        running = look_beside(&beside, play, now, &others);
        netns_agents_progress(r, now, &progress);
    }
    return rc ? rc : netns_agents_ended(r, now);
}

int netns_http_finish(struct netns_run *r)
{
    return r->http.wanted ? tcp_watch_finish(&r->http.watch, &r->http.report, r->m) : 0;
}

static void invalid(struct netns_run *r, const char *reason, uint64_t count, const char *detail)
{
    if (count) {
        manifest_add_invalid(&r->manifest, reason, (int64_t)count, detail);
    }
}

void netns_http_judge(struct netns_run *r)
{
    const struct netns_http *h = &r->http;
    char detail[160];

    if (!h->wanted) {
        return;
    }
    snprintf(detail, sizeof detail, "%s instead of %s, in %" PRIu64 " of %" PRIu64 " samples",
             h->report.found[0] ? h->report.found : "nothing known", h->look.wanted,
             h->report.wrong, h->report.samples);
    invalid(r, "congestion-control", h->report.wrong, detail);
    snprintf(detail, sizeof detail, "none in %" PRIu64 " looks", h->report.looks);
    invalid(r, "congestion-unseen", h->report.samples == 0, detail);
    snprintf(detail, sizeof detail, "first: %s", h->death);
    invalid(r, "origin-ended", h->deaths, detail);
}

void netns_http_write(const struct netns_run *r, const struct record_sink *sink)
{
    const struct netns_http *h = &r->http;
    const struct {
        const char *name;
        uint64_t value;
    } counters[] = {{"tcp-looks", h->report.looks},
                    {"tcp-samples", h->report.samples},
                    {"tcp-connections", h->report.connections},
                    {"tcp-other-control", h->report.wrong},
                    {"origin-ends", h->deaths}};

    for (size_t i = 0; h->wanted && i < sizeof counters / sizeof *counters; i++) {
        record_put_counter(sink, counters[i].name, counters[i].value);
    }
}

void netns_http_release_all(struct netns_run *r)
{
    if (r->http.wanted) {
        service_kill(&r->http.watch);
        origin_clean(r->http.dir);
    }
}
