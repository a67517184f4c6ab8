/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The outcome of `muxbed run` as JUnit XML, which test services read: a suite of the plan's runs
 * and one of its expectations. */
#ifndef TESTBED_CMD_JUNIT_H
#define TESTBED_CMD_JUNIT_H

#include "testbed/scenario/plan.h"

#include <stddef.h>

enum junit_outcome {
    JUNIT_NOT_RUN, /* interrupted before or while it ran */
    JUNIT_DONE,
    JUNIT_INVALID, /* a failure */
    JUNIT_FAILED,  /* an error */
};

struct junit {
    const struct plan *plan; /* borrowed */
    struct junit_run {
        enum junit_outcome outcome;
        double seconds; /* wall-clock time */
        char *text;     /* why; NULL: nothing to say */
    } * runs;           /* as many as the plan has */
};

/* Returns 0 or ERR_NOMEM. */
int junit_init(struct junit *j, const struct plan *plan);
void junit_fini(struct junit *j);
/* Notes how a run of the plan ended; j may be NULL. A text that cannot be kept is left out. */
void junit_run(struct junit *j, const struct plan_run *run, enum junit_outcome outcome,
               double seconds, const char *text);
/* Writes the document to path, replacing what is there in one step. What became of the
 * expectations is read from dir/summary.json; without one they count as skipped. Returns 0, ERR_OS
 * (errno), or ERR_LIMIT when the path is too long. */
int junit_write(const struct junit *j, const char *dir, const char *path);

#endif
