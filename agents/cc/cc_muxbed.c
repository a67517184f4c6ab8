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
#define TURN_MIN (250 * NS_PER_MS)

/* The standing queue: so much, and the time that a full packet takes at the target. So
 * who has more than others wants less of a queue than they do, and yields, until all have the same.
 */
#define QUEUE_TARGET (4 * NS_PER_MS)
#define QUEUE_TARGET_PACKETS 1.0
#define QUEUE_TARGET_MAX (80 * NS_PER_MS)
#define PACKET_BYTES 1500
#define PEAK_FADE 0.01 /* per second */
/* What the target was, as long ago as a round trip may be. */
#define HISTORY 128
#define RISE_MIN (-0.3)
#define FASTEST_MEMORY (1e9)
#define RISE_MAX 0.5
#define OTHERS_MAX 2.5
#define URGENT_FALL 0.05
#define URGENCY_MAX 16.0
/* Growth near the level at which a queue last stood. */
#define LEVEL_NEAR 0.7
#define LEVEL_PASSED 1.4
#define GROWTH_NEAR 0.02
/* The queue's error is to be gone after so many times the window and the round trip: what is
 * measured is as old as they are, and a loop that wants it gone within 2.7 times its own delay
 * swings. */
#define HORIZON 3.0
#define RAISE_MAX 0.04
#define LOWER_MAX 0.35

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
#define COMPETITION_AFTER (2000 * NS_PER_MS)
#define COMPETITION_QUEUE 2.5       /* targets; */
#define COMPETITION_QUEUE_LEAST 1.5 /* of who cannot yield further */
#define COMPETITION_QUEUE_MAX (30 * NS_PER_MS)
#define COMPETITION_OVER 2.0 /* below: nobody is there */
#define LEAST 1.25           /* times the minimum */
#define COMPETITION_FALL 0.4
#define COMPETITION_DECREASE 0.55
#define COMPETITION_START 1.5 /* of what is sent */
#define COMPETITION_MEMORY (15 * NS_PER_S)
/* CUBIC (RFC 9438 section 4.1): packets per s^3 */
#define CUBIC_C 0.4
/* So often, and so far down, to see whether the queue empties: then nobody keeps it full. A loss
 * begins it, which all feel that share a full queue, so that those who only hold each other up do
 * so at once. A test without success makes the next one wait for longer. */
#define ALONE_EVERY (5 * NS_PER_S)
#define ALONE_EVERY_MAX (6 * NS_PER_S)
#define ALONE_FACTOR 0.1
#define ALONE_AFTER 0.85 /* of what arrived before */
/* It goes on while the queue falls by so much of the time: others' windows hold it up, while of
 * traffic that heeds nothing it runs empty. */
#define ALONE_LOOK (300 * NS_PER_MS)
#define ALONE_FALL 0.06

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
    double target; /* bit/s */
    struct {
        ns_t since;
        double target;
    } history[HISTORY];
    size_t newest; /* in history */
    double peak_target;
    double peak;        /* the most that has arrived in the last minute or so */
    double capacity;    /* as last seen, 0: not yet */
    double fastest;     /* arrival of late, 0: not yet */
    double level;       /* what arrived while a queue came and went, 0: none did */
    bool over;          /* there is one, */
    ns_t over_since;    /* and came after that (time of arrival), */
    int64_t over_total; /* when so much had arrived */
    double urgency;     /* of lowering a queue */
    bool hurried;
    double growth; /* per window and round trip */
    ns_t settling; /* nothing is decided until then: what comes back was sent while draining */
    double queue_bound_ns; /* what the queue is believed to hold, as losses have told */
    ns_t rtt, updated, deadline;
    ns_t drain_since, drained; /* NS_NEVER: not draining; the last time it ended */
    ns_t crowded;              /* so long the queue has been above what we want without a break */
    double crowded_queue;      /* ... and has been no less than this, */
    bool yielded;              /* and we went as far down as we can, or others were there before */
    double crowded_target;     /* and the target was this then */
    /* MODE_COMPETING */
    ns_t reduced;            /* the last decrease */
    double window_max;       /* packets, before that */
    double compete_target;   /* what it had come to, ... */
    ns_t competed;           /* ... until then; NS_NEVER: never was */
    ns_t test_since, tested; /* looking whether we are alone; NS_NEVER: not now */
    ns_t test_every, test_every_last;
    ns_t test_look;    /* the queue is looked at again then; */
    double test_queue; /* it was this the last time, */
    double test_rise;  /* and changed by so much of the time */
    double weight;
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
    return ns_max(WINDOW_MIN, ns_min(m->rtt / 2, WINDOW_MAX));
}

