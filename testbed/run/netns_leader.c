/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/netns_run.h"

#include "agents/base/err.h"
#include "testbed/netns/netns.h"
#include "testbed/run/netns_queue.h"
#include "testbed/run/run_path.h"
#include "testbed/scenario/scenario_flows.h"
#include "testbed/wire/realtime.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

_Static_assert(SCENARIO_SEGMENT_COUNT_MAX == TOPOLOGY_SEGMENTS_MAX, "all bottlenecks fit");

/* What the kernel's shapers have below them. */
static int discipline(struct netns_run *r)
{
    int rc = 0;

    for (size_t i = 0; i < topology_link_count(&r->topo) && !rc; i++) {
        const struct aqm_config cfg =
            run_path_aqm(&r->run->scenario, (enum topology_direction)(i % TOPOLOGY_DIRECTIONS),
                         (int)(i / TOPOLOGY_DIRECTIONS));

        rc = shape_aqm(&r->topo.aqm[i], &cfg, r->topo.paths[i].queue_bytes, r->m);
    }
    return rc;
}

static int lay_out(struct netns_run *r)
{
    const struct scenario *s = &r->run->scenario;
    struct shape_path paths[TOPOLOGY_SEGMENTS_MAX] = {
        {.rate = s->path_rate, .delay = s->path_delay, .queue_bytes = scenario_queue_bytes(s)}};
    size_t count = scenario_segment_count(s);
    int rc;

    for (size_t k = 1; k < count; k++) {
        const struct scenario_segment *g = &s->segments[k - 1];

        paths[k] = (struct shape_path){
            .rate = g->rate, .delay = g->delay, .queue_bytes = scenario_segment_queue_bytes(g)};
    }
    rc =
        topology_init_line(&r->topo, r->opt->link == RUN_LINK_WIRE ? TOPOLOGY_WIRE : TOPOLOGY_NETEM,
                           paths, count, r->m);
    if (!rc && scenario_back_rate_is_own(s)) {
        bps_t rate = scenario_rate_of(s, SCENARIO_BACKWARD);

        rc = topology_set_rate(&r->topo, TOPOLOGY_BACKWARD, rate, scenario_queue_bytes_at(s, rate),
                               r->m);
    }
    for (enum topology_direction d = 0; d < TOPOLOGY_DIRECTIONS; d++) {
        r->topo.impair[d] = run_path_impair(s, d);
    }
    if (netns_queue_wanted(r)) {
        topology_wire_shapes(&r->topo);
    }
    return rc || r->topo.kind == TOPOLOGY_WIRE ? rc : discipline(r);
}

static int build_chain(struct netns_run *r)
{
    ns_t begin = realtime_mono();
    int rc = netns_acquire(r->m);

    rc = rc ? rc : chain_up(&r->chain, &r->topo, r->m);
    r->timing.chain_up = realtime_mono() - begin;
    return rc;
}

/* The link without agents, measured. */
static int set_up_link(struct netns_run *r)
{
    int rc = lay_out(r);

    if (rc) {
        return rc;
    }
    netns_pairs_init(r);
    rc = netns_pairs_write(r);
    rc = rc ? rc : build_chain(r);
    rc = rc ? rc : netns_wire_start(r);
    rc = rc ? rc : netns_warm_up(r);
    return rc ? rc : netns_certify(r);
}

/* What runs at the ends of the path. */
struct programs {
    int (*start)(struct netns_run *r);
    int (*release)(struct netns_run *r);
    int (*wait)(struct netns_run *r);
};

static const struct programs *programs_of(const struct netns_run *r)
{
    static const struct programs agents = {netns_agents_start, netns_agents_release,
                                           netns_agents_wait},
                                 commands = {netns_exec_start, netns_exec_release, netns_exec_wait},
                                 music = {netns_http_start, netns_http_release, netns_http_wait};

    return netns_exec_wanted(r) ? &commands : netns_http_wanted(r) ? &music : &agents;
}

static int count_links(struct netns_run *r, struct chain_link links[TOPOLOGY_LINKS_MAX])
{
    int rc = 0;

    for (size_t i = 0; i < topology_link_count(&r->topo) && !rc; i++) {
        rc = chain_link_counters(r->chain, i, &links[i], r->m);
    }
    return rc;
}

