/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/cc/loss_based.h"

#include <math.h>

#define OBSERVATION_MIN (250 * NS_PER_MS)
#define OBSERVATIONS_MIN 3
#define WEIGHT 0.9
#define INHERENT_START 0.01
#define INHERENT_MIN 1e-3
#define INHERENT_MAX 0.05
#define INHERENT_BALANCE_BPS 75e3
#define NEWTON_STEP 0.75
#define BIAS 0.0002
#define LOG_BIAS 0.02
#define BIAS_LOSS 0.15
#define BIAS_SMOOTHING 0.002
#define INSTANT_BALANCE_BPS 75e3
#define INSTANT_LOSS 0.05
#define INCREASE_MAX 1.3
#define INCREASE_WINDOW (300 * NS_PER_MS)
#define RATE_MIN_BPS 5e3

static const double candidate_factors[] = {1.02, 1.0, 0.95};
#define CANDIDATES_MAX 5

struct model {
    double bandwidth, inherent_loss;
};

void loss_based_init(struct loss_based *l, bps_t max_rate)
{
    *l = (struct loss_based){.last_sent = NS_NEVER,
                             .observed = NS_NEVER,
                             .inherent_loss = INHERENT_START,
                             .max_rate = (double)max_rate,
                             .window_start = NS_NEVER,
                             .state = LOSS_BASED_UNLIMITED};
    for (int i = 0; i < LOSS_BASED_WINDOW; i++) {
        l->weights[i] = pow(WEIGHT, i);
    }
    for (int i = 0; i < LOSS_BASED_LATE; i++) {
        l->late[i] = NS_NEVER;
    }
}

/* A packet reported lost before that has come after all: takes the loss back if it is still in the
 * observation being gathered. Returns true when it was such a packet. */
static bool take_back(struct loss_based *l, ns_t sent)
{
    for (int i = 0; i < LOSS_BASED_LATE; i++) {
        if (l->late[i] == sent) {
            l->late[i] = NS_NEVER;
            l->lost -= l->lost > 0;
            return true;
        }
    }
    return false;
}

void loss_based_add(struct loss_based *l, const struct cc_packet *p)
{
    bool old = l->last_sent != NS_NEVER && p->sent <= l->last_sent;

    if (!p->lost && old && take_back(l, p->sent)) {
        return;
    }
    if (p->lost) {
        l->late[l->late_next++ % LOSS_BASED_LATE] = p->sent;
    }
    l->packets++;
    l->lost += p->lost;
    l->bytes += p->bytes;
    if (!old) {
        l->last_sent = p->sent;
    }
    if (l->observed == NS_NEVER) {
        l->observed = p->sent;
    }
}

static double weight_of(const struct loss_based *l, int64_t number)
{
    return l->weights[l->observations - 1 - number];
}

static int64_t oldest(const struct loss_based *l)
{
    return l->observations > LOSS_BASED_WINDOW ? l->observations - LOSS_BASED_WINDOW : 0;
}

static const struct loss_based_observation *observation(const struct loss_based *l, int64_t number)
{
    return &l->window[number % LOSS_BASED_WINDOW];
}

/* Closes the observation if it is long enough. */
static bool observe(struct loss_based *l)
{
    ns_t length;
    double packets = 0, lost = 0;

    if (!l->packets || (length = l->last_sent - l->observed) < OBSERVATION_MIN) {
        return false;
    }
    l->observed = l->last_sent;
    l->window[l->observations++ % LOSS_BASED_WINDOW] = (struct loss_based_observation){
        .packets = (double)l->packets,
        .lost = (double)l->lost,
        .sending_rate = (double)l->bytes * 8 / ns_to_s(length),
    };
    l->packets = l->lost = l->bytes = 0;
    for (int64_t n = oldest(l); n < l->observations; n++) {
        packets += weight_of(l, n) * observation(l, n)->packets;
        lost += weight_of(l, n) * observation(l, n)->lost;
    }
    l->loss_ratio = lost / packets;
    return true;
}

static double loss_probability(const struct model *m, double sending_rate)
{
    double p = m->inherent_loss;

    if (sending_rate > m->bandwidth) {
        p += (1 - p) * (sending_rate - m->bandwidth) / sending_rate;
    }
    return fmin(fmax(p, 1e-6), 1 - 1e-6);
}

static double feasible_inherent_loss(const struct model *m)
{
    double most = fmin(INHERENT_MAX + INHERENT_BALANCE_BPS / m->bandwidth, 1);

    return fmin(fmax(m->inherent_loss, INHERENT_MIN), most);
}

/* One Newton step of the inherent loss towards the greatest likelihood. */
static void newton(const struct loss_based *l, struct model *m)
{
    double first = 0, second = 0;

    for (int64_t n = oldest(l); n < l->observations; n++) {
        const struct loss_based_observation *o = observation(l, n);
        double p = loss_probability(m, o->sending_rate), q = 1 - p, w = weight_of(l, n);
        double received = o->packets - o->lost;
        first += w * (o->lost / p - received / q);
        second -= w * (o->lost / (p * p) + received / (q * q));
    }
    if (second >= 0) {
        second = -1e-6;
    }
    m->inherent_loss -= NEWTON_STEP * first / second;
    m->inherent_loss = feasible_inherent_loss(m);
}

