/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A rate that changes in time: steps from one constant rate to the next, once or over and over. A
 * schedule borrows its steps; all times are the run's. */
#ifndef AGENTS_BASE_RATE_SCHEDULE_H
#define AGENTS_BASE_RATE_SCHEDULE_H

#include "agents/base/ns.h"
#include "agents/base/rate.h"

#include <stddef.h>

struct rate_step {
    ns_t at;
    bps_t rate; /* > 0, from at on */
};

struct rate_schedule {
    const struct rate_step *steps; /* strictly ascending in time, the first one at 0 */
    size_t count;                  /* at least 1 */
    ns_t
        period; /* after the last step: the schedule begins anew so often; 0: the last rate stays */
};

/* A walk through the steps, from time 0 on. */
struct rate_cursor {
    const struct rate_schedule *schedule;
    size_t current;
    ns_t base; /* when the current repetition began */
};

/* Puts the cursor on the first step. schedule outlives the cursor. */
void rate_cursor_init(struct rate_cursor *c, const struct rate_schedule *schedule);
/* The rate in force between this step and the next. */
bps_t rate_cursor_rate(const struct rate_cursor *c);
/* When the next step is; NS_NEVER when there is none. */
ns_t rate_cursor_next(const struct rate_cursor *c);
/* Goes to the next step, which there must be. */
void rate_cursor_advance(struct rate_cursor *c);

/* The rate in force at t >= 0. */
bps_t rate_schedule_at(const struct rate_schedule *s, ns_t t);
/* Bits that the rate carries from one time to another; 0 unless from < to. */
double rate_schedule_bits(const struct rate_schedule *s, ns_t from, ns_t to);
/* When the rate has carried bits from a time on; NS_NEVER beyond all time. */
ns_t rate_schedule_end(const struct rate_schedule *s, ns_t from, double bits);
bps_t rate_schedule_min(const struct rate_schedule *s);
bps_t rate_schedule_max(const struct rate_schedule *s);

#endif
