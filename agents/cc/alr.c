/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/cc/alr.h"

#include <math.h>

#define USAGE 0.80
#define START_LEVEL 0.40
#define STOP_LEVEL (-0.60)
#define WINDOW_S 0.5

void alr_init(struct alr *a, bps_t estimate)
{
    *a = (struct alr){.last_sent = NS_NEVER, .since = NS_NEVER};
    alr_set_estimate(a, estimate);
}

void alr_set_estimate(struct alr *a, bps_t estimate)
{
    a->fill_rate = (bps_t)(USAGE * (double)estimate);
    a->budget_max_bytes = WINDOW_S * (double)a->fill_rate / 8;
    a->budget_bytes = fmin(fmax(a->budget_bytes, -a->budget_max_bytes), a->budget_max_bytes);
}

void alr_on_sent(struct alr *a, int32_t bytes, ns_t now)
{
    double level;

    if (a->last_sent == NS_NEVER) {
        a->last_sent = now; /* nobody knows yet how long these bytes took */
        return;
    }
    a->budget_bytes = fmax(a->budget_bytes - bytes, -a->budget_max_bytes);
    a->budget_bytes = fmin(a->budget_bytes + (double)a->fill_rate * ns_to_s(now - a->last_sent) / 8,
                           a->budget_max_bytes);
    a->last_sent = now;
    level = a->budget_bytes / a->budget_max_bytes;
    if (!alr_active(a) && level > START_LEVEL) {
        a->since = now;
    } else if (alr_active(a) && level < STOP_LEVEL) {
        a->since = NS_NEVER;
    }
}
