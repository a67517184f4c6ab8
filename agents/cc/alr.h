/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Application-limited region: a budget that fills at 80 % of the estimate and is spent by what is
 * sent. A well-filled budget means that the source, not the network, limits the rate. */
#ifndef AGENTS_CC_ALR_H
#define AGENTS_CC_ALR_H

#include "agents/base/ns.h"
#include "agents/base/rate.h"

#include <stdbool.h>
#include <stdint.h>

struct alr {
    bps_t fill_rate;
    double budget_bytes, budget_max_bytes; /* the budget runs from -max to +max */
    ns_t last_sent;                        /* NS_NEVER before the first packet */
    ns_t since;                            /* NS_NEVER: not application-limited */
};

void alr_init(struct alr *a, bps_t estimate);
void alr_set_estimate(struct alr *a, bps_t estimate);
void alr_on_sent(struct alr *a, int32_t bytes, ns_t now);
static inline bool alr_active(const struct alr *a)
{
    return a->since != NS_NEVER;
}

#endif
