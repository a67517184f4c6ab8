/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/cc/pushback.h"

#include <math.h>

#define WINDOW_MIN_BYTES 3000
#define RATE_MIN 30000
#define FILL_HIGH 1.5
#define FILL_FULL 1.0
#define FILL_EMPTY 0.1
#define STEP_DOWN_FAST 0.9
#define STEP_DOWN 0.95
#define STEP_UP 1.05
#define SKIP_ABOVE 0.01
#define SKIP_MIN 2

void pushback_init(struct pushback *p, ns_t queue)
{
    *p = (struct pushback){.queue = queue, .ratio = 1};
}

void pushback_feedback(struct pushback *p, ns_t longest, bps_t target)
{
    p->round_trips[p->at] = longest;
    p->at = (p->at + 1) % PUSHBACK_ROUND_TRIPS;
    p->count += p->count < PUSHBACK_ROUND_TRIPS;
    pushback_target(p, target);
}

void pushback_target(struct pushback *p, bps_t target)
{
    ns_t least = NS_NEVER;
    int64_t bytes;

    if (!p->count) {
        return;
    }
    for (uint32_t i = 0; i < p->count; i++) {
        least = ns_min(least, p->round_trips[i]);
    }
    bytes = rate_bytes(target, ns_max(least, 0) + p->queue);
    bytes = p->window_bytes ? (bytes + p->window_bytes) / 2 : bytes;
    p->window_bytes = bytes > WINDOW_MIN_BYTES ? bytes : WINDOW_MIN_BYTES;
}

void pushback_in_flight(struct pushback *p, int64_t bytes)
{
    double fill;

    if (!p->window_bytes) {
        return;
    }
    fill = (double)bytes / (double)p->window_bytes;
    if (fill > FILL_HIGH) {
        p->ratio *= STEP_DOWN_FAST;
    } else if (fill > FILL_FULL) {
        p->ratio *= STEP_DOWN;
    } else if (fill < FILL_EMPTY) {
        p->ratio = 1;
    } else {
        p->ratio = fmin(p->ratio * STEP_UP, 1);
    }
}

int64_t pushback_skip(const struct pushback *p, bps_t target, bps_t min_rate)
{
    double least = fmin(fmax(RATE_MIN, (double)min_rate), (double)target);
    double pushed = fmax((double)target * p->ratio, least);
    double reduce = (double)target - pushed;
    int64_t every;

    if (target <= min_rate || reduce <= SKIP_ABOVE * (double)target) {
        return 0;
    }
    every = (int64_t)((double)target / reduce);
    return every > SKIP_MIN ? every : SKIP_MIN;
}
