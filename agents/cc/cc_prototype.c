/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Google congestion control as the prototype of the multiplexing paper runs it (its Go package of
 * April 2026), weaknesses included: no probes, no detection of an application-limited source, a
 * threshold that does not adapt, and an increase that is capped below the present rate. */
#include "agents/cc/cc.h"
#include "agents/cc/cc_private.h"
#include "agents/cc/ce_response.h"

#include <math.h>

#define UPDATE_INTERVAL (20 * NS_PER_MS)

#define GROUP_LENGTH (5 * NS_PER_MS)
#define GROUP_SPREAD_MAX (5 * NS_PER_MS)

#define SMOOTHING 0.8
#define WINDOW 10
#define GAIN 4.0
#define SAMPLES_SCALE_MAX 60
#define THRESHOLD 6.0
#define OVERUSE_TIME (5 * NS_PER_MS)

#define ALPHA 1.08
#define BETA 0.85
#define CAP 1.5 /* times the delivered rate */
#define FRAMES_PER_S 30.0
#define PACKET_BITS (1200 * 8.0)
#define RESPONSE (100 * NS_PER_MS)
#define INCREASE_MIN_BPS 1000.0
#define DECREASES_WEIGHT 0.95
#define DECREASES_SIGMAS 3.0

#define LOSS_HIGH 0.10
#define LOSS_LOW 0.02
#define LOSS_INCREASE 1.05

#define DELIVERED_WINDOW NS_PER_S
#define DELIVERED_MAX 16384 /* packets in that window; above 150 Mbit/s it becomes shorter */
#define ARRIVAL_MAX (INT64_C(1) << 60) /* beyond 36 years either way it is nonsense */

struct group {
    ns_t first_sent, last_sent, first_arrival, last_arrival;
    bool used;
};

/* Delay trend and overuse detector. */
struct detector {
    struct group current, previous;
    ns_t origin; /* arrival that x counts from */
    double x_ms[WINDOW], y_ms[WINDOW];
    int32_t first, count, samples;
    double accumulated_ms, smoothed_ms, trend, modified;
    ns_t updated, overuse_since; /* arrivals; NS_NEVER: no overuse */
    int32_t overuse_count;
    enum cc_usage usage;
};

/* Bytes that arrived in the last second, a ring in order of arrival. */
struct delivered {
    struct {
        ns_t arrival;
        int32_t bytes;
    } ring[DELIVERED_MAX];
    size_t first, count;
    int64_t bytes;
};

struct prototype {
    struct cc cc;
    struct cc_config cfg;
    struct detector detector;
    struct delivered delivered;
    double delay_target, loss_target, delivered_bps;
    struct ce_response ce;
    double decrease_mean, decrease_variance; /* of the delivered rate; mean 0: no decrease yet */
    enum cc_state_name state;
    ns_t rtt, updated; /* NS_NEVER: not yet */
    int64_t acked, lost, loss_ppm;
    bps_t target;
};

static const struct cc_ops ops;

/* ---- delivered rate ---- */

static size_t slot(const struct delivered *d, size_t i)
{
    return (d->first + i) % DELIVERED_MAX;
}

static void drop_oldest(struct delivered *d)
{
    d->bytes -= d->ring[d->first].bytes;
    d->first = slot(d, 1);
    d->count--;
}

static void delivered_add(struct delivered *d, ns_t arrival, int32_t bytes)
{
    size_t at;

    if (d->count == DELIVERED_MAX) {
        drop_oldest(d);
    }
    for (at = d->count; at > 0 && d->ring[slot(d, at - 1)].arrival > arrival; at--) {
        d->ring[slot(d, at)] = d->ring[slot(d, at - 1)];
    }
    d->ring[slot(d, at)].arrival = arrival;
    d->ring[slot(d, at)].bytes = bytes;
    d->count++;
    d->bytes += bytes;
}

static double delivered_rate(struct delivered *d)
{
    ns_t newest = d->count ? d->ring[slot(d, d->count - 1)].arrival : 0, spread;

    while (d->count && d->ring[d->first].arrival < newest - DELIVERED_WINDOW) {
        drop_oldest(d);
    }
    spread = d->count ? newest - d->ring[d->first].arrival : 0;
    return spread > 0 ? (double)d->bytes * 8 / ns_to_s(spread) : 0;
}

/* ---- delay trend ---- */

static void push(struct detector *d, double x, double y)
{
    int32_t at = (d->first + d->count) % WINDOW;

    d->x_ms[at] = x;
    d->y_ms[at] = y;
    if (d->count < WINDOW) {
        d->count++;
    } else {
        d->first = (d->first + 1) % WINDOW;
    }
}

static double slope(const struct detector *d)
{
    double mean_x = 0, mean_y = 0, num = 0, den = 0;

    for (int i = 0; i < d->count; i++) {
        mean_x += d->x_ms[i] / d->count;
        mean_y += d->y_ms[i] / d->count;
    }
    for (int i = 0; i < d->count; i++) {
        num += (d->x_ms[i] - mean_x) * (d->y_ms[i] - mean_y);
        den += (d->x_ms[i] - mean_x) * (d->x_ms[i] - mean_x);
    }
    return den > 0 ? num / den : 0;
}

