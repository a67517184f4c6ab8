/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether this host can make a run's link: builds it, certifies it and takes it down, without
 * agents, several at once if wanted. For selfcheck. */
#ifndef TESTBED_RUN_RUN_CHECK_H
#define TESTBED_RUN_RUN_CHECK_H

#include "testbed/run/certify.h"
#include "testbed/run/run.h"
#include "testbed/run/service.h"

#include <stdbool.h>

struct run_check {
    struct service service;
    struct run_options opt;
    const struct plan_run *run;
    ns_t patience;
};

struct run_check_result {
    struct certify_line certified;
    /* of the delay line, the latest of several; NS_NEVER: the link has none */
    ns_t wire_late_p99, wire_late_max;
};

/* Begins with a real link for the run, in a process of its own; dir exists and takes its logs. Both
 * outlive the check. Returns 0 or ERR_OS with the cause. */
int run_check_start(struct run_check *k, const struct plan_run *run, enum run_link link,
                    const char *dir, struct message *m);
/* Waits for the end. Returns 0, or a fatal code with what went wrong. */
int run_check_finish(struct run_check *k, struct run_check_result *out, struct message *m);
/* The same for the simulated link, at once. Returns 0 or ERR_NOMEM. */
int run_check_sim(const struct plan_run *run, struct run_check_result *out);

/* What real links need of a host, or are better with, besides queueing disciplines. */
struct run_check_feature {
    const char *name, *use; /* "AF_PACKET", "the delay line of link wire" */
    bool here;
    char detail[120]; /* why not; empty when it is */
};

#define RUN_CHECK_FEATURES 5

/* Tries each for real, in a process of its own. Returns 0 or ERR_OS with the cause. */
int run_check_host(struct run_check_feature out[RUN_CHECK_FEATURES], struct message *m);

#endif
