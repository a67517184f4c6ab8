/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Google congestion control put together as libwebrtc does it (milestone 125): delay trend -> rate,
 * loss model -> limit, probes and application-limited handling around them. */
#include "agents/cc/aimd.h"
#include "agents/cc/alr.h"
#include "agents/cc/cc.h"
#include "agents/cc/cc_private.h"
#include "agents/cc/ce_response.h"
#include "agents/cc/inter_arrival.h"
#include "agents/cc/loss_based.h"
#include "agents/cc/probe_controller.h"
#include "agents/cc/probe_estimator.h"
#include "agents/cc/throughput.h"
#include "agents/cc/trendline.h"

#include <math.h>

#define PROCESS_INTERVAL (25 * NS_PER_MS)
#define STREAM_TIMEOUT (2 * NS_PER_S)
#define START_PHASE (2 * NS_PER_S)
#define LOSS_REPORT_INTERVAL NS_PER_S
#define LOSS_REPORT_PACKETS 20
#define PROBE_DROP_FRACTION 0.85
#define RTT_LIMIT (3 * NS_PER_S)
#define RTT_DROP_INTERVAL NS_PER_S
#define RTT_DROP_FRACTION 0.8
#define RTT_DROP_FLOOR 5000
/* Arrival times come from the peer: beyond 36 years either way they are nonsense, and the sums
 * formed from them could overflow. */
#define ARRIVAL_MAX (INT64_C(1) << 60)
/* received packets of one feedback that are brought into the order of arrival at a time */
#define SORT_MAX 256

struct gcc {
    struct cc cc;
    struct cc_config cfg;
    struct inter_arrival groups;
    struct trendline trend;
    struct aimd aimd;
    struct ce_response ce;
    struct throughput throughput;
    struct alr alr;
    struct loss_based loss;
    struct probe_controller probes;
    struct probe_estimator clusters;

    bps_t target;      /* what cc_target says */
    bps_t delay_limit; /* the delay-based estimate as of its last update; INT64_MAX: none */
    bps_t announced;   /* target the probe and application-limit parts know */
    bps_t last_delay_based;
    bps_t acked; /* 0: unknown */
    enum probe_limit limit;
    ns_t deadline;
    ns_t last_feedback; /* with arrivals; NS_NEVER: none */

    ns_t first_report; /* of loss, NS_NEVER: none yet */
    ns_t next_report;
    int64_t report_packets, report_lost;
    int64_t loss_ppm; /* of the last report */

    /* round trip of the least delayed packet of the last feedback, and when that was known */
    ns_t rtt, rtt_updated, last_sent, rtt_dropped;
};

static const struct cc_ops ops;

/* ---- target ---- */

static bps_t clamp_rate(bps_t rate, bps_t lo, bps_t hi)
{
    return rate < lo ? lo : rate > hi ? hi : rate;
}

static void set_target(struct gcc *g, bps_t rate)
{
    bps_t most = g->delay_limit < g->cfg.max_rate ? g->delay_limit : g->cfg.max_rate;

    rate = rate < most ? rate : most;
    g->target = clamp_rate(rate, g->cfg.min_rate, g->cfg.max_rate);
}

/* The round trip, plus the time feedback has been missing although packets were sent. */
static bool rtt_above_limit(const struct gcc *g, ns_t now)
{
    ns_t missing;

    if (g->rtt_updated == NS_NEVER) {
        return false;
    }
    missing = (now - g->rtt_updated) - (now - g->last_sent);
    return ns_max(missing, 0) + g->rtt > RTT_LIMIT;
}

