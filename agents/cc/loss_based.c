/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/cc/loss_based.h"

#include <math.h>

#define OBSERVATION_MIN (250 * NS_PER_MS)
#define OBSERVATIONS_MIN 3
#define WEIGHT 0.9
#define INHERENT_START 0.01
#define INHERENT_MIN 1e-3
#define INHERENT_MAX 0.05
#define INHERENT_BALANCE_BPS 100e3
#define NEWTON_STEP 0.75
#define BIAS 0.0002
#define LOG_BIAS 0.02
#define BIAS_LOSS 0.2
#define BIAS_SMOOTHING 0.002
#define INSTANT_BALANCE_BPS 100e3
#define INSTANT_LOSS 0.05
#define INCREASE_MAX 1.3
#define INCREASE_WINDOW (300 * NS_PER_MS)
#define RATE_MIN_BPS 5e3
#define RAMP_UP 1.5
#define RAMP_UP_HELD 1.2
#define RAMP_UP_HELD_BELOW 1.3
#define HOLD_START (300 * NS_PER_MS)
#define HOLD_FACTOR 2
#define HOLD_MAX (60 * NS_PER_S)
#define TRIM_OBSERVATIONS 3 /* with more than these the best and the worst do not count */
#define SPIKE_FACTOR 2.0

static const double candidate_factors[] = {1.02, 1.0, 0.95};
#define CANDIDATES_MAX 5

struct model {
    double bandwidth, inherent_loss;
};

void loss_based_init(struct loss_based *l, bps_t min_rate, bps_t max_rate)
{
    *l = (struct loss_based){.last_sent = NS_NEVER,
                             .observed = NS_NEVER,
                             .inherent_loss = INHERENT_START,
                             .min_rate = (double)min_rate,
                             .max_rate = (double)max_rate,
                             .window_start = NS_NEVER,
                             .hold_until = -1,
                             .hold_time = HOLD_START,
                             .hold_rate = HUGE_VAL,
                             .state = LOSS_BASED_UNLIMITED};
    for (int i = 0; i < LOSS_BASED_WINDOW; i++) {
        l->weights[i] = pow(WEIGHT, i);
    }
    for (int i = 0; i < LOSS_BASED_LATE; i++) {
        l->late[i].sent = NS_NEVER;
    }
}

/* A packet reported lost before that has come after all: takes the loss back if it is still in the
 * observation being gathered. Returns true when it was such a packet. */
