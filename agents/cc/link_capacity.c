/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/cc/link_capacity.h"

#include <math.h>

#define ALPHA 0.05
#define VARIANCE_MIN 0.4
#define VARIANCE_MAX 2.5
#define DEVIATIONS 3

void link_capacity_init(struct link_capacity *l)
{
    *l = (struct link_capacity){.variance_kbps = VARIANCE_MIN};
}

void link_capacity_reset(struct link_capacity *l)
{
    l->known = false;
}

void link_capacity_overuse(struct link_capacity *l, bps_t throughput)
{
    double sample = (double)throughput / 1000;
    double error;

    l->estimate_kbps = l->known ? (1 - ALPHA) * l->estimate_kbps + ALPHA * sample : sample;
    l->known = true;
    error = l->estimate_kbps - sample;
    l->variance_kbps =
        (1 - ALPHA) * l->variance_kbps + ALPHA * error * error / fmax(l->estimate_kbps, 1);
    l->variance_kbps = fmin(fmax(l->variance_kbps, VARIANCE_MIN), VARIANCE_MAX);
}

bps_t link_capacity_estimate(const struct link_capacity *l)
{
    return (bps_t)(l->estimate_kbps * 1000);
}

static double deviation_kbps(const struct link_capacity *l)
{
    return sqrt(l->variance_kbps * l->estimate_kbps);
}

bps_t link_capacity_upper(const struct link_capacity *l)
{
    if (!l->known) {
        return INT64_MAX;
    }
    return (bps_t)((l->estimate_kbps + DEVIATIONS * deviation_kbps(l)) * 1000);
}

bps_t link_capacity_lower(const struct link_capacity *l)
{
    if (!l->known) {
        return 0;
    }
    return (bps_t)(fmax(0, l->estimate_kbps - DEVIATIONS * deviation_kbps(l)) * 1000);
}
