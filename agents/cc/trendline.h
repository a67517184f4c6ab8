/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Delay trend and overuse detector: a least-squares line through the last 20 smoothed one-way delay
 * variations, compared with a threshold that follows the path's own noise. */
#ifndef AGENTS_CC_TRENDLINE_H
#define AGENTS_CC_TRENDLINE_H

#include "agents/base/ns.h"
#include "agents/cc/cc.h"

#include <stdbool.h>
#include <stdint.h>

#define TRENDLINE_WINDOW 20

struct trendline {
    double x_ms[TRENDLINE_WINDOW], y_ms[TRENDLINE_WINDOW]; /* arrival, smoothed delay; a ring */
    int32_t first, count;
    int32_t deltas; /* seen so far, up to 1000 */
    ns_t origin;    /* arrival that x counts from */
    double accumulated_ms, smoothed_ms;
    double trend;    /* ms of delay per ms */
    double modified; /* trend scaled for the comparison */
    double threshold;
    ns_t threshold_updated;
    double overuse_ms; /* how long the threshold has been exceeded; -1: it is not */
    int32_t overuse_count;
    bool started;
    enum cc_usage usage;
};

void trendline_init(struct trendline *t);
/* Takes the spacing of two groups (of inter_arrival) and the arrival of the packet that completed
 * them; updates usage. */
void trendline_update(struct trendline *t, ns_t arrival_delta, ns_t send_delta, ns_t arrival);

#endif
