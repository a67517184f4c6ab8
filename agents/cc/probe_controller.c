/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/cc/probe_controller.h"

#include <math.h>

#define RESULT_WAIT NS_PER_S
#define START_SCALE_1 3.0
#define START_SCALE_2 6.0
#define FURTHER_SCALE 2.0
#define FURTHER_THRESHOLD 0.7
#define ALR_SCALE 2.0
#define ALR_INTERVAL (5 * NS_PER_S)
#define ALR_ENDED_RECENTLY (3 * NS_PER_S)
#define DROP_THRESHOLD 0.66
#define DROP_TIMEOUT (5 * NS_PER_S)
#define DROP_FRACTION 0.85
#define DROP_PROBE_INTERVAL (5 * NS_PER_S)
#define DEMAND_SCALE 2.0
#define DEMAND_TIMEOUT NS_PER_S
#define UNCERTAINTY 0.05
#define LOSS_SCALE 1.5
#define CLUSTER_PACKETS 5
#define CLUSTER_LENGTH (15 * NS_PER_MS)
#define CLUSTER_TIMEOUT (5 * NS_PER_S)

void probe_controller_init(struct probe_controller *p, bps_t start_rate, bps_t max_rate, ns_t now)
{
    *p = (struct probe_controller){
        .state = PROBE_INIT,
        .estimate = start_rate,
        .max_rate = max_rate,
        .further_above = INT64_MAX,
        .started = now,
        .alr_since = NS_NEVER,
        .alr_ended = NS_NEVER,
        .dropped = now,
        .drop_probed = now,
        .demanded = NS_NEVER,
    };
}

static void enqueue(struct probe_controller *p, bps_t rate, ns_t now)
{
    if (p->queued == PROBE_QUEUE) {
        return;
    }
    p->queue[p->queued].probe = (struct cc_probe){
        .id = p->next_id,
        .rate = rate,
        .bytes = rate_bytes(rate, CLUSTER_LENGTH),
        .packets = CLUSTER_PACKETS,
    };
    p->queue[p->queued].made = now;
    p->queued++;
    p->next_id = p->next_id == INT32_MAX ? 0 : p->next_id + 1;
}

/* Queues one cluster per rate, if probing is allowed at all. */
static void initiate(struct probe_controller *p, const double *rates, size_t n, bool further,
                     ns_t now)
{
    double most = (double)p->max_rate, last = 0;

    if (p->paused || p->limit == PROBE_LIMIT_DELAY || p->limit == PROBE_LIMIT_LOSS) {
        return;
    }
    if (p->limit == PROBE_LIMIT_GROWING) {
        most = fmin(most, LOSS_SCALE * (double)p->estimate);
    }
    for (size_t i = 0; i < n; i++) {
        if (rates[i] >= most) {
            further = false;
        }
        last = fmin(rates[i], most);
        enqueue(p, (bps_t)last, now);
    }
    p->started = now;
    p->state = further ? PROBE_WAITING : PROBE_COMPLETE;
    p->further_above = further ? (bps_t)(FURTHER_THRESHOLD * last) : INT64_MAX;
}

void probe_controller_start(struct probe_controller *p, ns_t now)
{
    double start = (double)p->estimate;

    if (p->state == PROBE_INIT) {
        initiate(p, (double[]){START_SCALE_1 * start, START_SCALE_2 * start}, 2, true, now);
    }
}

void probe_controller_estimate(struct probe_controller *p, bps_t estimate, enum probe_limit limit,
                               ns_t now)
{
    p->limit = limit;
    if ((double)estimate < DROP_THRESHOLD * (double)p->estimate) {
        p->dropped = now;
        p->before_drop = p->estimate;
    }
    p->estimate = estimate;
    if (p->state == PROBE_WAITING && estimate > p->further_above) {
        initiate(p, (double[]){FURTHER_SCALE * (double)estimate}, 1, true, now);
    }
}

void probe_controller_app_limited(struct probe_controller *p, ns_t since, ns_t now)
{
    if (p->alr_since != NS_NEVER && since == NS_NEVER) {
        p->alr_ended = now;
    }
    p->alr_since = since;
}

void probe_controller_recovered(struct probe_controller *p, ns_t now)
{
    bool ended_recently = p->alr_ended != NS_NEVER && now - p->alr_ended < ALR_ENDED_RECENTLY;
    double rate = DROP_FRACTION * (double)p->before_drop;

    /* a drop of a source that fills the path was real; one seen by a limited source may not be */
    if (p->state != PROBE_COMPLETE || (p->alr_since == NS_NEVER && !ended_recently)) {
        return;
    }
    if ((1 - UNCERTAINTY) * rate > (double)p->estimate && now - p->dropped < DROP_TIMEOUT &&
        now - p->drop_probed > DROP_PROBE_INTERVAL) {
        p->drop_probed = now;
        initiate(p, &rate, 1, false, now);
    }
}

static void serve_demand(struct probe_controller *p, ns_t now)
{
    if (p->demanded == NS_NEVER || p->state != PROBE_COMPLETE) {
        return;
    }
    if (now - p->demanded > DEMAND_TIMEOUT || p->estimate >= p->max_rate) {
        p->demanded = NS_NEVER;
    } else if (p->limit == PROBE_LIMIT_NONE || p->limit == PROBE_LIMIT_GROWING) {
        p->demanded = NS_NEVER;
        initiate(p, (double[]){DEMAND_SCALE * (double)p->estimate}, 1, true, now);
    }
}

void probe_controller_pause(struct probe_controller *p, bool paused)
{
    p->paused = paused;
    if (paused) {
        p->queued = 0;
    }
}

void probe_controller_demand(struct probe_controller *p, ns_t now)
{
    p->demanded = now;
    serve_demand(p, now);
}

void probe_controller_expire(struct probe_controller *p, ns_t now)
{
    if (p->state == PROBE_WAITING && now - p->started > RESULT_WAIT) {
        p->state = PROBE_COMPLETE;
        p->further_above = INT64_MAX;
    }
    serve_demand(p, now);
    if (p->state == PROBE_COMPLETE && p->alr_since != NS_NEVER &&
        now >= ns_max(p->alr_since, p->started) + ALR_INTERVAL) {
        initiate(p, (double[]){ALR_SCALE * (double)p->estimate}, 1, true, now);
    }
}

bool probe_controller_next(struct probe_controller *p, struct cc_probe *out, ns_t now)
{
    bool fresh = false;

    while (p->queued && !fresh) {
        fresh = now - p->queue[0].made <= CLUSTER_TIMEOUT;
        *out = p->queue[0].probe;
        p->queued--;
        for (size_t i = 0; i < p->queued; i++) {
            p->queue[i] = p->queue[i + 1];
        }
    }
    return fresh;
}