/* Why the shapers tell nothing; NULL when they do. */
static const char *unjudged(const struct netns_run *r)
{
    return netns_queue_wanted(r) ? "path.aqm: the delay line shapes, and says how late it was"
           : r->run->scenario.path_aqm != SCENARIO_AQM_DROP_TAIL
               ? "path.aqm: what waits may be dropped instead of sent"
               : NULL;
}

static int set_up(struct netns_run *r)
{
    const struct programs *programs = programs_of(r);
    ns_t begin = realtime_mono();
    int rc = set_up_link(r);

    rc = rc ? rc : netns_wire_reset(r);
    rc = rc ? rc : chain_impair(r->chain, r->m);
    rc = rc ? rc : netns_capture_start(r);
    rc = rc ? rc : netns_traffic_start(r);
    rc = rc ? rc : programs->start(r);
    rc = rc ? rc : count_links(r, r->base);
    rc = rc ? rc : programs->release(r);
    rc = rc ? rc : netns_traffic_release(r);
    rc = rc ? rc : netns_queue_start(r);
    r->timing.ready = r->start - begin;
    if (!rc && !netns_queue_wanted(r)) {
        netns_rates_start(&r->rates, &r->run->scenario, r->start);
    }
    if (!rc) {
        netns_watch_start(&r->watch, r->chain, unjudged(r));
    }
    return rc;
}

static int wind_up(struct netns_run *r)
{
    int rc;

    netns_rates_stop(&r->rates);
    netns_watch_stop(&r->watch);
    rc = netns_traffic_stop(r);
    rc = rc ? rc : netns_http_finish(r);
    rc = rc ? rc : netns_capture_finish(r);
    rc = rc ? rc : netns_traffic_finish(r);
    rc = rc ? rc : count_links(r, r->links);
    rc = rc ? rc : chain_losses(r->chain, &r->losses, r->m);
    rc = rc ? rc : chain_changes(r->chain, &r->changes, r->m);
    rc = rc ? rc : netns_wire_finish(r);
    if (rc) {
        return rc;
    }
    netns_judge(r);
    rc = netns_write_links(r);
    if (rc) {
        return rc;
    }
    rc = netns_watch_certify(&r->watch, r->opt->dir);
    rc = rc ? rc : netns_pairs_manifests(r);
    rc = rc ? rc : manifest_write_done(r->opt->dir);
    return rc ? message_set(r->m, rc, "%.180s: %s", r->opt->dir,
                            rc == ERR_OS ? strerror(errno) : err_text(rc))
              : 0;
}

static void release(struct netns_run *r)
{
    for (size_t i = 0; i < NETNS_PAIRS_MAX * NETNS_SIDES; i++) {
        struct netns_side *s = &r->sides[i];

        child_kill(&s->agent);
        if (s->ready_fd >= 0) {
            close(s->ready_fd);
        }
        if (s->start_fd >= 0) {
            close(s->start_fd);
        }
    }
    netns_http_release_all(r);
    service_kill(&r->traffic);
    for (size_t k = 0; k < TOPOLOGY_SEGMENTS_MAX; k++) {
        service_kill(&r->wires[k]);
    }
    service_kill(&r->capture);
    chain_down(r->chain);
    netns_rates_fini(&r->rates);
}

static void begin_empty(struct netns_run *r)
{
    for (size_t k = 0; k < TOPOLOGY_SEGMENTS_MAX; k++) {
        r->wires[k] = SERVICE_NONE;
    }
    r->capture = r->traffic = r->http.watch = SERVICE_NONE;
    r->watch.next = NS_NEVER;
    for (size_t i = 0; i < NETNS_PAIRS_MAX * NETNS_SIDES; i++) {
        r->sides[i].agent = CHILD_NONE;
        r->sides[i].ready_fd = r->sides[i].start_fd = -1;
    }
}

int netns_trial(struct netns_run *r)
{
    int rc;

    begin_empty(r);
    rc = set_up_link(r);
    rc = rc ? rc : netns_wire_finish(r);
    release(r);
    return rc;
}

int netns_leader(struct netns_run *r)
{
    int rc;

    begin_empty(r);
    rc = set_up(r);
    rc = rc ? rc : programs_of(r)->wait(r);
    rc = rc ? rc : wind_up(r);
    release(r);
    return rc;
}
