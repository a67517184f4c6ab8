/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/topology/shape_netem.h"

#include "agents/base/err.h"

#include <inttypes.h>
#include <math.h>

#define SMALLEST_FRAME_BYTES 60
#define LIMIT_MIN 10000
#define LIMIT_MARGIN 4
#define JITTER_MAX INT32_MAX /* netem keeps its jitter in so many bits */
#define SIGMAS 8
#define SQRT_2 1.41421356237309504880
#define SQRT_2PI 2.50662827463100050242

static uint32_t probability(double p)
{
    return (uint32_t)llround(p * UINT32_MAX);
}

/* A copy that netem makes goes through netem again and may be lost there; a packet drawn both for
 * loss and for duplication comes out once. So that as many packets as asked come out 0, 1 and 2
 * times, netem's own two probabilities l and d must solve
 *     (1 - d) l = loss        d (1 - l)^2 = (1 - loss) duplicate
 * Returns ERR_CONFIG where nothing does. */
static int loss_and_duplicate(struct shape_netem *out, double loss, double duplicate)
{
    double l = loss, d = duplicate, error = 1;

    for (int i = 0; i < 200 && error > 1e-12 && l >= 0 && l < 1; i++) {
        double before = d;

        d = (1 - loss) * duplicate / ((1 - l) * (1 - l));
        l = loss > 0 ? loss / (1 - d) : 0;
        error = fabs(d - before);
    }
    if (duplicate > 0 && !(error <= 1e-12 && l >= 0 && l < 1 && d <= 1)) {
        return ERR_CONFIG;
    }
    out->loss = probability(duplicate > 0 ? l : loss);
    out->duplicate = probability(duplicate > 0 ? d : 0);
    return 0;
}

static int set_losses(struct shape_netem *out, const struct impair_config *c, struct message *m)
{
    bool bursts = c->loss_model == IMPAIR_LOSS_GILBERT_ELLIOTT;

    if (c->duplicate > 0 && (bursts || c->jitter > 0)) {
        return message_set(m, ERR_CONFIG,
                           "path.duplicate together with %s: netem gives a copy a %s of its own; "
                           "allowed: --link wire or sim",
                           bursts ? "bursts of loss" : "path.jitter", bursts ? "fate" : "delay");
    }
    if (c->event_loss > 0) {
        return message_set(m, ERR_CONFIG,
                           "path.event: netem loses alike all the time; allowed: --link wire or "
                           "sim");
    }
    if (bursts) {
        out->gilbert = (struct shape_gilbert){.on = true,
                                              .p = probability(c->to_bad),
                                              .r = probability(c->to_good),
                                              .h = probability(1 - c->loss_bad),
                                              .k1 = probability(c->loss_good)};
        return 0;
    }
    if (loss_and_duplicate(out, c->loss, c->duplicate)) {
        return message_set(m, ERR_CONFIG,
                           "path.loss %g together with path.duplicate %g: netem cannot do that; "
                           "allowed: less of either, or --link wire or sim",
                           c->loss, c->duplicate);
    }
    return 0;
}

static int set_delays(struct shape_netem *out, const struct impair_config *c, struct message *m)
{
    if (c->jitter > 0 && c->jitter_model == IMPAIR_JITTER_NR_BPDV) {
        return message_set(m, ERR_CONFIG,
                           "path.jitter without reordering (nr-bpdv) is not to be had from netem, "
                           "which would add every packet's own serialisation time; allowed: "
                           "path.jitter-model reorder, or --link wire or sim");
    }
    if (c->jitter > JITTER_MAX) {
        return message_set(m, ERR_CONFIG,
                           "a path.jitter of %" PRId64 " ns is more than netem can have: %d",
                           c->jitter, JITTER_MAX);
    }
    out->delay_ns = c->delay;
    out->jitter_ns = c->jitter;
    out->clipped_normal = c->jitter > 0;
    return 0;
}

/* Far above what can be in flight: netem drops without a word what exceeds its limit. */
static int set_limit(struct shape_netem *out, bps_t rate, const struct impair_config *c,
                     struct message *m)
{
    ns_t longest = ns_add(c->delay, c->jitter * IMPAIR_JITTER_CLIP);
    int64_t in_flight = rate_bytes(rate, longest) / SMALLEST_FRAME_BYTES;

    if (in_flight > UINT32_MAX / LIMIT_MARGIN - LIMIT_MIN) {
        return message_set(m, ERR_CONFIG,
                           "a delay of %" PRId64 " ns at %" PRId64
                           " bit/s is more than netem can hold",
                           longest, rate);
    }
    out->limit_packets = LIMIT_MIN + LIMIT_MARGIN * (uint32_t)in_flight;
    return 0;
}

int shape_netem(struct shape_netem *out, bps_t rate, const struct impair_config *c,
                struct message *m)
{
    struct impair range;
    int rc = 0;

    *out = (struct shape_netem){.seed = c->seed};
    if (impair_init(&range, c)) {
        return message_set(m, ERR_CONFIG,
                           "a delay of %" PRId64 " ns, a jitter or a probability "
                           "is out of range",
                           c->delay);
    }
    rc = set_delays(out, c, m);
    rc = rc ? rc : set_losses(out, c, m);
    return rc ? rc : set_limit(out, rate, c, m);
}

uint64_t shape_netem_losses_max(const struct impair_config *c, uint64_t packets)
{
    double p = impair_mean_loss(c), n = (double)packets, correlation = 0, most;

    if (p <= 0) {
        return 0;
    }
    if (c->loss_model == IMPAIR_LOSS_GILBERT_ELLIOTT) {
        correlation = fabs(1 - c->to_bad - c->to_good);
    }
    if (correlation >= 1) { /* it may stay in one state for good */
        return packets;
    }
    most = n * p + SIGMAS * sqrt(n * p * (1 - p) * (1 + correlation) / (1 - correlation)) + SIGMAS;
    return most < n ? (uint64_t)most : packets;
}

static double normal_cdf(double z)
{
    return 0.5 * erfc(-z / SQRT_2);
}

/* The quantile of the normal distribution for 0.5 <= p, by Newton's method from a start not above
 * it: there the distribution bends so that no step goes too far. */
static double quantile(double p, double z)
{
    for (int i = 0; i < 100; i++) {
        double step = (p - normal_cdf(z)) * SQRT_2PI * exp(z * z / 2);

        z += step;
        if (fabs(step) < 1e-9) {
            break;
        }
    }
    return z;
}

void shape_netem_table(int16_t table[SHAPE_NETEM_TABLE])
{
    const int half = SHAPE_NETEM_TABLE / 2;
    double z = 0;

    for (int i = 0; i < half; i++) {
        int16_t v;

        z = z < IMPAIR_JITTER_CLIP ? quantile(0.5 + (i + 0.5) / SHAPE_NETEM_TABLE, z) : z;
        v = (int16_t)lround(fmin(z, IMPAIR_JITTER_CLIP) * SHAPE_NETEM_SIGMA);
        table[half + i] = v;
        table[half - 1 - i] = (int16_t)-v;
    }
}
