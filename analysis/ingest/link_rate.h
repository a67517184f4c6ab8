/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The bottleneck's rate over a run: the manifest's, and the changes of it that the testbed made. */
#ifndef ANALYSIS_INGEST_LINK_RATE_H
#define ANALYSIS_INGEST_LINK_RATE_H

#include "agents/base/rate_schedule.h"
#include "analysis/ingest/fault.h"
#include "analysis/ingest/table.h"

struct link_rate {
    struct rate_step *steps;
    struct rate_schedule schedule; /* of these steps; count 0: the rate is not known */
};

/* first: the rate at the beginning, 0 when unknown; changes: records of kind capacity, whose times
 * must ascend from above 0. Returns 0, ERR_MALFORMED or ERR_NOMEM with *f filled; *l is then empty.
 */
int link_rate_init(struct link_rate *l, bps_t first, const struct table *changes, struct fault *f);
void link_rate_fini(struct link_rate *l);

#endif
