/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/cc/trendline.h"

#include <math.h>

#define SMOOTHING 0.9
#define GAIN 4.0
#define DELTAS_MAX 1000
#define DELTAS_SCALE_MAX 60
#define OVERUSE_MS 10.0
#define THRESHOLD_START 12.5
#define THRESHOLD_MIN 6.0
#define THRESHOLD_MAX 600.0
#define THRESHOLD_SKIP 15.0
#define THRESHOLD_STEP_MAX_MS 100.0
#define K_UP 0.0087
#define K_DOWN 0.039

void trendline_init(struct trendline *t)
{
    *t = (struct trendline){.threshold = THRESHOLD_START, .overuse_ms = -1};
}

static void push(struct trendline *t, double x, double y)
{
    int32_t at = (t->first + t->count) % TRENDLINE_WINDOW;

    t->x_ms[at] = x;
    t->y_ms[at] = y;
    if (t->count < TRENDLINE_WINDOW) {
        t->count++;
    } else {
        t->first = (t->first + 1) % TRENDLINE_WINDOW;
    }
}

/* Slope of the line through a full window; the order of the points does not matter. */
static double slope(const struct trendline *t, double otherwise)
{
    double sum_x = 0, sum_y = 0, num = 0, den = 0;

    for (int i = 0; i < TRENDLINE_WINDOW; i++) {
        sum_x += t->x_ms[i];
        sum_y += t->y_ms[i];
    }
    for (int i = 0; i < TRENDLINE_WINDOW; i++) {
        double dx = t->x_ms[i] - sum_x / TRENDLINE_WINDOW;
        num += dx * (t->y_ms[i] - sum_y / TRENDLINE_WINDOW);
        den += dx * dx;
    }
    return den > 0 ? num / den : otherwise;
}

static void adapt_threshold(struct trendline *t, ns_t arrival)
{
    double size = fabs(t->modified);
    double step_ms = ns_to_ms(arrival - t->threshold_updated);

    t->threshold_updated = arrival;
    /* a sudden drop of capacity must not teach the detector that such delays are normal */
    if (size > t->threshold + THRESHOLD_SKIP) {
        return;
    }
    step_ms = fmin(fmax(step_ms, 0), THRESHOLD_STEP_MAX_MS);
    t->threshold += (size < t->threshold ? K_DOWN : K_UP) * (size - t->threshold) * step_ms;
    t->threshold = fmin(fmax(t->threshold, THRESHOLD_MIN), THRESHOLD_MAX);
}

static void detect(struct trendline *t, double trend, double send_delta_ms, ns_t arrival)
{
    double previous = t->trend;

    t->trend = trend;
    if (t->deltas < 2) {
        t->usage = CC_USAGE_NORMAL;
        return;
    }
    t->modified = fmin(t->deltas, DELTAS_SCALE_MAX) * trend * GAIN;
    if (t->modified > t->threshold) {
        /* overuse began somewhere between the last two samples: take the middle */
        t->overuse_ms = t->overuse_ms < 0 ? send_delta_ms / 2 : t->overuse_ms + send_delta_ms;
        t->overuse_count++;
        if (t->overuse_ms > OVERUSE_MS && t->overuse_count > 1 && trend >= previous) {
            t->overuse_ms = 0;
            t->overuse_count = 0;
            t->usage = CC_USAGE_OVER;
        }
    } else {
        t->overuse_ms = -1;
        t->overuse_count = 0;
        t->usage = t->modified < -t->threshold ? CC_USAGE_UNDER : CC_USAGE_NORMAL;
    }
    adapt_threshold(t, arrival);
}

void trendline_update(struct trendline *t, ns_t arrival_delta, ns_t send_delta, ns_t arrival)
{
    double trend = t->trend;

    if (!t->started) {
        t->started = true;
        t->origin = t->threshold_updated = arrival;
    }
    if (t->deltas < DELTAS_MAX) {
        t->deltas++;
    }
    t->accumulated_ms += ns_to_ms(arrival_delta - send_delta);
    t->smoothed_ms = SMOOTHING * t->smoothed_ms + (1 - SMOOTHING) * t->accumulated_ms;
    push(t, ns_to_ms(arrival - t->origin), t->smoothed_ms);
    if (t->count == TRENDLINE_WINDOW) {
        trend = slope(t, trend);
    }
    detect(t, trend, ns_to_ms(send_delta), arrival);
}