/* The sum of delay variations and its smoothed form count whole milliseconds only, which keeps the
 * detector from seeing slow growth. */
static double smooth(struct detector *d, ns_t variation)
{
    d->accumulated_ms += ns_to_ms(variation);
    d->smoothed_ms = SMOOTHING * trunc(d->smoothed_ms) + (1 - SMOOTHING) * trunc(d->accumulated_ms);
    return d->smoothed_ms;
}

static void over_threshold(struct detector *d, double previous, ns_t arrival)
{
    if (d->overuse_since == NS_NEVER) {
        d->overuse_since = arrival - (arrival - d->updated) / 2;
        d->overuse_count = 0;
    }
    d->overuse_count++;
    if (arrival - d->overuse_since > OVERUSE_TIME && d->overuse_count > 1 && d->trend >= previous) {
        d->overuse_since = NS_NEVER;
        d->usage = CC_USAGE_OVER;
    }
}

static void detect(struct detector *d, ns_t variation, ns_t arrival)
{
    double previous = d->trend;

    if (!d->samples++) {
        d->origin = d->updated = arrival;
    }
    push(d, trunc(ns_to_ms(arrival - d->origin)), smooth(d, variation));
    d->trend = slope(d);
    if (d->samples < 2) {
        return;
    }
    d->modified = fmin(d->samples, SAMPLES_SCALE_MAX) * d->trend * GAIN;
    if (d->modified > THRESHOLD) {
        over_threshold(d, previous, arrival);
    } else {
        d->overuse_since = NS_NEVER;
        d->usage = d->modified < -THRESHOLD ? CC_USAGE_UNDER : CC_USAGE_NORMAL;
    }
    d->updated = arrival;
}

static bool belongs(const struct group *g, ns_t sent, ns_t arrival)
{
    ns_t departures = sent - g->first_sent, arrivals = arrival - g->first_arrival;

    return departures < GROUP_LENGTH || (arrivals < departures && arrivals < GROUP_SPREAD_MAX);
}

static void detector_add(struct detector *d, ns_t sent, ns_t arrival)
{
    struct group *c = &d->current, *p = &d->previous;

    if (c->used && !belongs(c, sent, arrival)) {
        if (p->used) {
            detect(d, (c->last_arrival - p->last_arrival) - (c->last_sent - p->last_sent), arrival);
        }
        *p = *c;
        c->used = false;
    }
    if (!c->used) {
        *c = (struct group){.first_sent = sent, .first_arrival = arrival, .used = true};
    }
    c->last_sent = sent;
    c->last_arrival = arrival;
}

/* ---- rates ---- */

static void update_loss(struct prototype *p)
{
    int64_t total = p->acked + p->lost;
    double loss, more;

    if (!total) {
        return;
    }
    loss = (double)p->lost / (double)total;
    p->loss_ppm = (int64_t)(loss * 1e6);
    p->acked = p->lost = 0;
    if (loss > LOSS_HIGH) {
        p->loss_target = fmax(p->loss_target * (1 - 0.5 * loss), (double)p->cfg.min_rate);
    } else if (loss < LOSS_LOW) {
        more = fmin(p->loss_target * LOSS_INCREASE, CAP * p->delivered_bps);
        p->loss_target = fmin(fmax(more, p->loss_target), (double)p->cfg.max_rate);
    }
}

static enum cc_state_name next_state(enum cc_state_name s, enum cc_usage usage)
{
    if (usage == CC_USAGE_OVER) {
        return CC_STATE_DECREASE;
    }
    return usage == CC_USAGE_UNDER || s == CC_STATE_DECREASE ? CC_STATE_HOLD : CC_STATE_INCREASE;
}

/* The weight lies on the newest rate, so the band is so narrow that the answer is mostly no. */
static bool near_decreases(const struct prototype *p)
{
    double band = DECREASES_SIGMAS * sqrt(p->decrease_variance);

    return p->decrease_mean > 0 && fabs(p->delivered_bps - p->decrease_mean) <= band;
}

static void note_decrease(struct prototype *p)
{
    double delta = p->delivered_bps - p->decrease_mean;

    if (p->decrease_mean <= 0) {
        p->decrease_mean = p->delivered_bps;
        return;
    }
    p->decrease_mean += DECREASES_WEIGHT * delta;
    p->decrease_variance =
        (1 - DECREASES_WEIGHT) * (p->decrease_variance + DECREASES_WEIGHT * delta * delta);
}

static double increased(const struct prototype *p, ns_t now)
{
    ns_t since = p->updated == NS_NEVER ? NS_PER_S : now - p->updated;
    double rate = p->delay_target, frame_bits = rate / FRAMES_PER_S, packet_bits;

    if (!near_decreases(p)) {
        return rate * pow(ALPHA, fmin(ns_to_s(since), 1));
    }
    packet_bits = frame_bits / ceil(frame_bits / PACKET_BITS);
    return rate + fmax(INCREASE_MIN_BPS,
                       0.5 * fmin(ns_to_s(since) / ns_to_s(RESPONSE + p->rtt), 1) * packet_bits);
}

