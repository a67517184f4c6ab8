/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/link/impair.h"

#include "agents/base/err.h"

#include <math.h>

#define TWO_PI 6.283185307179586476925

static bool is_probability(double p)
{
    return p >= 0 && p <= 1; /* false for NaN */
}

static bool loss_ok(const struct impair_config *c)
{
    return is_probability(c->loss) && is_probability(c->to_bad) && is_probability(c->to_good) &&
           is_probability(c->loss_bad) && is_probability(c->loss_good);
}

int impair_init(struct impair *i, const struct impair_config *cfg)
{
    if (cfg->delay < 0 || cfg->jitter < 0 || cfg->rate < 0 ||
        cfg->jitter > NS_NEVER / (2 * IMPAIR_JITTER_CLIP) || !loss_ok(cfg) ||
        !is_probability(cfg->duplicate) || !is_probability(cfg->event_loss) ||
        (cfg->jitter_model == IMPAIR_JITTER_REORDER &&
         cfg->jitter * IMPAIR_JITTER_CLIP > cfg->delay)) {
        return ERR_CONFIG;
    }
    *i = (struct impair){.cfg = *cfg};
    prng_init(&i->loss_draws, cfg->seed, "impair-loss");
    prng_init(&i->event_draws, cfg->seed, "impair-event");
    prng_init(&i->duplicate_draws, cfg->seed, "impair-duplicate");
    prng_init(&i->jitter_draws, cfg->seed, "impair-jitter");
    return 0;
}

ns_t impair_delay_min(const struct impair_config *cfg)
{
    return cfg->jitter_model == IMPAIR_JITTER_REORDER
               ? cfg->delay - cfg->jitter * IMPAIR_JITTER_CLIP
               : cfg->delay;
}

ns_t impair_delay_max(const struct impair_config *cfg)
{
    return ns_add(cfg->delay, cfg->jitter * IMPAIR_JITTER_CLIP);
}

/* Of the chain's stationary distribution; one that never leaves a state stays where it begins. */
double impair_mean_loss(const struct impair_config *cfg)
{
    double bad;

    if (cfg->loss_model == IMPAIR_LOSS_RANDOM) {
        return cfg->loss;
    }
    bad = cfg->to_bad > 0 ? cfg->to_bad / (cfg->to_bad + cfg->to_good) : 0;
    return bad * cfg->loss_bad + (1 - bad) * cfg->loss_good;
}

static bool happens(struct prng *p, double probability)
{
    return prng_uniform(p) < probability;
}

static bool lost(struct impair *i)
{
    const struct impair_config *c = &i->cfg;
    bool lost;

    if (c->loss_model == IMPAIR_LOSS_RANDOM) {
        return c->loss > 0 && happens(&i->loss_draws, c->loss);
    }
    lost = happens(&i->loss_draws, i->bad ? c->loss_bad : c->loss_good);
    if (happens(&i->loss_draws, i->bad ? c->to_good : c->to_bad)) {
        i->bad = !i->bad;
    }
    return lost;
}

/* A standard normal variate by Box and Muller's method, clipped. */
static double clipped_normal(struct prng *p)
{
    double u = 1 - prng_uniform(p), v = prng_uniform(p); /* u > 0 */
    double z = sqrt(-2 * log(u)) * cos(TWO_PI * v);

    return z < -IMPAIR_JITTER_CLIP  ? -IMPAIR_JITTER_CLIP
           : z > IMPAIR_JITTER_CLIP ? IMPAIR_JITTER_CLIP
                                    : z;
}

static ns_t due(struct impair *i, int64_t bytes, ns_t at)
{
    const struct impair_config *c = &i->cfg;
    ns_t out = ns_add(at, c->delay), variate;

    if (c->jitter == 0) {
        i->last = ns_max(out, i->last);
        return i->last;
    }
    variate = (ns_t)(clipped_normal(&i->jitter_draws) * (double)c->jitter);
    if (c->jitter_model == IMPAIR_JITTER_REORDER) {
        return out == NS_NEVER ? out : out + variate;
    }
    i->last = ns_max(ns_add(out, variate < 0 ? -variate : variate), ns_add(i->last, i->serial));
    /* rounded down: rounding up would fall behind a bottleneck that is always busy */
    i->serial = c->rate ? (ns_t)((__int128)bytes * 8 * NS_PER_S / c->rate) : 0;
    return i->last;
}

static bool lost_by_event(struct impair *i, ns_t at)
{
    const struct impair_config *c = &i->cfg;

    return c->event_loss > 0 && at - i->origin >= c->event_start &&
           at - i->origin < c->event_stop && happens(&i->event_draws, c->event_loss);
}

struct impair_fate impair_packet(struct impair *i, int64_t bytes, ns_t at)
{
    bool gone = lost(i), event = lost_by_event(i, at); /* both draw, whatever the other says */
    struct impair_fate fate = {.copies = gone || event ? 0 : 1};

    /* drawn for the lost as well, so that the draws of the others do not shift */
    if (i->cfg.duplicate > 0 && happens(&i->duplicate_draws, i->cfg.duplicate)) {
        fate.copies *= 2;
    }
    fate.due = due(i, bytes, at);
    return fate;
}
