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
                               .isolation = (enum aqm_isolation)s->path_aqm_isolation,
                               .diffserv = (enum aqm_diffserv)s->path_aqm_diffserv,
                               .seed = prng_u64(&p)};
}

/* The shaper of one bottleneck, and netem behind it. */
static int try_netem(const struct shape_path *path, const struct impair_config *c,
                     struct message *m)
{
    struct shape_tbf tbf;
    struct shape_netem netem;
    int rc = shape_tbf(&tbf, path, m);

    return rc ? rc : shape_netem(&netem, c->rate, c, m);
}

static int try_netem_behind(const struct scenario *s, size_t segment, struct message *m)
{
    const struct scenario_segment *g = &s->segments[segment - 1];
    const struct shape_path path = {
        .rate = g->rate, .delay = g->delay, .queue_bytes = scenario_segment_queue_bytes(g)};
    const struct impair_config c = {.rate = g->rate, .delay = g->delay};
    struct message cause;
    int rc = try_netem(&path, &c, &cause);

    return rc ? message_set(m, rc, "path%zu: %.200s", segment + 1, cause.text) : 0;
}

int run_path_netem(const struct scenario *s, struct message *m)
{
    const struct aqm_config cfg = run_path_aqm(s, TOPOLOGY_FORWARD, 0); /* of all alike */
    struct shape_aqm aqm;
    int rc = shape_aqm(&aqm, &cfg, scenario_queue_bytes(s), m);

    for (enum topology_direction d = 0; d < TOPOLOGY_DIRECTIONS && !rc; d++) {
        struct impair_config c = run_path_impair(s, d);
        const struct shape_path path = {
            .rate = c.rate, .delay = c.delay, .queue_bytes = scenario_queue_bytes_at(s, c.rate)};

        rc = try_netem(&path, &c, m);
    }
    for (size_t i = 1; i < scenario_segment_count(s) && !rc; i++) {
        rc = try_netem_behind(s, i, m);
    }
    return rc;
}

int run_path_models(const struct scenario *s, struct message *m)
{
    enum aqm_kind kind = (enum aqm_kind)s->path_aqm;

    return kind == AQM_DROP_TAIL || aqm_has_model(kind)
               ? 0
               : message_set(m, ERR_CONFIG,
                             "path.aqm %s: only the kernel has it, not the models; allowed: "
                             "--link netem, or path.aqm fq-codel, which is nearest to it",
                             aqm_kind_name(kind));
}

ns_t run_path_delay_max(const struct scenario *s)
{
    struct impair_config f = run_path_impair(s, TOPOLOGY_FORWARD);
    struct impair_config b = run_path_impair(s, TOPOLOGY_BACKWARD);

    return ns_max(impair_delay_max(&f), impair_delay_max(&b));
}
