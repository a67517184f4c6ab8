/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which agents a run has: a pair per call, at either end of the path. Each call has a folder: the
 * first the run's, every other one of its own within, which is a run folder by itself but for what
 * belongs to all. */
#include "testbed/run/netns_run.h"

#include "agents/base/err.h"
#include "testbed/scenario/scenario_flows.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const struct {
    const char *name;
    int64_t role;
} ends[NETNS_SIDES] = {
    [NETNS_SENDER] = {"sender", AGENT_ROLE_SENDER},
    [NETNS_RECEIVER] = {"receiver", AGENT_ROLE_RECEIVER},
};

static const enum topology_node hosts[TOPOLOGY_DIRECTIONS][NETNS_SIDES] = {
    [TOPOLOGY_FORWARD] = {TOPOLOGY_SENDER, TOPOLOGY_RECEIVER},
    [TOPOLOGY_BACKWARD] = {TOPOLOGY_RECEIVER, TOPOLOGY_SENDER},
};

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

enum topology_node netns_host(enum scenario_direction d, int end)
{
    return hosts[d == SCENARIO_BACKWARD ? TOPOLOGY_BACKWARD : TOPOLOGY_FORWARD][end];
}

enum topology_node netns_call_host(const struct netns_run *r, size_t call, int end)
{
    const struct scenario *s = &r->run->scenario;
    bool forward = scenario_call_direction(s, call) == SCENARIO_FORWARD;
    size_t first, last;

    scenario_call_segments(s, call, &first, &last);
    return (end == NETNS_SENDER) == forward ? topology_entry(first) : topology_exit(&r->topo, last);
}

const struct plan_run *netns_pair_run(const struct netns_run *r, size_t pair)
{
    return pair == 0 ? r->run : pair < r->call_count ? &r->further[pair - 1].run : NULL;
}

struct manifest *netns_pair_manifest(struct netns_run *r, size_t pair)
{
    return pair == 0 ? &r->manifest : pair < r->call_count ? &r->further[pair - 1].manifest : NULL;
}

/* ---- who they are ---- */

/* The next pair, of call n. */
static void add_call(struct netns_run *r, size_t n)
{
    size_t pair = r->pair_count++;
    const struct scenario *s = &netns_pair_run(r, pair)->scenario;
    struct manifest *m = netns_pair_manifest(r, pair);
    struct addr addresses[NETNS_SIDES];

    for (int i = 0; i < NETNS_SIDES; i++) {
        addresses[i] = topology_host(&r->topo, netns_call_host(r, n, i), scenario_call_port(n));
    }
    for (int i = 0; i < NETNS_SIDES; i++) {
        struct netns_side *side = &r->sides[NETNS_SIDES * pair + (size_t)i];

        if (n > 0) {
            snprintf(side->folder, sizeof side->folder, "%s/", scenario_call_name(n));
        }
        snprintf(side->name, sizeof side->name, "%s", ends[i].name);
        side->node = netns_call_host(r, n, i);
        side->config = scenario_agent_config(s, ends[i].role);
        side->config.local = addresses[i];
        side->config.remote = addresses[!i];
    }
    *m = (struct manifest){.run = netns_pair_run(r, pair),
                           .call = n,
                           .plan = r->opt->plan,
                           .link = r->topo.kind == TOPOLOGY_WIRE ? "wire" : "netem",
                           .link_why = r->opt->link_why,
                           .port = scenario_call_port(n),
                           .burst_bytes = r->topo.tbf[TOPOLOGY_FORWARD].burst_bytes};
    inet_ntop(AF_INET, addresses[NETNS_SENDER].ip, m->sender_ip, sizeof m->sender_ip);
    inet_ntop(AF_INET, addresses[NETNS_RECEIVER].ip, m->receiver_ip, sizeof m->receiver_ip);
}