static void update_target(struct gcc *g, ns_t now)
{
    bool starting = g->first_report == NS_NEVER || now - g->first_report < START_PHASE;

    if (rtt_above_limit(g, now)) {
        bps_t rate = g->target;
        if (now - g->rtt_dropped >= RTT_DROP_INTERVAL && rate > RTT_DROP_FLOOR) {
            g->rtt_dropped = now;
            rate = (bps_t)fmax(RTT_DROP_FRACTION * (double)rate, RTT_DROP_FLOOR);
        }
        set_target(g, rate);
        return;
    }
    if (starting && !g->loss_ppm && !loss_based_ready(&g->loss) && g->delay_limit != INT64_MAX &&
        g->delay_limit > g->target) {
        /* no loss yet: follow the probes at once */
        set_target(g, g->delay_limit);
        return;
    }
    if (g->first_report != NS_NEVER && loss_based_ready(&g->loss)) {
        if (loss_based_rate(&g->loss) < g->target) {
            ce_response_reduced(&g->ce, now);
        }
        set_target(g, loss_based_rate(&g->loss));
        return;
    }
    set_target(g, g->target);
}

static enum probe_limit probe_limit(const struct gcc *g, ns_t now)
{
    if (g->trend.usage != CC_USAGE_NORMAL || rtt_above_limit(g, now)) {
        return PROBE_LIMIT_DELAY;
    }
    switch (g->loss.state) {
    case LOSS_BASED_DECREASING: return PROBE_LIMIT_LOSS;
    case LOSS_BASED_INCREASING: return PROBE_LIMIT_GROWING;
    case LOSS_BASED_UNLIMITED: break;
    }
    return PROBE_LIMIT_NONE;
}

/* Tells the other parts about a new target. */
static void announce(struct gcc *g, ns_t now)
{
    enum probe_limit limit = probe_limit(g, now);

    if (g->target == g->announced && limit == g->limit) {
        return;
    }
    g->announced = g->target;
    g->limit = limit;
    alr_set_estimate(&g->alr, g->target);
    probe_controller_estimate(&g->probes, g->target, limit, now);
}

/* ---- feedback ---- */

static void detector_reset(struct gcc *g)
{
    inter_arrival_init(&g->groups);
    trendline_init(&g->trend);
}

/* What one feedback says, besides what the parts themselves remember. */
struct digest {
    bps_t probe;    /* 0: none */
    bool recovered; /* from underuse, with which every overuse ends */
};

static bool is_received(const struct cc_packet *p)
{
    return !p->lost && p->arrival > -ARRIVAL_MAX && p->arrival < ARRIVAL_MAX;
}

static void take_received(struct gcc *g, const struct cc_packet *p, struct digest *d, ns_t now)
{
    struct inter_arrival_delta delta;
    enum cc_usage before = g->trend.usage;
    bps_t probe;

    throughput_add(&g->throughput, p->sent, p->arrival, p->bytes);
    if (p->probe != CC_NO_PROBE && (probe = probe_estimator_add(&g->clusters, p)) > 0) {
        d->probe = probe;
    }
    if (inter_arrival_add(&g->groups, p->sent, p->arrival, now, &delta)) {
        trendline_update(&g->trend, delta.arrival, delta.send, p->arrival);
    }
    d->recovered |= before == CC_USAGE_UNDER && g->trend.usage == CC_USAGE_NORMAL;
}

/* Takes the received ones among n <= SORT_MAX packets in the order of their arrival. */
static void take_packets(struct gcc *g, const struct cc_packet *packets, size_t n, struct digest *d,
                         ns_t now)
{
    const struct cc_packet *order[SORT_MAX];
    size_t count = 0;

    for (size_t i = 0; i < n; i++) {
        size_t at = count;
        if (!is_received(&packets[i])) {
            continue;
        }
        for (; at > 0 && order[at - 1]->arrival > packets[i].arrival; at--) {
            order[at] = order[at - 1];
        }
        order[at] = &packets[i];
        count++;
    }
    for (size_t i = 0; i < count; i++) {
        take_received(g, order[i], d, now);
    }
}

static void take_losses(struct gcc *g, const struct cc_packet *packets, size_t n, ns_t now)
{
    for (size_t i = 0; i < n; i++) {
        loss_based_add(&g->loss, &packets[i]);
        g->report_packets++;
        g->report_lost += packets[i].lost;
    }
    if (g->first_report == NS_NEVER) {
        g->next_report = g->first_report = now;
    }
    if (now >= g->next_report && g->report_packets >= LOSS_REPORT_PACKETS) {
        g->loss_ppm = g->report_lost * 1000000 / g->report_packets;
        g->report_packets = g->report_lost = 0;
        g->next_report = now + LOSS_REPORT_INTERVAL;
    }
}

