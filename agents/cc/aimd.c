/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/cc/aimd.h"

#include <math.h>

#define RTT_START (200 * NS_PER_MS)
#define BETA 0.85
#define BACKOFF_BPS 5000
/* A mark is of one call: one of more weight has more of them, and falls by less for each. */
#define MARK_WEIGHT_EXPONENT 0.6
#define ALPHA 1.08
#define INCREASE_MIN_BPS 1000.0
#define ADDITIVE_MIN_BPS_PER_S 4000.0
#define FRAMES_PER_S 30.0
#define PACKET_BITS (1200 * 8.0)
#define RESPONSE (100 * NS_PER_MS)
#define REDUCE_INTERVAL_MIN (10 * NS_PER_MS)
#define REDUCE_INTERVAL_MAX (200 * NS_PER_MS)
#define LIMIT_FACTOR 1.5
#define LIMIT_EXTRA_BPS 10000

void aimd_init(struct aimd *a, bps_t start_rate, bps_t min_rate)
{
    *a = (struct aimd){.rate = start_rate,
                       .min_rate = min_rate,
                       .throughput = start_rate,
                       .rtt = RTT_START,
                       .weight = 1,
                       .changed = NS_NEVER,
                       .state = CC_STATE_HOLD};
    link_capacity_init(&a->capacity);
}

void aimd_set(struct aimd *a, bps_t rate, ns_t now)
{
    a->rate = rate > a->min_rate ? rate : a->min_rate;
    a->changed = now;
}

bool aimd_may_reduce(const struct aimd *a, bps_t throughput, ns_t now)
{
    ns_t interval = ns_clamp(a->rtt, REDUCE_INTERVAL_MIN, REDUCE_INTERVAL_MAX);

    if (a->changed == NS_NEVER || now - a->changed >= interval) {
        return true;
    }
    return (double)throughput < 0.5 * (double)a->rate;
}

double aimd_near_max_increase(const struct aimd *a)
{
    double frame_bits = (double)a->rate / FRAMES_PER_S;
    double packet_bits = frame_bits / ceil(frame_bits / PACKET_BITS);

    return a->weight * fmax(ADDITIVE_MIN_BPS_PER_S, packet_bits / (2 * ns_to_s(a->rtt + RESPONSE)));
}

static void change_state(struct aimd *a, enum cc_usage usage, ns_t now)
{
    switch (usage) {
    case CC_USAGE_NORMAL:
        if (a->state == CC_STATE_HOLD) {
            a->changed = now;
            a->state = CC_STATE_INCREASE;
        }
        break;
    case CC_USAGE_OVER: a->state = CC_STATE_DECREASE; break;
    case CC_USAGE_UNDER:
        a->state = CC_STATE_HOLD; /* until the queues have drained */
        break;
    }
}

static void increase(struct aimd *a, ns_t now)
{
    double rate = (double)a->rate;
    double limit = LIMIT_FACTOR * (double)a->throughput + LIMIT_EXTRA_BPS;
    double elapsed = a->changed == NS_NEVER ? 1 : ns_to_s(now - a->changed);

    if (a->throughput > link_capacity_upper(&a->capacity)) {
        link_capacity_reset(&a->capacity);
    }
    /* Never lift the rate far above what the source uses: nothing would show whether the path
     * carries it. A rate that a probe put beyond the limit stays. */
    if (rate < limit) {
        if (a->capacity.known) {
            rate += aimd_near_max_increase(a) * elapsed;
        } else {
            rate += fmax(rate * (pow(ALPHA, fmin(elapsed, 1)) - 1), INCREASE_MIN_BPS);
        }
        a->rate = (bps_t)fmin(rate, limit);
    }
    a->changed = now;
}

static double of_weight(const struct aimd *a, double factor)
{
    return 1 - (1 - factor) / pow(a->weight, MARK_WEIGHT_EXPONENT);
}

void aimd_congested(struct aimd *a, double factor, bps_t throughput, ns_t now)
{
    double rate = (double)a->rate;

    if (throughput > 0) {
        rate = fmin(rate, (double)throughput);
        link_capacity_overuse(&a->capacity, throughput);
    }
    aimd_set(a, (bps_t)(of_weight(a, factor) * rate), now);
    a->state = CC_STATE_HOLD;
}

/* All calls at a bottleneck see an overuse, so that falls alike leave rates as growth is. */
static void decrease(struct aimd *a, ns_t now)
{
    double rate = BETA * (double)a->throughput;

    /* somewhat below the throughput, so that the queue this overuse built drains */
    if (rate > BACKOFF_BPS) {
        rate -= BACKOFF_BPS;
    }
    if (rate > (double)a->rate && a->capacity.known) {
        rate = BETA * (double)link_capacity_estimate(&a->capacity);
    }
    if (rate < (double)a->rate) {
        a->rate = (bps_t)rate;
    }
    if (a->throughput < link_capacity_lower(&a->capacity)) {
        link_capacity_reset(&a->capacity);
    }
    link_capacity_overuse(&a->capacity, a->throughput);
    a->state = CC_STATE_HOLD;
    a->changed = now;
}

void aimd_update(struct aimd *a, enum cc_usage usage, bps_t throughput, ns_t now)
{
    if (throughput > 0) {
        a->throughput = throughput;
    }
    change_state(a, usage, now);
    if (a->state == CC_STATE_INCREASE) {
        increase(a, now);
    } else if (a->state == CC_STATE_DECREASE) {
        decrease(a, now);
    }
    if (a->rate < a->min_rate) {
        a->rate = a->min_rate;
    }
}
