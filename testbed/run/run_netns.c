/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The orchestrator's side of a run in real namespaces. All of the run belongs to one process, its
 * leader, which the kernel kills when the orchestrator dies, as it does the leader's own children:
 * so nothing has to be cleaned up, however the orchestrator ends. */
#include "testbed/run/run.h"

#include "agents/base/err.h"
#include "testbed/netns/netns.h"
#include "testbed/run/netns_run.h"
#include "testbed/wire/realtime.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PROBE_TIMEOUT (10 * NS_PER_S)
#define SILENCE_MAX                                                                                \
    (5 * 60 * NS_PER_S) /* set-up, drain; in between, progress comes all the time                  \
                         */

enum { WORD_PROGRESS, WORD_END };

/* What the leader says: progress, or last of all the end with an empty or a failing code. */
struct word {
    int kind;
    ns_t run_time;
};

struct leading {
    const struct plan_run *run;
    const struct run_options *opt;
    int fd;
};

static void tell_progress(void *ctx, ns_t run_time)
{
    const struct leading *l = ctx;
    const struct word w = {.kind = WORD_PROGRESS, .run_time = run_time};

    /* A stopped orchestrator (Ctrl-Z) must not stop the run's supervision. */
    service_notify(l->fd, &w, sizeof w);
}

/* The leader itself. It leaves the terminal's process group, so that an interrupt typed there
 * reaches the orchestrator alone, which takes the run with it. */
static int lead(int fd, void *arg)
{
    struct leading *l = arg;
    struct message m = {0};
    struct netns_run r = {
        .run = l->run, .opt = l->opt, .progress = tell_progress, .progress_ctx = l, .m = &m};
    const struct word end = {.kind = WORD_END};
    int rc;

    l->fd = fd;
    (void)setpgid(0, 0);
    rc = netns_leader(&r);
    service_answer(fd, rc, &m, &end, sizeof end);
    return 0;
}

static int follow(struct service *leader, const struct run_options *opt, struct message *m)
{
    for (;;) {
        struct word w;
        int rc = service_expect(leader, &w, sizeof w, realtime_mono() + SILENCE_MAX, m);

        if (rc || w.kind == WORD_END) {
            return rc;
        }
        if (opt->progress) {
            opt->progress(opt->ctx, w.run_time);
        }
    }
}

int run_netns(const struct plan_run *run, const struct run_options *opt, char *message, size_t len)
{
    struct leading leading = {.run = run, .opt = opt};
    struct service_options o = {
        .child = {.name = "the run's leader", .ns_fd = -1}, .serve = lead, .arg = &leading};
    struct service leader = SERVICE_NONE;
    struct message m = {0};
    int rc = service_start(&leader, &o, &m);

    rc = rc ? rc : follow(&leader, opt, &m);
    if (!rc) { /* until it has gone, its namespaces have not */
        (void)child_wait(&leader.child, realtime_mono() + PROBE_TIMEOUT);
    }
    service_kill(&leader);
    if (rc) {
        snprintf(message, len, "%s: %s", run->name, m.text);
    }
    return rc;
}

/* ---- probe ---- */

struct finding {
    int realtime, user_namespace;
};

/* Builds a small chain of the kind for real. */
static int probe(enum topology_kind kind, struct finding *f, struct message *m)
{
    const struct shape_path path = {
        .rate = 5000000, .delay = 10 * NS_PER_MS, .queue_bytes = 187500};
    uid_t uid = geteuid();
    struct topology t;
    struct chain *c;
    int rc = topology_init(&t, kind, &path, m);

    rc = rc ? rc : netns_acquire(m);
    rc = rc ? rc : chain_up(&c, &t, m);
    if (rc) {
        return rc;
    }
    rc = kind == TOPOLOGY_WIRE ? netns_wire_try(c, m) : 0;
    chain_down(c);
    *f = (struct finding){.realtime = realtime_schedule(REALTIME_WIRE),
                          .user_namespace = geteuid() != uid};
    return rc;
}

static int serve_probe(int fd, void *arg)
{
    const enum topology_kind *kind = arg;
    struct finding f = {0};
    struct message m = {0};
    int rc = probe(*kind, &f, &m);

    service_answer(fd, rc, &m, &f, sizeof f);
    return 0;
}

int run_netns_probe(enum run_link wanted, char *message, size_t len)
{
    enum topology_kind kind = wanted == RUN_LINK_WIRE ? TOPOLOGY_WIRE : TOPOLOGY_NETEM;
    struct service_options o = {
        .child = {.name = "the probe", .ns_fd = -1}, .serve = serve_probe, .arg = &kind};
    struct service s = SERVICE_NONE;
    struct message m = {0};
    struct finding f;
    int rc;

    if (wanted == RUN_LINK_SIM) {
        return 0;
    }
    rc = service_start(&s, &o, &m);
    rc = rc ? rc : service_expect(&s, &f, sizeof f, realtime_mono() + PROBE_TIMEOUT, &m);
    service_kill(&s);
    if (rc) {
        snprintf(message, len, "%s", m.text);
        return ERR_OS;
    }
    snprintf(message, len, "kernel tbf and %s%s%s",
             wanted == RUN_LINK_WIRE ? "a user-space delay line" : "kernel netem",
             f.user_namespace ? ", in a user namespace" : "",
             f.realtime ? "" : ", without real-time priority");
    return 0;
}
