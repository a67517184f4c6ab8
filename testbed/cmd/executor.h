/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes a plan's runs, several at once, each in a process of its own (worker.h), and keeps the
 * plan's index (plan_index.h). */
#ifndef TESTBED_CMD_EXECUTOR_H
#define TESTBED_CMD_EXECUTOR_H

#include "testbed/cmd/junit.h"
#include "testbed/cmd/keep.h"
#include "testbed/cmd/plan_index.h"
#include "testbed/run/run.h"

#include <stdbool.h>
#include <stddef.h>

/* More runs at once than anybody has processors for. */
#define EXECUTOR_JOBS_MAX 256
#define EXECUTOR_LOG_FILE "sweep.log"

struct executor {
    enum run_link link;
    const char *link_why;
    const char *out;     /* the plan's folder, exists */
    const char *analyze; /* the program that reduces a run */
    bool keylog, quiet, no_certificate;
    enum keep keep;
    size_t jobs;              /* runs at once, at most; 0 counts as 1 */
    bool resume;              /* runs that are complete already are kept, others are made */
    struct plan_index *index; /* has the plan's runs */
    struct junit *junit;      /* is told how runs end; may be NULL */

    /* results; complete counts also invalid and kept ones */
    size_t complete, invalid, failed, kept;
    size_t unreduced; /* failed, but made: only its reduction is missing */
    size_t spoilt;    /* invalid for a reason of the host: may go well if made again */
    bool interrupted;
    bool disk_full; /* it went no further, for want of room */
};

/* Makes everything that is in the plan, in the order of run_order.h. Failed and invalid runs are
 * counted and reported on standard error, the rest goes on. Runs in real time beside others are
 * begun as admission.h allows, and one that was late is made once more, alone, before it counts.
 *
 * When resuming, a folder that is not complete is removed and its run made again, and so is one
 * that is invalid for a reason that lies with the host; otherwise a run whose folder exists fails.
 *
 * Appends what happened to <out>/sweep.log. Returns 0, or a fatal code when it could not go on,
 * with the reason on standard error. */
int executor_run(struct executor *e, const struct plan *plan);

#endif
