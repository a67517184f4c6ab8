/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a person sees while runs are made: on a terminal one line that changes; elsewhere a line per
 * run or, of a plan with many runs, one every few seconds. All of it goes to standard error. */
#ifndef TESTBED_CMD_PROGRESS_H
#define TESTBED_CMD_PROGRESS_H

#include "testbed/scenario/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Of a plan with more runs, runs that went well are not told one by one. */
#define PROGRESS_EACH_MAX 20

enum progress_outcome {
    PROGRESS_DONE,
    PROGRESS_INVALID,
    PROGRESS_FAILED,
    PROGRESS_INTERRUPTED,
    PROGRESS_AGAIN, /* does not count: it will be made again */
};

struct progress_running {
    const struct plan_run *run; /* NULL: the place is free */
    ns_t run_time, started;
};

struct progress {
    bool quiet, terminal;
    size_t count, ended, invalid, failed; /* runs: in all, so far */
    size_t kept;                          /* of ended: were there before */
    struct progress_running *running;     /* one per place */
    size_t places;
    ns_t expected_total, expected_done; /* run time, over all runs that are to be made */
    ns_t started, shown;                /* CLOCK_MONOTONIC */
    size_t shown_ended;
    FILE *log; /* is told all that stays to be read, with the time of day; may be NULL */
};

/* places: how many runs there may be at once. Returns 0 or ERR_NOMEM. */
int progress_init(struct progress *p, const struct plan *plan, size_t places, bool quiet);
void progress_fini(struct progress *p);
/* A run that is complete already. */
void progress_kept(struct progress *p, const struct plan_run *run, bool invalid);
void progress_begin(struct progress *p, size_t place, const struct plan_run *run, ns_t now);
void progress_time(struct progress *p, size_t place, ns_t run_time);
/* text may be empty. Anything but PROGRESS_DONE is shown also when quiet. Returns how long the run
 * took, in seconds of the wall clock. */
double progress_end(struct progress *p, size_t place, enum progress_outcome outcome,
                    const char *text, ns_t now);
/* Shows how far it is, if that is due. */
void progress_show(struct progress *p, ns_t now);
/* A line that stays, unless quiet; in the log always. */
void progress_say(struct progress *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
