/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/run_path.h"

#include "agents/base/err.h"
#include "agents/base/prng.h"
#include "testbed/scenario/scenario_flows.h"
#include "testbed/topology/shape_netem.h"

static double share(int64_t ppm)
{
    return (double)ppm / 1e6;
}

static int64_t or_same(int64_t back, int64_t forward)
{
    return back == NS_NEVER ? forward : back;
}

static struct impair_config both(const struct scenario *s, enum scenario_direction d)
{
    return (struct impair_config){
        .delay = s->path_delay,
        .jitter = s->path_jitter,
        .jitter_model = s->path_jitter_model == SCENARIO_JITTER_REORDER ? IMPAIR_JITTER_REORDER
                                                                        : IMPAIR_JITTER_NR_BPDV,
        .rate = scenario_rate_max_of(s, d),
        .loss_model = s->path_loss_model == SCENARIO_LOSS_GILBERT_ELLIOTT
                          ? IMPAIR_LOSS_GILBERT_ELLIOTT
                          : IMPAIR_LOSS_RANDOM,
        .loss = s->path_loss,
        .to_bad = share(s->path_loss_to_bad_ppm),
        .to_good = share(s->path_loss_to_good_ppm),
        .loss_bad = share(s->path_loss_in_bad_ppm),
        .loss_good = share(s->path_loss_in_good_ppm),
        .duplicate = share(s->path_duplicate_ppm),
    };
}

struct impair_config run_path_impair(const struct scenario *s, enum topology_direction d)
{
    struct impair_config c = both(s, d == TOPOLOGY_FORWARD ? SCENARIO_FORWARD : SCENARIO_BACKWARD);
    struct prng p;

    if (d == TOPOLOGY_FORWARD && s->path_event_start != NS_NEVER) {
        c.event_start = s->path_event_start;
        c.event_stop = s->path_event_stop;
        c.event_loss = share(s->path_event_loss_ppm);
    }
    if (d == TOPOLOGY_BACKWARD) {
        c.delay = or_same(s->back_delay, c.delay);
        c.jitter = or_same(s->back_jitter, c.jitter);
        c.duplicate = share(or_same(s->back_duplicate_ppm, s->path_duplicate_ppm));
        if (s->back_loss_ppm != NS_NEVER) {
            c.loss_model = IMPAIR_LOSS_RANDOM;
            c.loss = share(s->back_loss_ppm);
        }
    }
    prng_init(&p, (uint64_t)s->seed, d == TOPOLOGY_FORWARD ? "link-forward" : "link-backward");
    c.seed = prng_u64(&p);
    return c;
}

static ns_t own_or(ns_t t)
{
    return t == NS_NEVER ? 0 : t;
}

struct aqm_config run_path_aqm(const struct scenario *s, enum topology_direction d, int bottleneck)
{
    char stream[32];
    struct prng p;

    snprintf(stream, sizeof stream, "aqm-%s-%d", d == TOPOLOGY_FORWARD ? "forward" : "backward",
             bottleneck);
    prng_init(&p, (uint64_t)s->seed, stream);
    return (struct aqm_config){.kind = (enum aqm_kind)s->path_aqm,
                               .ecn = s->path_ecn == AGENT_ON,
                               .target = own_or(s->path_aqm_target),
                               .interval = own_or(s->path_aqm_interval),
                               .seed = prng_u64(&p)};
}

int run_path_netem(const struct scenario *s, struct message *m)
{
    const struct aqm_config cfg = run_path_aqm(s, TOPOLOGY_FORWARD, 0); /* of all alike */
    struct shape_aqm aqm;
    int rc = shape_aqm(&aqm, &cfg, scenario_queue_bytes(s), m);

    for (enum topology_direction d = 0; d < TOPOLOGY_DIRECTIONS && !rc; d++) {
        struct impair_config c = run_path_impair(s, d);
        struct shape_netem netem;

        rc = shape_netem(&netem, c.rate, &c, m);
    }
    return rc;
}

ns_t run_path_delay_max(const struct scenario *s)
{
    struct impair_config f = run_path_impair(s, TOPOLOGY_FORWARD);
    struct impair_config b = run_path_impair(s, TOPOLOGY_BACKWARD);

    return ns_max(impair_delay_max(&f), impair_delay_max(&b));
}
