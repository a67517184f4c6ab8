/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any two commands in the agents' place (stack exec): the one that serves first, the other when
 * that is ready; the other's end, or the time the scenario gives, is the end of both. */
#include "testbed/run/netns_run.h"

#include "agents/base/err.h"
#include "testbed/run/exec_port.h"
#include "testbed/run/exec_program.h"
#include "testbed/run/run_bounds.h"
#include "testbed/scenario/exec_ready.h"
#include "testbed/wire/realtime.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READY_LOOK_EVERY (10 * NS_PER_MS)
#define VARIABLE_BYTES (SCENARIO_TEXT_MAX + 64)
#define OUTPUT_LOOKED_AT_BYTES (1 << 20) /* for line:TEXT, of each log */

enum { LOCAL, REMOTE, PORT, ROLE, RATE, DELAY, DURATION, SEED, OPTION, FOLDER, VARIABLES };

/* What a forked process needs to become one of the commands. */
struct environment {
    char text[VARIABLES][VARIABLE_BYTES];
    const char *list[VARIABLES + 1];
};

bool netns_exec_wanted(const struct netns_run *r)
{
    return r->run->scenario.stack == SCENARIO_STACK_EXEC;
}

int netns_exec_server(const struct netns_run *r)
{
    return r->run->scenario.exec_serves == SCENARIO_SERVES_RECEIVER ? NETNS_RECEIVER : NETNS_SENDER;
}

static int set_environment(struct environment *e, const struct netns_run *r, int side)
{
    const struct scenario *s = &r->run->scenario;
    const char *ips[] = {r->manifest.sender_ip, r->manifest.receiver_ip};
    char *folder = realpath(r->opt->dir, NULL);
    int len;

    if (!folder) {
        return ERR_OS;
    }
    snprintf(e->text[LOCAL], VARIABLE_BYTES, "MUXBED_LOCAL=%s", ips[side]);
    snprintf(e->text[REMOTE], VARIABLE_BYTES, "MUXBED_REMOTE=%s", ips[!side]);
    snprintf(e->text[PORT], VARIABLE_BYTES, "MUXBED_PORT=%d", NETNS_RUN_PORT);
    snprintf(e->text[ROLE], VARIABLE_BYTES, "MUXBED_ROLE=%s", r->sides[side].name);
    snprintf(e->text[RATE], VARIABLE_BYTES, "MUXBED_RATE_BPS=%" PRId64, (int64_t)s->path_rate);
    snprintf(e->text[DELAY], VARIABLE_BYTES, "MUXBED_DELAY_MS=%g", ns_to_ms(s->path_delay));
    snprintf(e->text[SEED], VARIABLE_BYTES, "MUXBED_SEED=%" PRId64, s->seed);
    snprintf(e->text[OPTION], VARIABLE_BYTES, "MUXBED_OPTION=%s", s->exec_option);
    if (s->duration == NS_NEVER) {
        snprintf(e->text[DURATION], VARIABLE_BYTES, "MUXBED_DURATION_S=");
    } else {
        snprintf(e->text[DURATION], VARIABLE_BYTES, "MUXBED_DURATION_S=%g", ns_to_s(s->duration));
    }
    len = snprintf(e->text[FOLDER], VARIABLE_BYTES, "MUXBED_RUN_DIR=%s", folder);
    free(folder);
    for (int i = 0; i < VARIABLES; i++) {
        e->list[i] = e->text[i];
    }
    e->list[VARIABLES] = NULL;
    return len < VARIABLE_BYTES ? 0 : ERR_LIMIT;
}

static int start(struct netns_run *r, int side)
{
    const struct scenario *s = &r->run->scenario;
    struct netns_side *n = &r->sides[side];
    char log[NETNS_RUN_PATH_MAX], out[NETNS_RUN_PATH_MAX], name[32];
    struct environment env;
    struct exec_program program = {.command =
                                       side == NETNS_SENDER ? s->exec_sender : s->exec_receiver,
                                   .out_path = out,
                                   .environment = env.list};
    struct child_options o = {.name = n->name,
                              .log_path = log,
                              .ns_fd = chain_ns(r->chain, n->node),
                              .run = exec_program_run,
                              .arg = &program};

    snprintf(name, sizeof name, "log/%s", n->name);
    if (netns_run_path(r, log, name, ".log") || netns_run_path(r, out, name, ".out") ||
        set_environment(&env, r, side)) {
        return message_set(r->m, ERR_LIMIT, "%.100s: cannot be given to a command", r->opt->dir);
    }
    return child_start(&n->agent, &o, r->m);
}

