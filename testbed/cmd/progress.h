/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a person sees while runs are made: on a terminal one line that changes, else a line per run.
 * All of it goes to standard error. */
#ifndef TESTBED_CMD_PROGRESS_H
#define TESTBED_CMD_PROGRESS_H

#include "testbed/scenario/scenario.h"

#include <stdbool.h>
#include <stddef.h>

struct progress {
    bool quiet, terminal;
    size_t index, count; /* the current run, from 1 */
    const struct plan_run *run;
    ns_t expected_total, expected_done; /* run time, over all runs */
    ns_t started, run_started, shown;   /* wall clock, monotonic */
};

void progress_init(struct progress *p, const struct plan *plan, bool quiet);
void progress_begin(struct progress *p, const struct plan_run *run);
void progress_time(struct progress *p, ns_t run_time);
/* How long the current run has taken, wall-clock time. */
double progress_seconds(const struct progress *p);
/* outcome is one word; text may be empty. Anything but "done" is shown also when quiet. */
void progress_end(struct progress *p, const char *outcome, const char *text);

#endif