static bool take_back(struct loss_based *l, ns_t sent)
{
    for (int i = 0; i < LOSS_BASED_LATE; i++) {
        if (l->late[i].sent == sent) {
            l->late[i].sent = NS_NEVER;
            l->lost -= l->lost < l->late[i].bytes ? l->lost : l->late[i].bytes;
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
        uint32_t at = l->late_next++ % LOSS_BASED_LATE;
        l->late[at].sent = p->sent;
        l->late[at].bytes = p->bytes;
        l->lost += p->bytes;
    }
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

/* The median of the window's sending rates. */
static double median_rate(const struct loss_based *l)
{
    double sorted[LOSS_BASED_WINDOW];
    size_t n = 0;

    for (int64_t i = oldest(l); i < l->observations; i++, n++) {
        double rate = observation(l, i)->sending_rate;
        size_t at = n;
        for (; at > 0 && sorted[at - 1] > rate; at--) {
            sorted[at] = sorted[at - 1];
        }
        sorted[at] = rate;
    }
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

/* Loss of the window, in bytes. One bad observation among good ones says little, and so the best
 * and the worst are left out; unless the worst was sent at twice the usual rate, which is a reason
 * for its loss. */
static double average_loss(const struct loss_based *l)
{
    double bytes = 0, lost = 0, best = 1, worst = 0, worst_rate = 0;
    double best_bytes = 0, best_lost = 0, worst_bytes = 0, worst_lost = 0, left;

    for (int64_t n = oldest(l); n < l->observations; n++) {
        const struct loss_based_observation *o = observation(l, n);
        double ratio = o->lost / o->bytes, w = weight_of(l, n);
        bytes += w * o->bytes;
        lost += w * o->lost;
        if (ratio > worst) {
            worst = ratio;
            worst_bytes = w * o->bytes;
            worst_lost = w * o->lost;
            worst_rate = o->sending_rate;
        }
        if (ratio < best) {
            best = ratio;
            best_bytes = w * o->bytes;
            best_lost = w * o->lost;
        }
    }
    left = bytes - best_bytes - worst_bytes;
    if (l->observations <= TRIM_OBSERVATIONS || median_rate(l) * SPIKE_FACTOR <= worst_rate ||
        left <= 0) {
        return lost / bytes;
    }
    return fmax(lost - best_lost - worst_lost, 0) / left;
}

/* Closes the observation if it is long enough. */
static bool observe(struct loss_based *l)
{
    ns_t length;

    if (l->bytes <= 0 || (length = l->last_sent - l->observed) < OBSERVATION_MIN) {
        return false;
    }
    l->observed = l->last_sent;
    l->window[l->observations++ % LOSS_BASED_WINDOW] = (struct loss_based_observation){
        .bytes = (double)l->bytes / 1000,
        .lost = (double)l->lost / 1000,
        .sending_rate = (double)l->bytes * 8 / ns_to_s(length),
    };
    l->lost = l->bytes = 0;
    for (int i = 0; i < LOSS_BASED_LATE; i++) {
        l->late[i].sent = NS_NEVER;
    }
    l->loss_ratio = average_loss(l);
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
        double received = o->bytes - o->lost;
        first += w * (o->lost / p - received / q);
        second -= w * (o->lost / (p * p) + received / (q * q));
    }
    if (second >= 0) {
        second = -1e-6;
    }
    m->inherent_loss -= NEWTON_STEP * first / second;
    m->inherent_loss = feasible_inherent_loss(m);
}

/* How much a higher bandwidth is preferred per kB; turns round above 20 % loss. */
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
               (o->lost * log(p) + (o->bytes - o->lost) * log(1 - p) + bias * o->bytes);
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

/* An increase reaches half as much again as what gets through; less where little more than that led
 * to the last decrease. */
static double ramp_up_limit(const struct loss_based *l)
{
    bool held = l->acked < RAMP_UP_HELD_BELOW * l->hold_rate && isfinite(l->hold_rate);

    return (held ? RAMP_UP_HELD : RAMP_UP) * l->acked;
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
    if (!increasing(l, l->bandwidth, m->bandwidth)) {
        return;
    }
    if (l->acked > 0) {
        m->bandwidth = fmax(l->bandwidth, fmin(m->bandwidth, ramp_up_limit(l)));
    }
    /* a decrease ends visibly, so that probing is allowed again */
    if (l->state == LOSS_BASED_DECREASING && m->bandwidth == l->bandwidth) {
        m->bandwidth = l->bandwidth + 1;
    }
}

/* What is acknowledged gets through: no limit is below. */
static double lower_bound(const struct loss_based *l)
{
    return fmax(l->acked, l->min_rate);
}

static double upper_bound(const struct loss_based *l)
{
    return l->loss_ratio > INSTANT_LOSS ? INSTANT_BALANCE_BPS / (l->loss_ratio - INSTANT_LOSS)
                                        : l->max_rate;
}

/* A decrease begins: its rate is not exceeded for a while. */
static void hold(struct loss_based *l, double rate)
{
    l->hold_until = l->observed + l->hold_time;
    l->hold_time = ns_min(HOLD_MAX, l->hold_time * HOLD_FACTOR);
    l->hold_rate = rate;
}

static void conclude(struct loss_based *l, double rate)
{
    bool limited = rate < l->delay_limit && rate < l->max_rate;

    if (l->state == LOSS_BASED_DECREASING && l->hold_until > l->observed && rate < l->delay_limit) {
        l->hold_rate = fmax(l->hold_rate, lower_bound(l));
        l->result = fmin(l->hold_rate, rate);
        return;
    }
    if (limited && increasing(l, l->result, rate)) {
        l->state = LOSS_BASED_INCREASING;
    } else if (limited) {
        if (l->state != LOSS_BASED_DECREASING) {
            hold(l, rate);
        }
        l->state = LOSS_BASED_DECREASING;
    } else {
        l->hold_until = -1;
        l->hold_time = HOLD_START;
        l->hold_rate = HUGE_VAL;
        l->state = LOSS_BASED_UNLIMITED;
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
    double rate;

    if (acked > 0) {
        l->acked = (double)acked;
    }
    l->delay_limit = (double)delay_limit;
    if (!observe(l)) {
        return false;
    }
    if (l->bandwidth <= 0) {
        l->bandwidth = l->result = l->delay_limit;
    }
    best = best_model(l, app_limited);
    restrain(l, &best);
    rate = fmax(lower_bound(l), fmin(fmin(best.bandwidth, upper_bound(l)), l->delay_limit));
    if (rate < best.bandwidth) {
        /* the model starts anew from what a bound has left of it */
        best = (struct model){.bandwidth = rate};
    }
    l->bandwidth = fmax(best.bandwidth, lower_bound(l));
    l->inherent_loss = best.inherent_loss;
    conclude(l, rate);
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