/* Whether a command has printed the text: its output may be a second behind what it did. */
static bool printed(struct netns_run *r, const struct netns_side *n, const char *text)
{
    static const char *const suffixes[] = {".out", ".log"};
    char *seen = malloc(OUTPUT_LOOKED_AT_BYTES);
    bool found = false;

    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes && seen && !found; i++) {
        char path[NETNS_RUN_PATH_MAX], name[32];
        FILE *f;

        snprintf(name, sizeof name, "log/%s", n->name);
        f = netns_run_path(r, path, name, suffixes[i]) ? NULL : fopen(path, "re");
        if (f) {
            size_t len = fread(seen, 1, OUTPUT_LOOKED_AT_BYTES, f);

            found = memmem(seen, len, text, strlen(text)) != NULL;
            fclose(f);
        }
    }
    free(seen);
    return found;
}

static bool is_ready(struct netns_run *r, const struct exec_ready *ready)
{
    struct netns_side *n = &r->sides[netns_exec_server(r)];

    switch (ready->kind) {
    case EXEC_READY_NONE: return true;
    case EXEC_READY_LINE: return printed(r, n, ready->line);
    case EXEC_READY_TCP:
    case EXEC_READY_UDP:
        return exec_port_open(n->agent.pid, ready->kind == EXEC_READY_TCP, ready->port);
    }
    return false;
}

static int await_ready(struct netns_run *r)
{
    const struct scenario *s = &r->run->scenario;
    struct netns_side *n = &r->sides[netns_exec_server(r)];
    ns_t deadline = ns_add(realtime_mono(), s->exec_ready_timeout);
    struct exec_ready ready;

    if (exec_ready_parse(&ready, s->exec_ready)) {
        return message_set(r->m, ERR_CONFIG, "exec.ready: allowed: " EXEC_READY_ALLOWED);
    }
    while (!is_ready(r, &ready)) {
        ns_t now = realtime_mono();

        if (child_wait(&n->agent, now + READY_LOOK_EVERY)) {
            return netns_agents_not_ready(r, n);
        }
        if (now >= deadline) {
            return message_set(r->m, ERR_OS,
                               "the %s's command is not ready after exec.ready-timeout (%g s): "
                               "waited for %.60s",
                               n->name, ns_to_s(s->exec_ready_timeout), s->exec_ready);
        }
    }
    return 0;
}

int netns_exec_start(struct netns_run *r)
{
    int rc = start(r, netns_exec_server(r));

    return rc ? rc : await_ready(r);
}

int netns_exec_release(struct netns_run *r)
{
    r->start = realtime_mono();
    r->wall_offset_start = realtime_wall_offset();
    return start(r, !netns_exec_server(r));
}

/* When one command has ended, what is on the way still counts; then the other is told. */
static void follow(const struct netns_run *r, struct netns_stopping ends[NETNS_SIDES],
                   bool over[NETNS_SIDES], ns_t now)
{
    ns_t grace = run_bounds_path(&r->run->scenario) + NETNS_STOP_GRACE;

    for (int i = 0; i < NETNS_SIDES; i++) {
        if (!over[i] && !child_running(&r->sides[i].agent)) {
            over[i] = true;
            ends[!i].next = ns_min(ends[!i].next, ns_add(now, grace));
        }
    }
}

int netns_exec_wait(struct netns_run *r)
{
    const struct scenario *s = &r->run->scenario;
    ns_t limit = ns_add(r->start, s->duration != NS_NEVER ? s->duration : s->time_limit);
    struct netns_stopping ends[NETNS_SIDES] = {
        {&r->sides[NETNS_SENDER], NS_NEVER, SIGTERM},
        {&r->sides[NETNS_RECEIVER], NS_NEVER, SIGTERM},
    };
    bool over[NETNS_SIDES] = {false, false};
    ns_t now = realtime_mono(), progress = r->start;
    int rc = 0;

    ends[!netns_exec_server(r)].next = limit;
    while (!rc && !(over[NETNS_SENDER] && over[NETNS_RECEIVER])) {
        rc = netns_agents_poll(r, ns_min(progress, ns_min(ends[0].next, ends[1].next)));
        now = realtime_mono();
        for (int i = 0; i < NETNS_SIDES; i++) {
            (void)child_wait(&r->sides[i].agent, 0);
        }
        follow(r, ends, over, now);
        for (int i = 0; i < NETNS_SIDES; i++) {
            netns_agents_step(&ends[i], now);
        }
        netns_agents_progress(r, now, &progress);
    }
    return rc ? rc : netns_agents_ended(r, now);
}