/* The time in which an answer to what we do can be expected, at least as long for a short path as
 * makes it no faster than others. */
static ns_t turn_of(const struct muxbed *m)
{
    return ns_max(window_of(m) + m->rtt, TURN_MIN);
}

/* What is wanted at a rate. */
static double queue_at(const struct muxbed *m, double rate)
{
    double packet = PACKET_BYTES * 8 * 1e9 / rate;

    return fmin(QUEUE_TARGET + m->weight * QUEUE_TARGET_PACKETS * packet, QUEUE_TARGET_MAX);
}

static double queue_target(const struct muxbed *m)
{
    return fmin(queue_at(m, m->target), m->queue_bound_ns / 2);
}

/* The target at a time. */
static double target_of(const struct muxbed *m, ns_t at)
{
    size_t i = m->newest;

    for (size_t n = 1; n < HISTORY && m->history[i].since > at; n++) {
        size_t before = (i + HISTORY - 1) % HISTORY;

        if (m->history[before].target <= 0) {
            break;
        }
        i = before;
    }
    return m->history[i].target;
}

/* ---- alone on the path ---- */

/* What comes back until then was sent before. */
static void settle(struct muxbed *m, ns_t now)
{
    m->settling = ns_add(now, window_of(m) + m->rtt);
}

static void drain(struct muxbed *m, ns_t now)
{
    bool dry = m->sample.queue < DRAINED;

    if (m->drain_since == NS_NEVER) {
        m->drained = dry ? now : m->drained;
        if (now - m->drained >= DRAIN_EVERY) {
            m->drain_since = now;
            m->capacity = m->target;
        }
    } else if (dry || now - m->drain_since > DRAIN_TIME_MAX) {
        m->drain_since = NS_NEVER;
        m->drained = now;
        settle(m, now);
        set_target(m, m->capacity);
    }
}

/* The relative change that brings the queue to where it is wanted. */
static double correction(const struct muxbed *m)
{
    double horizon = HORIZON * (double)(window_of(m) + m->rtt);
    double error = queue_target(m) - (double)m->sample.queue;

    if (m->drain_since != NS_NEVER) {
        return DRAIN_FACTOR - 1;
    }
    return clamp((error < 0 ? m->urgency : 1) * error / horizon, -LOWER_MAX, RAISE_MAX);
}

static bool has_measured(const struct muxbed *m)
{
    return m->sample.busy >= BUSY_MIN;
}

static double rise_of(const struct muxbed *m)
{
    double rise = 2 * (double)m->sample.rise / (double)ns_max(m->sample.span, NS_PER_MS);

    return clamp(rise, RISE_MIN, RISE_MAX);
}

/* What of the target would have arrived, had it been sent all the time. A frame of a call may meet
 * none of the others' and arrive faster than the call's share of the path; but what all send in the
 * mean makes the queue rise or fall. */
static double share_of(const struct muxbed *m)
{
    const struct path_sample *s = &m->sample;
    double before = target_of(m, s->sent_at);
    double others = clamp(m->fastest / before, 1, OTHERS_MAX);
    double high = clamp((double)s->queue / (3 * queue_target(m)), 0, 1);
    double rise = clamp(others * rise_of(m), RISE_MIN, RISE_MAX);
    double share = before / (1 + (rise > 0 ? high : 1) * rise);

    if (has_measured(m) && s->saturated) {
        return fmin((double)s->arrived, COMPRESSED_MAX * (double)s->sent);
    }
    return m->fastest > 0 ? fmin(m->fastest, share) : share;
}

/* The fastest that anything arrived in the last second or two: the path is no faster. */
static void note_arrival(struct muxbed *m, ns_t dt)
{
    const struct path_sample *s = &m->sample;
    double arrived = fmin((double)s->arrived, COMPRESSED_MAX * (double)s->sent);

    arrived = has_measured(m) ? arrived : m->target;
    m->fastest +=
        (arrived - m->fastest) * (arrived > m->fastest ? 1 : fmin(1, (double)dt / FASTEST_MEMORY));
}

/* Between two moments at which as much waits, what arrived of us is what the path had for us,
 * however many others there are and however fast it is. Returns whether the second one is now: a
 * queue that was longer than wanted is as short as that level wants it. */
static bool note_level(struct muxbed *m)
{
    const struct path_sample *s = &m->sample;
    double level = m->target;
    bool over, ends;

    if (m->over) {
        level = fmax((double)m->cfg.min_rate, (double)rate_of(s->total - m->over_total,
                                                              ns_max(s->until - m->over_since, 1)));
    }
    over = (double)s->queue > fmin(queue_at(m, level), m->queue_bound_ns / 2);
    ends = m->over && !over;
    m->level = ends ? level : m->level;
    if (!over) {
        m->over_since = s->until - s->span;
        m->over_total = s->total - s->bytes;
    }
    m->over = over;
    return ends;
}

