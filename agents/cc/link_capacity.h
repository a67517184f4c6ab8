/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the throughputs at past overuses say about the link's capacity: a moving average and how far
 * a later throughput may stray before the average is no longer believed. */
#ifndef AGENTS_CC_LINK_CAPACITY_H
#define AGENTS_CC_LINK_CAPACITY_H

#include "agents/base/rate.h"

#include <stdbool.h>

struct link_capacity {
    bool known;
    double estimate_kbps;
    double variance_kbps; /* divided by the estimate */
};

void link_capacity_init(struct link_capacity *l);
void link_capacity_reset(struct link_capacity *l); /* forgets the estimate, keeps the variance */
void link_capacity_overuse(struct link_capacity *l, bps_t throughput);
/* The following ask for l->known, but for the bounds: everything when not known. */
bps_t link_capacity_estimate(const struct link_capacity *l);
bps_t link_capacity_upper(const struct link_capacity *l);
bps_t link_capacity_lower(const struct link_capacity *l);

#endif
