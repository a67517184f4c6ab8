/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reasons for which a run is invalid: one table for those who find them (testbed/run,
 * analysis/metrics) and those who explain them. results/REASONS.md shows it; a test compares. */
#ifndef AGENTS_RECORD_REASON_H
#define AGENTS_RECORD_REASON_H

#include <stdbool.h>
#include <stddef.h>

struct reason {
    const char *name;    /* "driver-late" */
    const char *meaning; /* what is wrong with the run */
    const char *when;    /* from which figure on */
    const char *advice;  /* what to do about it */
    /* It lies with the host and how busy that was, not with what was measured: the same run may go
     * well when it is made again with less beside it. */
    bool host;
};

size_t reason_count(void);
/* i < reason_count(). */
const struct reason *reason_at(size_t i);
/* NULL when there is none of that name. */
const struct reason *reason_find(const char *name);
/* Whether the name is that of a reason that lies with the host. */
bool reason_is_host(const char *name);
/* The reasons that say no more than that somebody was late, whatever it did to what was measured:
 * nothing was lost, changed or left out. NULL from the end on. */
const char *reason_lateness_at(size_t i);

#endif