/* Round trip without the time the receiver kept the earlier packets of the feedback waiting. */
static void take_rtt(struct gcc *g, const struct cc_packet *packets, size_t n, ns_t now)
{
    ns_t last_arrival = 0, least = NS_NEVER;
    bool any = false;

    for (size_t i = 0; i < n; i++) {
        if (is_received(&packets[i])) {
            last_arrival = any ? ns_max(last_arrival, packets[i].arrival) : packets[i].arrival;
            any = true;
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (is_received(&packets[i])) {
            ns_t pending = last_arrival - packets[i].arrival;
            least = ns_min(least, now - packets[i].sent - pending);
        }
    }
    if (any) {
        g->rtt = least;
        g->rtt_updated = now;
    }
}

/* A probe's result never pulls the estimate far below what is known to get through. */
static bps_t probe_floor(const struct gcc *g, bps_t probe)
{
    double floor = fmin((double)g->last_delay_based, PROBE_DROP_FRACTION * (double)g->acked);

    return (double)probe > floor ? probe : (bps_t)floor;
}

/* What gets through, as far as the source shows it: what one was content with says nothing of what
 * the path carries. */
static bps_t carried(const struct gcc *g)
{
    return alr_active(&g->alr) ? g->last_delay_based : g->acked;
}

/* The delay-based rate is another. */
static void follow_aimd(struct gcc *g)
{
    g->delay_limit = g->aimd.rate;
    g->last_delay_based = g->aimd.rate;
    set_target(g, g->target);
}

/* Lets the delay-based rate follow the detector. Returns true when it decided something. */
static bool update_delay_based(struct gcc *g, bps_t probe, ns_t now)
{
    struct aimd *a = &g->aimd;

    if (g->trend.usage == CC_USAGE_OVER) {
        if (g->acked > 0) {
            if (!aimd_may_reduce(a, carried(g), now)) {
                return false;
            }
            aimd_update(a, CC_USAGE_OVER, carried(g), now);
            ce_response_reduced(&g->ce, now);
        } else if (aimd_may_reduce(a, a->rate / 2 - 1, now)) {
            aimd_set(a, a->rate / 2, now); /* nothing measured yet */
        } else {
            return false;
        }
    } else if (probe > 0) {
        aimd_set(a, probe, now);
        /* the probe was carried: it counts even where a limit had been */
        g->delay_limit = INT64_MAX;
        set_target(g, a->rate);
    } else {
        aimd_update(a, g->trend.usage, g->acked, now);
    }
    follow_aimd(g);
    return true;
}

static void on_feedback(struct cc *c, const struct cc_packet *packets, size_t n, ns_t rtt, ns_t now)
{
    struct gcc *g = (struct gcc *)c;
    struct digest d = {0};
    bool updated = false, received = false;

    if (!n) {
        return;
    }
    for (size_t i = 0; i < n && !received; i++) {
        received = is_received(&packets[i]);
    }
    probe_controller_app_limited(&g->probes, g->alr.since, now);
    take_losses(g, packets, n, now);
    if (received) {
        if (g->last_feedback != NS_NEVER && now - g->last_feedback > STREAM_TIMEOUT) {
            detector_reset(g);
        }
        g->last_feedback = now;
        take_rtt(g, packets, n, now);
        g->aimd.rtt = rtt > 0 ? rtt : g->aimd.rtt;
        for (size_t i = 0; i < n; i += SORT_MAX) {
            take_packets(g, packets + i, n - i < SORT_MAX ? n - i : SORT_MAX, &d, now);
        }
        throughput_trim(&g->throughput);
        g->acked = throughput_rate(&g->throughput);
        if (d.probe > 0 && g->acked > 0) {
            d.probe = probe_floor(g, d.probe);
        }
        updated = update_delay_based(g, d.probe, now);
    }
    loss_based_update(&g->loss, g->acked, g->delay_limit, alr_active(&g->alr));
    update_target(g, now);
    if (updated) {
        announce(g, now);
        if (d.recovered) {
            probe_controller_recovered(&g->probes, now);
        }
    }
}

static void on_marks(struct cc *c, int64_t marked, int64_t packets, ns_t now)
{
    struct gcc *g = (struct gcc *)c;
    double factor = ce_response_marks(&g->ce, marked, packets, g->aimd.rtt, now);

    if (factor < 1) {
        aimd_congested(&g->aimd, factor, carried(g), now);
        follow_aimd(g);
        announce(g, now);
    }
}

/* ---- the rest of cc.h ---- */

int cc_libwebrtc_new(struct cc **out, const struct cc_config *cfg, ns_t now)
{
    struct gcc *g;
    int rv = cc_make(out, sizeof *g, &ops, cfg);

    if (rv) {
        return rv;
    }
    g = (struct gcc *)*out;
    g->cfg = *cfg;
    detector_reset(g);
    aimd_init(&g->aimd, cfg->start_rate, cfg->min_rate);
    g->aimd.weight = cfg->weight > 1 ? (double)cfg->weight : 1;
    ce_response_init(&g->ce, cfg->ecn);
    throughput_init(&g->throughput);
    alr_init(&g->alr, cfg->start_rate);
    loss_based_init(&g->loss, cfg->min_rate, cfg->max_rate);
    probe_controller_init(&g->probes, cfg->start_rate, cfg->max_rate, now);
    probe_estimator_init(&g->clusters);
    g->target = g->announced = g->last_delay_based = cfg->start_rate;
    g->delay_limit = INT64_MAX;
    g->deadline = now + PROCESS_INTERVAL;
    g->last_feedback = g->first_report = g->rtt_updated = NS_NEVER;
    g->rtt_dropped = now;
    return 0;
}

static void on_sent(struct cc *c, int32_t bytes, ns_t now)
{
    struct gcc *g = (struct gcc *)c;

    alr_on_sent(&g->alr, bytes, now);
    g->last_sent = now;
    if (g->rtt_updated == NS_NEVER) {
        g->rtt_updated = now; /* from now on feedback can be missed */
    }
}

static bps_t target(const struct cc *c)
{
    return ((const struct gcc *)c)->target;
}

static void demand(struct cc *c, ns_t now)
{
    struct gcc *g = (struct gcc *)c;

    probe_controller_demand(&g->probes, now);
}

static void source_pause(struct cc *c, bool paused)
{
    probe_controller_pause(&((struct gcc *)c)->probes, paused);
}

static bool probe(struct cc *c, struct cc_probe *out, ns_t now)
{
    struct gcc *g = (struct gcc *)c;

    return cc_next_probe(&g->probes, &g->clusters, out, now);
}

static ns_t deadline(const struct cc *c)
{
    return ((const struct gcc *)c)->deadline;
}

static void expire(struct cc *c, ns_t now)
{
    struct gcc *g = (struct gcc *)c;

    if (now < g->deadline) {
        return;
    }
    g->deadline = now + PROCESS_INTERVAL;
    update_target(g, now);
    probe_controller_app_limited(&g->probes, g->alr.since, now);
    probe_controller_expire(&g->probes, now);
    announce(g, now);
}

static void state(const struct cc *c, struct cc_state *out)
{
    const struct gcc *g = (const struct gcc *)c;

    *out = (struct cc_state){
        .target = g->target,
        .delay_based = g->aimd.rate,
        .loss_based = loss_based_ready(&g->loss) ? loss_based_rate(&g->loss) : g->cfg.max_rate,
        .acked = g->acked,
        .loss_ppm = (int64_t)(g->loss.loss_ratio * 1e6),
        .trend_ppm = (int64_t)(g->trend.modified * 1e6),
        .threshold_ppm = (int64_t)(g->trend.threshold * 1e6),
        .usage = g->trend.usage,
        .state = g->aimd.state,
        .app_limited = alr_active(&g->alr),
        .marks_ppm = (int64_t)(g->ce.alpha * 1e6),
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
