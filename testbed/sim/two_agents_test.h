/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two agents over the link model in virtual time, nothing written: what tests and benchmarks of
 * rate controls want to know of a run. */
#ifndef TESTBED_SIM_TWO_AGENTS_TEST_H
#define TESTBED_SIM_TWO_AGENTS_TEST_H

#include "agents/base/hist.h"
#include "agents/base/prng.h"
#include "testbed/sim/sim.h"

#include <stdio.h>
#include <string.h>

#define TWO_AGENTS_END_MARGIN (10 * NS_PER_S)

struct two_agents_case {
    struct agent_config agent; /* of both but for role and addresses */
    bps_t rate;
    ns_t delay, queue;
    double loss; /* each way */
    /* There and back, instead of delay and loss; but for its seed. NULL: none. */
    const struct impair_config *impair[2];
    uint64_t seed;
};

struct two_agents_result {
    ns_t file_begin, file_end;     /* at sender and receiver; file_end < 0: not arrived */
    int64_t rtp_bytes_during;      /* delivered while the file was under way */
    int64_t link_bytes_during;     /* Ethernet bytes received in that time */
    bps_t target_min, target_last; /* after 20 s, by when every controller has settled */
    int64_t rate_rows;
    int64_t padding_bytes;
    struct hist queue; /* waiting at the bottleneck, met by the sender's datagrams */
    double queue_sum_ms;
    struct link_counters link; /* there */
    char error[200];           /* empty for an orderly run */
};

struct two_agents_side {
    struct two_agents_result *result;
    struct link *link; /* out of this side */
    struct prng random;
    struct record_sink sink;
    bool sender;
    bps_t rate;
};

static inline bool two_agents_during(const struct two_agents_result *r)
{
    return r->file_begin >= 0 && r->file_end < 0;
}

static inline void two_agents_sent(struct two_agents_side *s, const int64_t *v)
{
    ns_t wait = rate_duration(s->rate, link_backlog_bytes(s->link, v[0]));

    if (two_agents_during(s->result)) {
        hist_add(&s->result->queue, wait);
        s->result->queue_sum_ms += ns_to_ms(wait);
    }
    s->result->padding_bytes += v[5];
}

static inline void two_agents_rate(struct two_agents_result *r, const int64_t *v)
{
    r->rate_rows++;
    r->target_last = v[1];
    if (v[0] >= 20 * NS_PER_S && v[1] < r->target_min) {
        r->target_min = v[1];
    }
}

static inline void two_agents_put(void *ctx, enum record_kind kind, const char *name,
                                  const int64_t *v)
{
    struct two_agents_side *s = ctx;
    struct two_agents_result *r = s->result;

    (void)name;
    if (kind == RECORD_FILE && s->sender && v[2] == 0) {
        r->file_begin = v[0];
    } else if (kind == RECORD_FILE && !s->sender && v[2] == 1) {
        r->file_end = v[0];
    } else if (kind == RECORD_PACKET_SENT && s->sender) {
        two_agents_sent(s, v);
    } else if (kind == RECORD_PACKET_RECEIVED && !s->sender && two_agents_during(r)) {
        r->link_bytes_during += v[2] + RATE_UDP_IP_OVERHEAD_BYTES + RATE_ETHERNET_OVERHEAD_BYTES;
    } else if (kind == RECORD_RTP_RECEIVED && two_agents_during(r)) {
        r->rtp_bytes_during += v[5];
    } else if (kind == RECORD_RATE) {
        two_agents_rate(r, v);
    }
}

static inline void two_agents_random(void *ctx, void *out, size_t len)
{
    prng_fill(&((struct two_agents_side *)ctx)->random, out, len);
}

static inline int two_agents_make(struct sim *sim, const struct two_agents_case *c, int i,
                                  struct two_agents_side *side, struct agent **agent)
{
    static const char *const names[2] = {"sender", "receiver"}, *const links[2] = {"to", "fro"};
    struct link_config lc = {.rate = c->rate,
                             .burst_bytes = link_burst_bytes(c->rate),
                             .queue_bytes = rate_bytes(c->rate, c->queue),
                             .impair = {.delay = c->delay, .loss = c->loss}};
    struct agent_config cfg = c->agent;
    struct agent_env env = {.seed = c->seed,
                            .random = two_agents_random,
                            .epoch_s = SIM_EPOCH_S,
                            .rec = &side->sink,
                            .ctx = side};
    struct prng p;
    int rc;

    if (c->impair[i]) {
        lc.impair = *c->impair[i];
        lc.copy = sim_copy_packet;
    }
    prng_init(&p, c->seed, links[i]);
    lc.impair.seed = prng_u64(&p);
    prng_init(&side->random, c->seed, names[i]);
    side->sink = (struct record_sink){.put = two_agents_put, .ctx = side};
    side->sender = i == 0;
    side->rate = c->rate;
    cfg.seed = (int64_t)c->seed;
    cfg.role = i ? AGENT_ROLE_RECEIVER : AGENT_ROLE_SENDER;
    addr_parse(i ? &cfg.remote : &cfg.local, "10.77.1.1:5000");
    addr_parse(i ? &cfg.local : &cfg.remote, "10.77.3.2:5000");
    rc = link_new(&side->link, &lc);
    rc = rc ? rc : agent_new(agent, &cfg, &env, 0);
    if (!rc) {
        sim_add_host(sim, &(struct sim_host){.name = names[i], .addr = cfg.local, .agent = *agent});
        sim_add_link(sim, side->link);
    }
    return rc;
}

/* Runs one case. What went wrong, if anything, stands in result->error. */
static inline void two_agents_run(const struct two_agents_case *c, struct two_agents_result *r)
{
    struct two_agents_side sides[2] = {{.result = r}, {.result = r}};
    struct agent *agents[2] = {NULL, NULL};
    struct sim *sim = NULL;
    ns_t end = c->agent.duration == NS_NEVER ? c->agent.time_limit : c->agent.duration;
    int rc;

    memset(r, 0, sizeof *r);
    r->file_begin = r->file_end = -1;
    r->target_min = INT64_MAX;
    snprintf(r->error, sizeof r->error, "cannot make the simulation");
    rc = sim_new(&sim, UINT64_MAX);
    for (int i = 0; i < 2 && !rc; i++) {
        rc = two_agents_make(sim, c, i, &sides[i], &agents[i]);
    }
    for (int i = 0; i < 2 && !rc; i++) {
        rc = sim_add_path(sim, i, !i, &i, 1);
    }
    rc = rc ? rc : sim_run(sim, end + TWO_AGENTS_END_MARGIN, r->error, sizeof r->error);
    if (!rc) {
        const char *why = agent_error(agents[0]);
        why = why ? why : agent_error(agents[1]);
        why = why ? why : sim_all_done(sim) ? "" : "the run does not end";
        snprintf(r->error, sizeof r->error, "%s", why);
    }
    if (sides[0].link) {
        link_counters(sides[0].link, &r->link);
    }
    for (int i = 0; i < 2; i++) {
        agent_free(agents[i]);
    }
    sim_free(sim);
    for (int i = 0; i < 2; i++) {
        link_free(sides[i].link);
    }
}

static inline double two_agents_file_s(const struct two_agents_result *r)
{
    return ns_to_s(r->file_end - r->file_begin);
}

#endif
