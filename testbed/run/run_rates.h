/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The bottleneck's rate in one direction over a run, as both doors to it need it: each step as what
 * a shaper is told then, and as a record. */
#ifndef TESTBED_RUN_RUN_RATES_H
#define TESTBED_RUN_RUN_RATES_H

#include "agents/base/rate_schedule.h"
#include "agents/record/record.h"
#include "testbed/scenario/scenario_flows.h"

/* Owned by the caller and not to be moved; borrows from the scenario. */
struct run_rates {
    const struct scenario *scenario;
    enum scenario_direction direction;
    struct rate_step one; /* of a constant rate */
    struct rate_schedule schedule;
};

/* When a step was due, and when the change for it began and ended. */
struct run_rates_time {
    ns_t due, begin, end;
};

void run_rates_init(struct run_rates *r, const struct scenario *s, enum scenario_direction d);
/* Records that the rate became this one: as that of both directions, or of the way back. A rate of
 * the way back that is the way forward's leaves no record. */
void run_rates_record(const struct run_rates *r, const struct record_sink *sink, bps_t rate,
                      const struct run_rates_time *t);
/* Records every step up to a time as one that took effect when it was due, as in virtual time. */
void run_rates_record_all(const struct run_rates *r, const struct record_sink *sink, ns_t until);

#endif
