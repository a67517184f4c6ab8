/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pairs of agents that share one bottleneck in virtual time, nothing written: what each has of it.
 */
#ifndef TESTBED_SIM_SHARED_PATH_TEST_H
#define TESTBED_SIM_SHARED_PATH_TEST_H

#include "agents/base/prng.h"
#include "testbed/sim/sim.h"

#include <stdio.h>
#include <string.h>

#define SHARED_PATH_PAIRS 2

struct shared_path_case {
    struct agent_config agents[SHARED_PATH_PAIRS]; /* of both sides but for role and addresses */
    bps_t rate;
    ns_t delay, queue;
    ns_t from, until; /* what is counted, and the end */
    uint64_t seed;
};

struct shared_path_result {
    int64_t bytes[SHARED_PATH_PAIRS]; /* Ethernet bytes received from `from` on */
    char error[200];                  /* empty for an orderly run */
};

struct shared_path_side {
    int64_t *bytes; /* NULL: of a sender */
    ns_t from;
    struct prng random;
    struct record_sink sink;
};

static inline void shared_path_put(void *ctx, enum record_kind kind, const char *name,
                                   const int64_t *v)
{
    struct shared_path_side *s = ctx;

    (void)name;
    if (kind == RECORD_PACKET_RECEIVED && s->bytes && v[0] >= s->from) {
        *s->bytes += v[2] + RATE_UDP_IP_OVERHEAD_BYTES + RATE_ETHERNET_OVERHEAD_BYTES;
    }
}

static inline void shared_path_random(void *ctx, void *out, size_t len)
{
    prng_fill(&((struct shared_path_side *)ctx)->random, out, len);
}

static inline int shared_path_agent(struct sim *sim, const struct shared_path_case *c, int i,
                                    struct shared_path_side *side, struct agent **agent)
{
    struct agent_config cfg = c->agents[i / 2];
    struct agent_env env = {.seed = c->seed + (uint64_t)(i / 2),
                            .random = shared_path_random,
                            .epoch_s = SIM_EPOCH_S,
                            .rec = &side->sink,
                            .ctx = side};
    char local[32], remote[32], name[32];
    int rc;

    snprintf(name, sizeof name, "agent %d", i);
    snprintf(local, sizeof local, "10.77.%d.%d:5000", i % 2 ? 3 : 1, i / 2 + 1);
    snprintf(remote, sizeof remote, "10.77.%d.%d:5000", i % 2 ? 1 : 3, i / 2 + 1);
    prng_init(&side->random, c->seed, name);
    side->sink = (struct record_sink){.put = shared_path_put, .ctx = side};
    side->from = c->from;
    cfg.seed = (int64_t)env.seed;
    cfg.role = i % 2 ? AGENT_ROLE_RECEIVER : AGENT_ROLE_SENDER;
    cfg.duration = c->until;
    addr_parse(&cfg.local, local);
    addr_parse(&cfg.remote, remote);
    rc = agent_new(agent, &cfg, &env, 0);
    if (!rc) {
        sim_add_host(sim, &(struct sim_host){.name = "agent", .addr = cfg.local, .agent = *agent});
    }
    return rc;
}

static inline void shared_path_run(const struct shared_path_case *c, struct shared_path_result *r)
{
    struct link_config lc = {.rate = c->rate,
                             .burst_bytes = link_burst_bytes(c->rate),
                             .queue_bytes = rate_bytes(c->rate, c->queue),
                             .impair = {.delay = c->delay}};
    struct shared_path_side sides[2 * SHARED_PATH_PAIRS] = {0};
    struct agent *agents[2 * SHARED_PATH_PAIRS] = {NULL};
    struct link *links[2] = {NULL, NULL};
    struct sim *sim = NULL;
    int rc;

    memset(r, 0, sizeof *r);
    snprintf(r->error, sizeof r->error, "cannot make the simulation");
    rc = sim_new(&sim, UINT64_MAX);
    for (int i = 0; i < 2 && !rc; i++) {
        rc = link_new(&links[i], &lc);
        if (!rc) {
            sim_add_link(sim, links[i]);
        }
    }
    for (int i = 0; i < 2 * SHARED_PATH_PAIRS && !rc; i++) {
        sides[i].bytes = i % 2 ? &r->bytes[i / 2] : NULL;
        rc = shared_path_agent(sim, c, i, &sides[i], &agents[i]);
    }
    for (int i = 0; i < 2 * SHARED_PATH_PAIRS && !rc; i++) {
        int link = i % 2;

        rc = sim_add_path(sim, i, i ^ 1, &link, 1);
    }
    rc = rc ? rc : sim_run(sim, c->until + 10 * NS_PER_S, r->error, sizeof r->error);
    if (!rc) {
        r->error[0] = '\0';
    }
    for (int i = 0; i < 2 * SHARED_PATH_PAIRS && !r->error[0]; i++) {
        const char *why = agent_error(agents[i]);

        snprintf(r->error, sizeof r->error, "%s", why ? why : "");
    }
    for (int i = 0; i < 2 * SHARED_PATH_PAIRS; i++) {
        agent_free(agents[i]);
    }
    sim_free(sim);
    link_free(links[0]);
    link_free(links[1]);
}

/* The part of all that was received that a pair has. */
static inline double shared_path_part(const struct shared_path_result *r, int pair)
{
    int64_t all = 0;

    for (int i = 0; i < SHARED_PATH_PAIRS; i++) {
        all += r->bytes[i];
    }
    return (double)r->bytes[pair] / (double)all;
}

#endif
