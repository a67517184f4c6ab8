/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The delay lines of a run: a process in the middle of each bottleneck. */
#include "testbed/run/netns_run.h"

#include "agents/base/err.h"
#include "testbed/netns/netns.h"
#include "testbed/run/netns_queue.h"
#include "testbed/scenario/scenario_flows.h"
#include "testbed/wire/realtime.h"

#include <stdio.h>

#define READY_TIMEOUT (10 * NS_PER_S)
#define REPORT_TIMEOUT (10 * NS_PER_S)

/* What one of them is to do. */
struct line {
    const struct netns_run *r;
    size_t segment;
};

static struct wire_config settings(const struct topology *t, size_t segment)
{
    const struct impair_config *forward = &t->impair[topology_link(segment, TOPOLOGY_FORWARD)];
    const struct impair_config *backward = &t->impair[topology_link(segment, TOPOLOGY_BACKWARD)];

    return (struct wire_config){.west = "west",
                                .east = "east",
                                .impair = {[WIRE_EASTWARD] = *forward, [WIRE_WESTWARD] = *backward},
                                .rate = ns_max(forward->rate, backward->rate)};
}

enum wire_direction netns_wire_direction(size_t link)
{
    return link % TOPOLOGY_DIRECTIONS == TOPOLOGY_FORWARD ? WIRE_EASTWARD : WIRE_WESTWARD;
}

ns_t netns_wire_extras(const struct netns_run *r, struct wire_extra extra[WIRE_EXTRAS_MAX])
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

/* A call waits within the first bottleneck that it crosses, and there alone. */
static void set_extras(const struct line *l, struct wire_config *cfg)
{
    (void)netns_wire_extras(l->r, cfg->extra);
    for (size_t n = 0; l->r->run && n < SCENARIO_CALL_COUNT_MAX; n++) {
        size_t first, last;

        scenario_call_segments(&l->r->run->scenario, n, &first, &last);
        if (first != l->segment) {
            cfg->extra[n] = (struct wire_extra){0};
        }
    }
}

static int serve(int fd, void *arg)
{
    const struct line *l = arg;
    struct wire_config cfg = settings(&l->r->topo, l->segment);
    struct netns_queue queue;
    struct wire_report report;
    struct message m;
    struct wire *w;
    int rc;

    netns_queue_shape(&queue, l->r, l->segment, cfg.shape);
    set_extras(l, &cfg);
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

/* "wire", "wire2", "wire3": of processes and their logs. */
static const char *name_of(size_t segment)
{
    static const char *const names[TOPOLOGY_SEGMENTS_MAX] = {"wire", "wire2", "wire3"};

    return names[segment];
}

static int start(struct netns_run *r, size_t segment)
{
    char log[NETNS_RUN_PATH_MAX], name[16];
    struct line line = {r, segment};
    struct service_options o = {.child = {.name = name_of(segment),
                                          .log_path = log,
                                          .ns_fd = chain_ns(r->chain, topology_middle(segment)),
                                          .priority = REALTIME_WIRE},
                                .serve = serve,
                                .arg = &line};
    int rc;

    snprintf(name, sizeof name, "log/%s", name_of(segment));
    rc = netns_run_path(r, log, name, ".log");
    rc = rc ? rc : service_start(&r->wires[segment], &o, r->m);
    return rc ? rc
              : service_expect(&r->wires[segment], NULL, 0, realtime_mono() + READY_TIMEOUT, r->m);
}

static int finish(struct netns_run *r, size_t segment)
{
    struct service *s = &r->wires[segment];
    struct wire_report *report = &r->wire_reports[segment];
    int rc = service_command(s, WIRE_STOP, r->m);

    rc =
        rc ? rc : service_expect(s, report, sizeof *report, realtime_mono() + REPORT_TIMEOUT, r->m);
    if (!rc) {
        (void)child_wait(&s->child, realtime_mono() + REPORT_TIMEOUT);
    }
    service_kill(s);
    return rc;
}

/* How many there are. */
static size_t count(const struct netns_run *r)
{
    return r->topo.kind == TOPOLOGY_WIRE ? r->topo.segment_count : 0;
}

int netns_wire_start(struct netns_run *r)
{
    int rc = 0;

    for (size_t i = 0; i < count(r) && !rc; i++) {
        rc = start(r, i);
    }
    return rc;
}

int netns_wire_reset(struct netns_run *r)
{
    int rc = 0;

    for (size_t i = 0; i < count(r) && !rc; i++) {
        rc = service_command(&r->wires[i], WIRE_RESET, r->m);
    }
    return rc;
}

int netns_wire_finish(struct netns_run *r)
{
    int rc = 0;

    for (size_t i = 0; i < count(r) && !rc; i++) {
        rc = finish(r, i);
    }
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
    struct attempt a = {.cfg = settings(chain_topology(c), 0), .m = m};

    return netns_call(chain_ns(c, TOPOLOGY_MIDDLE), try_wire, &a);
}
