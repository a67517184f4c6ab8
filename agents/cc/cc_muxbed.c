/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rate control for a connection whose data can always fill the pipe and whose media must not wait.
 * It measures the capacity instead of searching for its limit: as long as packets wait on the path,
 * they arrive at its rate. What remains to be controlled is how many wait: a few milliseconds'
 * worth, which is enough to keep the link busy and to see that it is. muxbed.md has the page. */
#include "agents/cc/cc.h"
#include "agents/cc/cc_private.h"
#include "agents/cc/ce_response.h"
#include "agents/cc/path_meter.h"
#include "agents/cc/probe_controller.h"
#include "agents/cc/probe_estimator.h"

#include <math.h>

#define UPDATE_INTERVAL (20 * NS_PER_MS)
#define PROCESS_INTERVAL (25 * NS_PER_MS)

#define WINDOW_MIN (100 * NS_PER_MS)
#define WINDOW_MAX (300 * NS_PER_MS)
#define WINDOW_PACKETS 10

/* The standing queue: so much, and one and a half full packets' time. */
#define QUEUE_TARGET (3 * NS_PER_MS)
#define QUEUE_TARGET_PACKETS 1.5
#define PACKET_BYTES 1500
#define PEAK_FADE 0.01 /* per second */
/* The queue's error is to be gone after so many times the window and the round trip: what is
 * measured is as old as they are, and a loop that wants it gone within 2.7 times its own delay
 * swings. */
#define HORIZON 3.0
#define RAISE_MAX 0.04
#define LOWER_MAX 0.25

/* A sample of less is none; and what arrives so much faster than it left was held up on its way. */
#define BUSY_MIN (2 * NS_PER_MS)
#define COMPRESSED_MAX 1.25

/* The path is seen to limit what arrives when it comes slower than it left, or waits. */
#define LIMITED_RATIO 0.95
#define LIMITED_QUEUE_PART 0.5
/* Growth per window and round trip while nothing limits but the estimate itself: careful at first,
 * for the answer to it comes so much later, and twice as fast with each that goes well. */
#define GROWTH_FIRST 0.01
#define GROWTH_MAX 0.16
/* ... which takes a sender that uses at least so much of it. */
#define USED_RATIO 0.7

/* A queue that does not fall although we do is somebody else's. */
#define COMPETITION_AFTER (1500 * NS_PER_MS)
#define COMPETITION_QUEUE 2.5 /* targets */
#define COMPETITION_DECREASE 0.65
#define COMPETITION_START 1.5 /* of what arrives */
#define COMPETITION_MEMORY (15 * NS_PER_S)
/* CUBIC (RFC 9438 section 4.1): packets per s^3 */
#define CUBIC_C 0.4
/* So often, and so far down, to see whether the queue falls with us: then nobody else is there. */
#define ALONE_EVERY (5 * NS_PER_S)
#define ALONE_FACTOR 0.6
#define ALONE_TIME_MAX (5 * NS_PER_S)

/* Every so often the queue is let run dry, so that the smallest delay stays known. */
#define DRAIN_EVERY (10 * NS_PER_S)
#define DRAIN_TIME_MAX (400 * NS_PER_MS)
#define DRAIN_FACTOR 0.93
#define DRAINED (500 * NS_PER_US)

#define LOSS_HIGH 0.02 /* above: a short queue overflows before it holds the target */

enum mode { MODE_DELAY, MODE_COMPETING };

struct muxbed {
    struct cc cc;
    struct cc_config cfg;
    struct path_meter meter;
    struct ce_response ce;
    struct probe_controller probes;
    struct probe_estimator clusters;
    struct path_sample sample;

    enum mode mode;
    double target;   /* bit/s */
    double peak;     /* its maximum, which fades */
    double capacity; /* as last seen, 0: not yet */
    double growth;   /* per window and round trip */
    ns_t settling;   /* nothing is decided until then: what comes back was sent while draining */
    double queue_bound_ns; /* what the queue is believed to hold, as losses have told */
    ns_t rtt, updated, deadline;
    ns_t drain_since, drained; /* NS_NEVER: not draining; the last time it ended */
    ns_t crowded;              /* so long the queue has been above what we want without a break */
    double queue_before;
    double crowded_target; /* ... and the target was this then */
    /* MODE_COMPETING */
    ns_t reduced;            /* the last decrease */
    double window_max;       /* packets, before that */
    double compete_target;   /* what it had come to, ... */
    ns_t competed;           /* ... until then; NS_NEVER: never was */
    ns_t test_since, tested; /* looking whether we are alone; NS_NEVER: not now */
    ns_t test_time;
    int64_t sent_bytes; /* since the last update */
    double used;        /* part of the target that is sent, smoothed */
    enum cc_usage usage;
};