/* What is sent comes slower than it left. */
static bool is_slowed(const struct muxbed *m)
{
    return has_measured(m) && (double)m->sample.arrived < LIMITED_RATIO * (double)m->sample.sent;
}

static bool is_limited(const struct muxbed *m)
{
    return (double)m->sample.queue > LIMITED_QUEUE_PART * queue_target(m) ||
           (m->sample.saturated && is_slowed(m));
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

/* A queue that does not fall with what we send less is that of others, too, and our part of all
 * that is sent is small: then the same change takes more. Once it is gone, we are back where it
 * stood. */
static void hurry(struct muxbed *m, ns_t dt, bool gone, ns_t now)
{
    double turn = clamp((double)dt / (double)(window_of(m) + m->rtt), 0, 1);
    double queue = (double)m->sample.queue, wanted = queue_target(m);

    if (queue > COMPETITION_QUEUE * wanted && rise_of(m) > -URGENT_FALL) {
        m->urgency = fmin(URGENCY_MAX, m->urgency * (1 + turn));
        m->hurried = true;
        return;
    }
    m->urgency = 1 + (m->urgency - 1) * (1 - turn);
    if (gone && m->hurried) {
        m->hurried = false;
        set_target(m, fmax(m->target, m->level));
        settle(m, now);
    }
}

/* Near the level at which the queue last stood growth is slow: what comes of it is seen as much
 * later as an encoder takes to follow. */
static bool is_near_level(const struct muxbed *m)
{
    return m->target > LEVEL_NEAR * m->level && m->target < LEVEL_PASSED * m->level;
}

/* Frames that arrive slower than they left show the capacity, or less: no growth above that. */
static double grown(const struct muxbed *m, double turn)
{
    double rate = m->target * (1 + m->growth * turn);

    return is_slowed(m) ? fmax(m->target, fmin(rate, m->fastest)) : rate;
}

static void follow_delay(struct muxbed *m, ns_t dt, ns_t now)
{
    const struct path_sample *s = &m->sample;
    double part = clamp((double)dt / (double)window_of(m), 0, 1);
    bool gone;

    note_losses(m, ns_to_s(dt));
    note_arrival(m, dt);
    gone = note_level(m);
    if (m->settling > now) {
        return;
    }
    hurry(m, dt, gone, now);
    if (m->settling > now) {
        return;
    }
    if (is_limited(m)) {
        double arrived = share_of(m);
        double wanted = arrived * (1 + correction(m));
        /* soon down, for the queue is there; up as the measurement settles */
        double gain = wanted < m->target ? fmin(1, 3 * part) : fmin(1, 2 * part);

        m->usage = (double)s->queue > 2 * queue_target(m) ? CC_USAGE_OVER : CC_USAGE_NORMAL;
        m->growth = GROWTH_FIRST;
        set_target(m, m->target + gain * (wanted - m->target));
    } else if (m->used > USED_RATIO || (double)s->arrived > m->target) {
        double turn = clamp((double)dt / (double)turn_of(m), 0, 1);
        bool near = is_near_level(m) || is_slowed(m);

        m->usage = CC_USAGE_NORMAL;
        if (m->drain_since == NS_NEVER) {
            m->growth = near ? fmin(m->growth, GROWTH_NEAR) : m->growth;
            set_target(m, grown(m, turn));
            m->growth = fmin(GROWTH_MAX, m->growth * (1 + turn));
        }
    }
}

/* ---- beside a flow that fills the queue ---- */

static double packets_of(const struct muxbed *m, double rate)
{
    return rate * ns_to_s(m->rtt) / (8 * PACKET_BYTES);
}

static void forget_crowd(struct muxbed *m)
{
    m->crowded = 0;
    m->crowded_target = 0;
    m->yielded = false;
}

static void end_competing(struct muxbed *m, ns_t now)
{
    m->mode = MODE_DELAY;
    forget_crowd(m);
    m->over = m->hurried = false; /* what had come meanwhile is no level */
    m->urgency = 1;
    m->competed = now;
    m->test_every_last = m->test_every;
    path_meter_hold(&m->meter, false);
}

static bool has_competed(const struct muxbed *m, ns_t now)
{
    return m->competed != NS_NEVER && now - m->competed < COMPETITION_MEMORY;
}

static void begin_competing(struct muxbed *m, ns_t now)
{
    double start = fmax(m->crowded_target / 2, COMPETITION_START * m->target);

    m->test_every = ALONE_EVERY;
    if (has_competed(m, now)) { /* the last test was wrong */
        start = m->compete_target;
        m->test_every = ns_min(2 * m->test_every_last, ALONE_EVERY_MAX);
    }
    m->test_every_last = m->test_every;
    m->mode = MODE_COMPETING;
    path_meter_hold(&m->meter, true);
    set_target(m, fmax(m->target, start));
    m->reduced = m->tested = now;
    m->test_since = NS_NEVER;
    m->window_max = packets_of(m, m->target);
}

static bool is_least(const struct muxbed *m)
{
    return m->target <= LEAST * (double)m->cfg.min_rate;
}

/* Who has yielded all that it can, and sees the queue no shorter for it, is not who keeps it full.
 * A queue is high by the highest target of the last minute or so: that what is left to us has
 * become little makes the link no slower. */
static void look_for_competition(struct muxbed *m, ns_t dt, ns_t now)
{
    double queue = (double)m->sample.queue,
           wanted = fmin(queue_at(m, m->peak_target), COMPETITION_QUEUE_MAX);
    double high = is_least(m) ? COMPETITION_QUEUE_LEAST : COMPETITION_QUEUE;

    if (queue < fmin(COMPETITION_OVER * wanted, COMPETITION_QUEUE_MAX)) {
        forget_crowd(m);
    } else if (queue > high * wanted && m->crowded_target <= 0) {
        m->crowded_target = m->target;
    }
    m->yielded |= m->crowded_target > 0 && (is_least(m) || has_competed(m, now));
    if (!m->yielded) {
        m->crowded_queue = queue;
        return;
    }
    m->crowded += dt;
    if (queue < COMPETITION_FALL * m->crowded_queue) {
        m->crowded = 0; /* it is ours */
        m->crowded_queue = queue;
        m->yielded = false;
    }
    m->crowded_queue = fmax(m->crowded_queue, queue);
    if (m->crowded > COMPETITION_AFTER + m->rtt) {
        begin_competing(m, now);
    }
}

static void begin_test(struct muxbed *m, ns_t now)
{
    m->test_since = now;
    m->compete_target = m->target;
    m->capacity = (double)m->sample.arrived;
    m->test_look = now + m->rtt + window_of(m) + ALONE_LOOK;
    m->test_queue = HUGE_VAL;
    m->test_rise = -1;
    set_target(m, ALONE_FACTOR * m->capacity);
}

static void end_test(struct muxbed *m, ns_t now)
{
    m->test_since = NS_NEVER;
    m->tested = now;
    m->test_every = ns_min(2 * m->test_every, ALONE_EVERY_MAX);
    set_target(m, m->compete_target);
}

/* Returns whether a test is on, or has just told that nobody else is there. */
static bool test_alone(struct muxbed *m, ns_t now)
{
    double queue = (double)m->sample.queue;

    if (m->test_since == NS_NEVER) {
        if (now - m->tested < (m->sample.lost ? 1 : 2) * m->test_every) {
            return false;
        }
        begin_test(m, now);
    }
    if (queue < queue_at(m, m->capacity) / 2) {
        end_competing(m, now);
        set_target(m, fmin(ALONE_AFTER * m->capacity, m->target - fmin(0, m->test_rise) * m->peak));
    } else if (now >= m->test_look) {
        if (queue > m->test_queue - ALONE_FALL * ALONE_LOOK) {
            end_test(m, now);
        }
        m->test_rise = (queue - m->test_queue) / ALONE_LOOK;
        m->test_queue = queue;
        m->test_look = now + ALONE_LOOK;
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
    m->peak_target = fmax(m->target, m->peak_target * (1 - PEAK_FADE * ns_to_s(dt)));
    m->peak = fmax((double)m->sample.arrived, m->peak * (1 - PEAK_FADE * ns_to_s(dt)));
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
    m->newest = (m->newest + 1) % HISTORY;
    m->history[m->newest].since = now;
    m->history[m->newest].target = m->target;
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
    m->history[0].target = m->target;
    m->weight = cfg->weight > 1 ? (double)cfg->weight : 1;
    m->growth = GROWTH_FIRST;
    m->urgency = 1;
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

/* Besides what is measured: a mark is said by a queue that knows more of itself than its delay. As
 * growth is no faster for who has the shorter round trip, nor is the fall, or it would leave the
 * path to the others. Of L4S each round's part of marks counts. */
static void on_marks(struct cc *c, int64_t marked, int64_t packets, ns_t now)
{
    struct muxbed *m = (struct muxbed *)c;
    ns_t round = m->cfg.ecn == CC_ECN_CLASSIC ? turn_of(m) : m->rtt;
    double factor = ce_response_marks(&m->ce, marked, packets, round, now);

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