static void update_delay(struct prototype *p, ns_t now)
{
    p->state = next_state(p->state, p->detector.usage);
    if (p->state == CC_STATE_INCREASE) {
        /* also when that lies below the present target: a source that sends less than it may
         * drags the estimate down */
        p->delay_target = fmin(increased(p, now), CAP * p->delivered_bps);
    } else if (p->state == CC_STATE_DECREASE) {
        note_decrease(p);
        ce_response_reduced(&p->ce, now);
        p->delay_target = BETA * p->delivered_bps;
    }
    p->delay_target = fmin(fmax(p->delay_target, (double)p->cfg.min_rate), (double)p->cfg.max_rate);
}

static void update(struct prototype *p, ns_t now)
{
    if (p->updated != NS_NEVER && now - p->updated < UPDATE_INTERVAL) {
        return;
    }
    p->delivered_bps = delivered_rate(&p->delivered);
    update_loss(p);
    update_delay(p, now);
    p->updated = now;
    p->target = (bps_t)fmin(p->loss_target, p->delay_target);
}

/* ---- cc.h ---- */

int cc_prototype_new(struct cc **out, const struct cc_config *cfg, ns_t now)
{
    struct prototype *p;
    int rv = cc_make(out, sizeof *p, &ops, cfg);

    (void)now;
    if (rv) {
        return rv;
    }
    p = (struct prototype *)*out;
    p->cfg = *cfg;
    p->target = cfg->start_rate;
    ce_response_init(&p->ce, cfg->ecn);
    p->delay_target = p->loss_target = (double)cfg->start_rate;
    p->state = CC_STATE_HOLD;
    p->updated = p->detector.overuse_since = NS_NEVER;
    return 0;
}

static void on_sent(struct cc *c, int32_t bytes, ns_t now)
{
    (void)bytes;
    update((struct prototype *)c, now);
}

static void on_feedback(struct cc *c, const struct cc_packet *packets, size_t n, ns_t rtt, ns_t now)
{
    struct prototype *p = (struct prototype *)c;

    p->rtt = rtt > 0 ? rtt : p->rtt;
    for (size_t i = 0; i < n; i++) {
        const struct cc_packet *k = &packets[i];
        p->lost += k->lost;
        p->acked += !k->lost;
        if (!k->lost && k->arrival > -ARRIVAL_MAX && k->arrival < ARRIVAL_MAX) {
            delivered_add(&p->delivered, k->arrival, k->bytes - RATE_UDP_IP_OVERHEAD_BYTES);
            detector_add(&p->detector, k->sent, k->arrival);
        }
    }
    update(p, now);
}

/* Beyond the prototype, which knows no ECN. */
static void on_marks(struct cc *c, int64_t marked, int64_t packets, ns_t now)
{
    struct prototype *p = (struct prototype *)c;
    double factor = ce_response_marks(&p->ce, marked, packets, p->rtt, now);

    if (factor < 1) {
        p->delay_target =
            fmax(factor * fmin(p->delay_target,
                               p->delivered_bps > 0 ? p->delivered_bps : p->delay_target),
                 (double)p->cfg.min_rate);
        p->target = (bps_t)fmin(p->loss_target, p->delay_target);
    }
}

static bps_t target(const struct cc *c)
{
    return ((const struct prototype *)c)->target;
}

static void demand(struct cc *c, ns_t now)
{
    (void)c, (void)now;
}

static bool probe(struct cc *c, struct cc_probe *out, ns_t now)
{
    (void)c, (void)out, (void)now;
    return false;
}

static ns_t deadline(const struct cc *c)
{
    (void)c;
    return NS_NEVER;
}

static void expire(struct cc *c, ns_t now)
{
    (void)c, (void)now;
}

static void state(const struct cc *c, struct cc_state *out)
{
    const struct prototype *p = (const struct prototype *)c;

    *out = (struct cc_state){
        .target = p->target,
        .marks_ppm = (int64_t)(p->ce.alpha * 1e6),
        .delay_based = (bps_t)p->delay_target,
        .loss_based = (bps_t)p->loss_target,
        .acked = (bps_t)p->delivered_bps,
        .loss_ppm = p->loss_ppm,
        .trend_ppm = (int64_t)(p->detector.modified * 1e6),
        .threshold_ppm = (int64_t)(THRESHOLD * 1e6),
        .usage = p->detector.usage,
        .state = p->state,
    };
}

static const struct cc_ops ops = {
    .on_sent = on_sent,
    .on_feedback = on_feedback,
    .on_marks = on_marks,
    .target = target,
    .demand = demand,
    .probe = probe,
    .deadline = deadline,
    .expire = expire,
    .state = state,
};