/* How much a higher bandwidth is preferred per packet; turns round above 15 % loss. */
static double bandwidth_bias(const struct loss_based *l, double bandwidth)
{
    double kbps = bandwidth / 1000;
    double scale = (BIAS_LOSS - l->loss_ratio) / (BIAS_SMOOTHING + fabs(BIAS_LOSS - l->loss_ratio));

    return scale * (BIAS * kbps + LOG_BIAS * log(1 + kbps));
}

static double objective(const struct loss_based *l, const struct model *m)
{
    double bias = bandwidth_bias(l, m->bandwidth), sum = 0;

    for (int64_t n = oldest(l); n < l->observations; n++) {
        const struct loss_based_observation *o = observation(l, n);
        double p = loss_probability(m, o->sending_rate);
        sum += weight_of(l, n) *
               (o->lost * log(p) + (o->packets - o->lost) * log(1 - p) + bias * o->packets);
    }
    return sum;
}

static size_t candidates(const struct loss_based *l, bool app_limited, double *out)
{
    size_t n = 0;
    double most = l->max_rate;

    for (; n < sizeof candidate_factors / sizeof candidate_factors[0]; n++) {
        out[n] = candidate_factors[n] * l->bandwidth;
    }
    if (l->acked > 0 && !app_limited) {
        out[n++] = l->acked;
    }
    if (l->delay_limit > l->bandwidth) {
        out[n++] = l->delay_limit;
    }
    if (l->state != LOSS_BASED_UNLIMITED && l->window_limit > 0) {
        most = l->window_limit;
    }
    for (size_t i = 0; i < n; i++) {
        out[i] = fmin(out[i], fmax(l->bandwidth, most));
    }
    return n;
}

static struct model best_model(const struct loss_based *l, bool app_limited)
{
    struct model best = {.bandwidth = l->bandwidth, .inherent_loss = l->inherent_loss};
    double best_value = -HUGE_VAL, tried[CANDIDATES_MAX];
    size_t n = candidates(l, app_limited, tried);

    for (size_t i = 0; i < n; i++) {
        struct model m = {.bandwidth = tried[i], .inherent_loss = l->inherent_loss};
        double value;
        m.inherent_loss = feasible_inherent_loss(&m);
        newton(l, &m);
        value = objective(l, &m);
        if (value > best_value) {
            best_value = value;
            best = m;
        }
    }
    return best;
}

static bool increasing(const struct loss_based *l, double from, double to)
{
    return l->state != LOSS_BASED_UNLIMITED &&
           (from < to || (from == to && l->state == LOSS_BASED_INCREASING));
}

/* The rules that hold the best model back. */
static void restrain(const struct loss_based *l, struct model *m)
{
    /* more loss than the model explains: no reason to go up */
    if (l->loss_ratio > m->inherent_loss && m->bandwidth > l->bandwidth) {
        m->bandwidth = l->bandwidth;
    }
    if (l->state != LOSS_BASED_UNLIMITED && l->window_start != NS_NEVER &&
        l->window_start + INCREASE_WINDOW > l->observed && m->bandwidth > l->window_limit) {
        m->bandwidth = l->window_limit;
    }
    /* a decrease ends visibly, so that probing is allowed again */
    if (increasing(l, l->bandwidth, m->bandwidth) && l->state == LOSS_BASED_DECREASING &&
        m->bandwidth == l->bandwidth) {
        m->bandwidth = l->bandwidth + 1;
    }
}

static void conclude(struct loss_based *l)
{
    double rate = fmin(l->bandwidth, l->delay_limit);

    if (l->loss_ratio > INSTANT_LOSS) {
        rate = fmin(rate, INSTANT_BALANCE_BPS / (l->loss_ratio - INSTANT_LOSS));
    }
    if (rate >= l->delay_limit || rate >= l->max_rate) {
        l->state = LOSS_BASED_UNLIMITED;
    } else if (increasing(l, l->result, rate)) {
        l->state = LOSS_BASED_INCREASING;
    } else {
        l->state = LOSS_BASED_DECREASING;
    }
    l->result = rate;
    if (l->state != LOSS_BASED_UNLIMITED &&
        (l->window_start == NS_NEVER || l->window_start + INCREASE_WINDOW < l->observed)) {
        l->window_limit = fmax(RATE_MIN_BPS, l->bandwidth * INCREASE_MAX);
        l->window_start = l->observed;
    }
}

bool loss_based_update(struct loss_based *l, bps_t acked, bps_t delay_limit, bool app_limited)
{
    struct model best;

    if (acked > 0) {
        l->acked = (double)acked;
    }
    l->delay_limit = (double)delay_limit;
    if (!observe(l)) {
        return false;
    }
    if (l->bandwidth <= 0) {
        l->bandwidth = l->delay_limit;
    }
    best = best_model(l, app_limited);
    restrain(l, &best);
    l->bandwidth = best.bandwidth;
    l->inherent_loss = best.inherent_loss;
    conclude(l);
    return true;
}

bool loss_based_ready(const struct loss_based *l)
{
    return l->observations >= OBSERVATIONS_MIN;
}

bps_t loss_based_rate(const struct loss_based *l)
{
    return (bps_t)l->result;
}
