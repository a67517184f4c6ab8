/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the folder of a run says of it. The folder is the truth: an index only repeats it. */
#ifndef TESTBED_CMD_RUN_STATE_H
#define TESTBED_CMD_RUN_STATE_H

#include "agents/base/ns.h"

#include <stdbool.h>

enum run_state {
    RUN_STATE_ABSENT,
    RUN_STATE_HALF,      /* a folder without DONE: the run was cut off */
    RUN_STATE_UNREDUCED, /* DONE, but no metrics.json */
    RUN_STATE_COMPLETE,
};

struct run_verdict {
    bool invalid;
    /* A reason that lies with the host, not with what was measured: processes that were late or
     * killed, captures that lost packets. Such a run may go well when it is made again. */
    bool host;
    /* What it is judged by is there, but is no JSON: a host that lost its power leaves files empty
     * or cut off. One that may not be opened is none of these. */
    bool damaged;
    char text[400]; /* "reason (detail), reason (detail)" */
};

/* The state of the run in dir. */
enum run_state run_state_of(const char *dir);
/* Judges a run by its metrics.json or, without one, its manifest.json; one that cannot be read is
 * invalid. */
void run_state_judge(const char *dir, struct run_verdict *v);
/* How late the latest of the run's agents and its delay line was, by the counters in its folder;
 * NS_NEVER where nothing was measured, as in virtual time. */
void run_state_lateness(const char *dir, ns_t *p99, ns_t *max);

#endif
