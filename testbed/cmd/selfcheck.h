/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a host can do for the runs of a plan: found by making their links, without agents. */
#ifndef TESTBED_CMD_SELFCHECK_H
#define TESTBED_CMD_SELFCHECK_H

#include "testbed/run/run_check.h"
#include "testbed/scenario/plan.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define SELFCHECK_TEXT 280
#define SELFCHECK_AT_ONCE_MAX 8

/* A path that cells of the plan have in common. */
struct selfcheck_path {
    const struct plan_run *run; /* the first one with it */
    size_t cells;
    enum { SELFCHECK_UNKNOWN, SELFCHECK_HELD, SELFCHECK_FAILED } state;
    struct run_check_result result;
    char text[SELFCHECK_TEXT]; /* what was measured, or why not */
};

/* Several of the most demanding path side by side. */
struct selfcheck_step {
    size_t at_once, held;
    ns_t wire_late_p99; /* the latest; NS_NEVER: none */
    char text[SELFCHECK_TEXT];
};

struct selfcheck {
    enum run_link link;
    char why[600]; /* that one */
    struct {
        bool works;
        char text[SELFCHECK_TEXT];
    } links[3]; /* by enum run_link */
    struct run_check_feature features[RUN_CHECK_FEATURES];
    struct selfcheck_path *paths;
    size_t path_count;
    struct selfcheck_step steps[4];
    size_t step_count;
};

/* Tries everything; what goes wrong with a path is its result. quiet: no progress on standard
 * error. Returns 0, or an exit code, having said what is missing. */
int selfcheck_make(struct selfcheck *s, const struct plan *plan, const char *link, bool quiet);
void selfcheck_fini(struct selfcheck *s);
/* Whether every cell of the plan can be run faithfully here, one run at a time: its path held, and
 * the most demanding one did again. */
bool selfcheck_holds(const struct selfcheck *s);
/* How many runs at once held; 0: not even one. */
size_t selfcheck_at_once(const struct selfcheck *s);
/* What a certificate measured forward, or what does not hold; in a line. */
void selfcheck_describe(const struct certificate *c, char *text, size_t len);
void selfcheck_print(const struct selfcheck *s, FILE *out);
/* A new object, NULL when out of memory. */
json_t *selfcheck_json(const struct selfcheck *s);

#endif