static const struct cc_ops ops;

static double clamp(double v, double lo, double hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

static void set_target(struct muxbed *m, double rate)
{
    m->target = clamp(rate, (double)m->cfg.min_rate, (double)m->cfg.max_rate);
}

static ns_t window_of(const struct muxbed *m)
{
    return ns_max(WINDOW_MIN, ns_min(m->rtt, WINDOW_MAX));
}

/* By the highest rate of the last minute or so: that what is left to us has become little makes the
 * link no slower. */
static double packet_ns(const struct muxbed *m)
{
    return PACKET_BYTES * 8 * 1e9 / fmax(m->peak, m->target);
}

static double queue_target(const struct muxbed *m)
{
    double wanted = QUEUE_TARGET + QUEUE_TARGET_PACKETS * packet_ns(m);

    return fmin(wanted, m->queue_bound_ns / 2);
}

/* ---- alone on the path ---- */

static void drain(struct muxbed *m, ns_t now)
{
    if (m->drain_since == NS_NEVER) {
        if (now - m->drained >= DRAIN_EVERY) {
            m->drain_since = now;
        }
    } else if (m->sample.queue < DRAINED || now - m->drain_since > DRAIN_TIME_MAX) {
        m->drain_since = NS_NEVER;
        m->drained = now;
        m->settling = ns_add(now, window_of(m) + m->rtt);
        set_target(m, m->capacity > 0 ? m->capacity : m->target);
    }
}

/* The relative change that brings the queue to where it is wanted. */
static double correction(const struct muxbed *m)
{
    double horizon = HORIZON * (double)(window_of(m) + m->rtt);

    if (m->drain_since != NS_NEVER) {
        return DRAIN_FACTOR - 1;
    }
    return clamp((queue_target(m) - (double)m->sample.queue) / horizon, -LOWER_MAX, RAISE_MAX);
}

static bool is_limited(const struct muxbed *m)
{
    const struct path_sample *s = &m->sample;

    return (double)s->queue > LIMITED_QUEUE_PART * queue_target(m) ||
           (double)s->arrived < LIMITED_RATIO * (double)s->sent;
}

/* Losses while the queue is short: the queue is shorter than we want it. */
static void note_losses(struct muxbed *m, double dt)
{
    const struct path_sample *s = &m->sample;
    double loss = (double)s->lost / (s->lost + s->packets);

    if (loss > LOSS_HIGH && (double)s->queue < queue_target(m)) {
        m->queue_bound_ns = fmax(1e6, fmin(m->queue_bound_ns, 2 * queue_target(m)) * 0.9);
    } else {
        m->queue_bound_ns = fmin(1e12, m->queue_bound_ns * (1 + 0.02 * dt));
    }
}

static void follow_delay(struct muxbed *m, ns_t dt, ns_t now)
{
    const struct path_sample *s = &m->sample;
    double part = clamp((double)dt / (double)window_of(m), 0, 1);

    note_losses(m, ns_to_s(dt));
    if (s->busy < BUSY_MIN || m->settling > now) {
        return;
    }
    if (is_limited(m)) {
        double arrived = fmin((double)s->arrived, COMPRESSED_MAX * (double)s->sent);
        double wanted = arrived * (1 + correction(m));
        /* soon down, for the queue is there; up as the measurement settles */
        double gain = wanted < m->target ? fmin(1, 3 * part) : fmin(1, 2 * part);

        m->usage = (double)s->queue > 2 * queue_target(m) ? CC_USAGE_OVER : CC_USAGE_NORMAL;
        m->growth = GROWTH_FIRST;
        if (m->drain_since == NS_NEVER) {
            m->capacity = arrived;
        }
        set_target(m, m->target + gain * (wanted - m->target));
    } else if (m->used > USED_RATIO || (double)s->arrived > m->target) {
        double turn = clamp((double)dt / (double)(window_of(m) + m->rtt), 0, 1);

        m->usage = CC_USAGE_NORMAL;
        if (m->drain_since == NS_NEVER) {
            set_target(m, m->target * (1 + m->growth * turn));
            m->growth = fmin(GROWTH_MAX, m->growth * (1 + turn));
        }
    }
}

/* ---- beside a flow that fills the queue ---- */

static double packets_of(const struct muxbed *m, double rate)
{
    return rate * ns_to_s(m->rtt) / (8 * PACKET_BYTES);
}

static void begin_competing(struct muxbed *m, ns_t now)
{
    double start = fmin(m->crowded_target / 2, COMPETITION_START * (double)m->sample.arrived);

    if (m->competed != NS_NEVER && now - m->competed < COMPETITION_MEMORY) {
        start = m->compete_target;
    }
    m->mode = MODE_COMPETING;
    path_meter_hold(&m->meter, true);
    set_target(m, fmax(m->target, start));
    m->reduced = m->tested = now;
    m->test_since = NS_NEVER;
    m->window_max = packets_of(m, m->target);
}

static void end_competing(struct muxbed *m, ns_t now)
{
    m->mode = MODE_DELAY;
    m->crowded = 0;
    m->competed = now;
    path_meter_hold(&m->meter, false);
}

static void look_for_competition(struct muxbed *m, ns_t dt, ns_t now)
{
    double queue = (double)m->sample.queue;

    if (queue < queue_target(m)) {
        m->crowded = 0;
    } else if (queue > COMPETITION_QUEUE * queue_target(m)) {
        m->crowded_target = m->crowded ? m->crowded_target : m->target;
        m->crowded += queue < m->queue_before ? 0 : dt; /* one that falls is our own */
    }
    m->queue_before = queue;
    if (m->crowded > COMPETITION_AFTER + 2 * m->rtt) {
        begin_competing(m, now);
    }
}

/* Returns whether a test is on, or has just told that nobody else is there. */
static bool test_alone(struct muxbed *m, ns_t now)
{
    if (m->test_since == NS_NEVER) {
        if (now - m->tested < ALONE_EVERY) {
            return false;
        }
        m->test_since = now;
        m->compete_target = m->target;
        m->test_time = (ns_t)((double)m->sample.queue / (1 - ALONE_FACTOR)) + m->rtt;
        m->test_time = ns_min(m->test_time + window_of(m), ALONE_TIME_MAX);
        m->capacity = (double)m->sample.arrived;
        set_target(m, ALONE_FACTOR * m->capacity);
    }
    if ((double)m->sample.queue < queue_target(m) / 2) {
        end_competing(m, now);
        set_target(m, m->capacity);
    } else if (now - m->test_since > m->test_time) {
        m->test_since = NS_NEVER;
        m->tested = now;
        set_target(m, m->compete_target);
    }
    return true;
}

/* As CUBIC would, by rate. */
static void compete(struct muxbed *m, ns_t now)
{
    const struct path_sample *s = &m->sample;
    double rtt = fmax((double)m->rtt, 1e6), t = ns_to_s(now - m->reduced), k, cubic, reno;

    if (test_alone(m, now)) {
        return;
    }
    if (s->lost && now - m->reduced > 2 * m->rtt) {
        m->reduced = now;
        m->window_max = packets_of(m, fmin(m->target, fmax((double)s->arrived, m->target / 2)));
        set_target(m, COMPETITION_DECREASE * m->window_max * 8 * PACKET_BYTES * 1e9 / rtt);
        return;
    }
    k = cbrt(m->window_max * (1 - COMPETITION_DECREASE) / CUBIC_C);
    cubic = m->window_max + CUBIC_C * pow(t - k, 3);
    reno = COMPETITION_DECREASE * m->window_max +
           3 * (1 - COMPETITION_DECREASE) / (1 + COMPETITION_DECREASE) * t * 1e9 / rtt;
    if (m->used > USED_RATIO) {
        set_target(m, fmax(m->target, fmax(cubic, reno) * 8 * PACKET_BYTES * 1e9 / rtt));
    }
}

/* ---- feedback ---- */

static void update(struct muxbed *m, ns_t now)
{
    ns_t dt = m->updated == NS_NEVER ? UPDATE_INTERVAL : now - m->updated;
    double used;

    if (m->updated != NS_NEVER && dt < UPDATE_INTERVAL) {
        return;
    }
    m->updated = now;
    used = (double)m->sent_bytes * 8 / ns_to_s(dt) / m->target;
    m->sent_bytes = 0;
    m->peak = fmax(m->target, m->peak * (1 - PEAK_FADE * ns_to_s(dt)));
    m->used += (used - m->used) * clamp((double)dt / (double)window_of(m), 0, 1);
    path_meter_look(&m->meter, window_of(m), WINDOW_PACKETS, (bps_t)m->target, &m->sample);
    if (m->sample.queue == NS_NEVER) {
        return;
    }
    if (m->mode == MODE_DELAY) {
        drain(m, now);
        follow_delay(m, dt, now);
        look_for_competition(m, dt, now);
    } else {
        compete(m, now);
    }
}

static void on_feedback(struct cc *c, const struct cc_packet *packets, size_t n, ns_t rtt, ns_t now)
{
    struct muxbed *m = (struct muxbed *)c;
    bps_t probed = 0;

    m->rtt = rtt > 0 ? (m->rtt ? m->rtt + (rtt - m->rtt) / 8 : rtt) : m->rtt;
    for (size_t i = 0; i < n; i++) {
        bps_t found = 0;

        path_meter_add(&m->meter, &packets[i]);
        if (!packets[i].lost && packets[i].probe != CC_NO_PROBE) {
            found = probe_estimator_add(&m->clusters, &packets[i]);
        }
        probed = found > 0 ? found : probed;
    }
    if ((double)probed > m->target && m->mode == MODE_DELAY) {
        set_target(m, (double)probed);
    }
    update(m, now);
    probe_controller_estimate(&m->probes, (bps_t)m->target,
                              m->usage == CC_USAGE_OVER || m->mode == MODE_COMPETING
                                  ? PROBE_LIMIT_DELAY
                                  : PROBE_LIMIT_NONE,
                              now);
}

/* ---- the rest of cc.h ---- */

int cc_muxbed_new(struct cc **out, const struct cc_config *cfg, ns_t now)
{
    struct muxbed *m;
    int rv = cc_make(out, sizeof *m, &ops, cfg);

    if (rv) {
        return rv;
    }
    m = (struct muxbed *)*out;
    m->cfg = *cfg;
    m->target = (double)cfg->start_rate;
    m->growth = GROWTH_FIRST;
    m->queue_bound_ns = 1e12;
    m->settling = now;
    m->updated = m->drain_since = NS_NEVER;
    m->competed = m->test_since = NS_NEVER;
    m->drained = m->reduced = now;
    m->deadline = now + PROCESS_INTERVAL;
    path_meter_init(&m->meter);
    ce_response_init(&m->ce, cfg->ecn);
    probe_controller_init(&m->probes, cfg->start_rate, cfg->max_rate, now);
    probe_estimator_init(&m->clusters);
    return 0;
}

static void on_sent(struct cc *c, int32_t bytes, ns_t now)
{
    (void)now;
    ((struct muxbed *)c)->sent_bytes += bytes;
}

/* Besides what is measured: a mark is said by a queue that knows more of itself than its delay. */
static void on_marks(struct cc *c, int64_t marked, int64_t packets, ns_t now)
{
    struct muxbed *m = (struct muxbed *)c;
    double factor = ce_response_marks(&m->ce, marked, packets, m->rtt, now);

    if (factor < 1) {
        set_target(m, factor * m->target);
    }
    m->growth = marked ? GROWTH_FIRST : m->growth;
}

static bps_t target(const struct cc *c)
{
    return (bps_t)((const struct muxbed *)c)->target;
}

static void demand(struct cc *c, ns_t now)
{
    probe_controller_demand(&((struct muxbed *)c)->probes, now);
}

static void source_pause(struct cc *c, bool paused)
{
    probe_controller_pause(&((struct muxbed *)c)->probes, paused);
}

static bool probe(struct cc *c, struct cc_probe *out, ns_t now)
{
    struct muxbed *m = (struct muxbed *)c;

    return cc_next_probe(&m->probes, &m->clusters, out, now);
}

static ns_t deadline(const struct cc *c)
{
    return ((const struct muxbed *)c)->deadline;
}

static void expire(struct cc *c, ns_t now)
{
    struct muxbed *m = (struct muxbed *)c;

    if (now >= m->deadline) {
        m->deadline = now + PROCESS_INTERVAL;
        probe_controller_expire(&m->probes, now);
    }
}

static void state(const struct cc *c, struct cc_state *out)
{
    const struct muxbed *m = (const struct muxbed *)c;

    *out = (struct cc_state){
        .target = (bps_t)m->target,
        .marks_ppm = (int64_t)(m->ce.alpha * 1e6),
        .delay_based = (bps_t)m->target,
        .loss_based = m->cfg.max_rate,
        .acked = m->sample.arrived,
        .loss_ppm = (int64_t)(1e6 * m->sample.lost / fmax(1, m->sample.lost + m->sample.packets)),
        .trend_ppm = m->sample.queue == NS_NEVER ? 0 : m->sample.queue / NS_PER_US,
        .threshold_ppm = (int64_t)(queue_target(m) / 1e3),
        .usage = m->usage,
        .state = m->mode == MODE_COMPETING ? CC_STATE_HOLD : CC_STATE_INCREASE,
        .app_limited = m->used < USED_RATIO,
    };
}

static const struct cc_ops ops = {
    .on_sent = on_sent,
    .on_feedback = on_feedback,
    .on_marks = on_marks,
    .target = target,
    .demand = demand,
    .pause = source_pause,
    .probe = probe,
    .deadline = deadline,
    .expire = expire,
    .state = state,
};