/* The next pair, of UDP that heeds nothing: without records or a folder of its own. */
static void add_udp(struct netns_run *r, enum scenario_direction d)
{
    struct netns_side *side = &r->sides[NETNS_SIDES * r->pair_count++];

    for (int i = 0; i < NETNS_SIDES; i++) {
        snprintf(side[i].name, sizeof side[i].name, "%s.%s", scenario_udp_name(d), ends[i].name);
        side[i].node = netns_host(d, i);
        side[i].config = scenario_udp_config(&r->run->scenario, d, ends[i].role);
        side[i].config.local = topology_host(&r->topo, side[i].node, scenario_udp_port(d));
        side[i].config.remote = topology_host(&r->topo, netns_host(d, !i), scenario_udp_port(d));
    }
}

void netns_pairs_init(struct netns_run *r)
{
    const struct scenario *s = &r->run->scenario;

    r->call_count = r->pair_count = 0;
    for (size_t n = 0; n < SCENARIO_CALL_COUNT_MAX; n++) {
        if (!scenario_has_call(s, n)) {
            continue;
        }
        if (n > 0) {
            struct plan_run *call = &r->further[r->call_count - 1].run;

            *call = *r->run;
            call->scenario = scenario_of_call(s, n);
            snprintf(call->name, sizeof call->name, "%s", scenario_call_name(n));
        }
        r->call_count++;
        add_call(r, n);
    }
    for (enum scenario_direction d = 0; d < SCENARIO_UDP_MAX; d++) {
        if (scenario_udp_there(&s->udp[d])) {
            add_udp(r, d);
        }
    }
}

/* ---- their folders ---- */

static int make_folder(struct netns_run *r, const char *name, const char *below)
{
    char path[NETNS_RUN_PATH_MAX];

    if (netns_run_path(r, path, name, below)) {
        return ERR_LIMIT;
    }
    return mkdir(path, 0777) && errno != EEXIST
               ? message_set(r->m, ERR_OS, "%.180s: %s", path, strerror(errno))
               : 0;
}

/* As in virtual time, what there is of a run at its beginning. */
static int write_call(struct netns_run *r, size_t pair)
{
    const struct netns_side *s = &r->sides[NETNS_SIDES * pair];
    char dir[NETNS_RUN_PATH_MAX];
    int rc = netns_run_path(r, dir, s->folder, "");

    if (!rc && manifest_write_inputs(netns_pair_run(r, pair), &s[NETNS_SENDER].config,
                                     &s[NETNS_RECEIVER].config, dir)) {
        rc = message_set(r->m, ERR_OS, "%.180s: %s", dir, strerror(errno));
    }
    return rc;
}

/* What the agents of pairs behind the first are told; the first's is among the run's inputs. */
static int write_further(struct netns_run *r, size_t pair)
{
    const struct netns_side *s = &r->sides[NETNS_SIDES * pair];
    char path[NETNS_RUN_PATH_MAX];
    int rc = s->folder[0] ? make_folder(r, s->folder, "") : 0;

    rc = rc || !s->folder[0] ? rc : make_folder(r, s->folder, "log");
    if (!rc && netns_pair_run(r, pair)) {
        return write_call(r, pair);
    }
    for (int i = 0; i < NETNS_SIDES && !rc; i++) {
        rc = netns_side_path(r, &s[i], path, "", ".conf");
        if (!rc && manifest_write_conf(&s[i].config, path)) {
            rc = message_set(r->m, ERR_OS, "%.180s: %s", path, strerror(errno));
        }
    }
    return rc;
}

int netns_pairs_write(struct netns_run *r)
{
    int rc = make_folder(r, "log", "");

    if (!rc && manifest_write_inputs(r->run, &r->sides[NETNS_SENDER].config,
                                     &r->sides[NETNS_RECEIVER].config, r->opt->dir)) {
        rc = message_set(r->m, ERR_OS, "%.180s: %s", r->opt->dir, strerror(errno));
    }
    for (size_t i = 1; i < r->pair_count && !rc; i++) {
        rc = write_further(r, i);
    }
    return rc;
}

int netns_pairs_manifests(struct netns_run *r)
{
    int rc = 0;

    for (size_t i = r->call_count; i-- > 0 && !rc;) { /* the run's last, which says it is there */
        char dir[NETNS_RUN_PATH_MAX];

        rc = netns_run_path(r, dir, r->sides[NETNS_SIDES * i].folder, "");
        rc = rc ? rc : manifest_write(netns_pair_manifest(r, i), dir);
    }
    return rc;
}
