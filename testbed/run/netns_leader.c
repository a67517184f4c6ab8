/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/netns_run.h"

#include "agents/base/err.h"
#include "testbed/netns/netns.h"
#include "testbed/run/run_path.h"
#include "testbed/wire/realtime.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    const char *name;
    enum topology_node node;
    int64_t role;
} sides[NETNS_SIDES] = {
    [NETNS_SENDER] = {"sender", TOPOLOGY_SENDER, AGENT_ROLE_SENDER},
    [NETNS_RECEIVER] = {"receiver", TOPOLOGY_RECEIVER, AGENT_ROLE_RECEIVER},
};

static void configure(struct netns_run *r)
{
    struct manifest *m = &r->manifest;
    struct addr hosts[NETNS_SIDES];

    for (int i = 0; i < NETNS_SIDES; i++) {
        hosts[i] = topology_host(&r->topo, sides[i].node, NETNS_RUN_PORT);
    }
    for (int i = 0; i < NETNS_SIDES; i++) {
        struct netns_side *s = &r->sides[i];

        snprintf(s->name, sizeof s->name, "%s", sides[i].name);
        s->node = sides[i].node;
        s->config = scenario_agent_config(&r->run->scenario, sides[i].role);
        s->config.local = hosts[i];
        s->config.remote = hosts[!i];
    }
    *m = (struct manifest){.run = r->run,
                           .plan = r->opt->plan,
                           .link = r->topo.kind == TOPOLOGY_WIRE ? "wire" : "netem",
                           .link_why = r->opt->link_why,
                           .port = NETNS_RUN_PORT,
                           .burst_bytes = r->topo.tbf.burst_bytes};
    inet_ntop(AF_INET, hosts[NETNS_SENDER].ip, m->sender_ip, sizeof m->sender_ip);
    inet_ntop(AF_INET, hosts[NETNS_RECEIVER].ip, m->receiver_ip, sizeof m->receiver_ip);
}

static int lay_out(struct netns_run *r)
{
    const struct scenario *s = &r->run->scenario;
    const struct shape_path path = {
        .rate = s->path_rate, .delay = s->path_delay, .queue_bytes = scenario_queue_bytes(s)};

    int rc = topology_init(&r->topo, r->opt->link == RUN_LINK_WIRE ? TOPOLOGY_WIRE : TOPOLOGY_NETEM,
                           &path, r->m);

    for (enum topology_direction d = 0; d < TOPOLOGY_DIRECTIONS; d++) {
        r->topo.impair[d] = run_path_impair(s, d);
    }
    return rc;
}

static int prepare_folder(struct netns_run *r)
{
    char path[NETNS_RUN_PATH_MAX];

    if (netns_run_path(r, path, "log", "")) {
        return ERR_LIMIT;
    }
    if ((mkdir(path, 0777) && errno != EEXIST) ||
        manifest_write_inputs(r->run, &r->sides[NETNS_SENDER].config,
                              &r->sides[NETNS_RECEIVER].config, r->opt->dir)) {
        return message_set(r->m, ERR_OS, "%.180s: %s", r->opt->dir, strerror(errno));
    }
    return 0;
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
    configure(r);
    rc = prepare_folder(r);
    rc = rc ? rc : build_chain(r);
    rc = rc ? rc : netns_wire_start(r);
    rc = rc ? rc : netns_warm_up(r);
    return rc ? rc : netns_certify(r);
}

static int set_up(struct netns_run *r)
{
    bool exec = netns_exec_wanted(r);
    ns_t begin = realtime_mono();
    int rc = set_up_link(r);

    rc = rc ? rc : netns_wire_reset(r);
    rc = rc ? rc : chain_impair(r->chain, r->m);
    rc = rc ? rc : netns_capture_start(r);
    rc = rc ? rc : exec ? netns_exec_start(r) : netns_agents_start(r);
    rc = rc ? rc : chain_counters(r->chain, &r->base[0], &r->base[1], r->m);
    rc = rc ? rc : exec ? netns_exec_release(r) : netns_agents_release(r);
    r->timing.ready = r->start - begin;
    if (!rc) {
        netns_rates_start(&r->rates, &r->run->scenario, r->start);
    }
    return rc;
}

static int wind_up(struct netns_run *r)
{
    int rc;

    netns_rates_stop(&r->rates);
    rc = netns_capture_finish(r);
    rc = rc ? rc : chain_counters(r->chain, &r->links[0], &r->links[1], r->m);
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
    rc = manifest_write(&r->manifest, r->opt->dir);
    rc = rc ? rc : manifest_write_done(r->opt->dir);
    return rc ? message_set(r->m, rc, "%.180s: %s", r->opt->dir,
                            rc == ERR_OS ? strerror(errno) : err_text(rc))
              : 0;
}

static void release(struct netns_run *r)
{
    for (size_t i = 0; i < NETNS_SIDES * r->pair_count; i++) {
        struct netns_side *s = &r->sides[i];

        child_kill(&s->agent);
        if (s->ready_fd >= 0) {
            close(s->ready_fd);
        }
        if (s->start_fd >= 0) {
            close(s->start_fd);
        }
    }
    service_kill(&r->wire);
    service_kill(&r->capture);
    chain_down(r->chain);
    netns_rates_fini(&r->rates);
}

static void begin_empty(struct netns_run *r)
{
    r->wire = r->capture = SERVICE_NONE;
    r->call_count = r->pair_count = 1;
    for (int i = 0; i < NETNS_SIDES; i++) {
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
    rc = rc ? rc : netns_exec_wanted(r) ? netns_exec_wait(r) : netns_agents_wait(r);
    rc = rc ? rc : wind_up(r);
    release(r);
    return rc;
}
