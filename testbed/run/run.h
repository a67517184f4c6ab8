/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One run: from a planned scenario to a complete run folder, in virtual time or in real namespaces.
 * Both doors leave the same files (results/FORMAT.md). */
#ifndef TESTBED_RUN_RUN_H
#define TESTBED_RUN_RUN_H

#include "testbed/scenario/plan.h"

#include <stdbool.h>

enum run_link { RUN_LINK_SIM, RUN_LINK_WIRE, RUN_LINK_NETEM };

struct run_options {
    enum run_link link;
    const char *link_why; /* one line: why this kind was taken */
    const char *dir;      /* the run's folder, exists and is empty */
    const char *plan;     /* name of the plan */
    bool keylog;
    bool lean; /* without what only people read: no qlog, and in virtual time captures with
                * digests instead of payloads, if there is one pair of agents */
    bool no_certificate; /* do not measure the link before the run's traffic */
    /* The wall clock's offset from the monotonic one; NULL: the host's. */
    ns_t (*wall_offset)(void);
    /* Called now and then with the run's own time, for a progress line; may be NULL. */
    void (*progress)(void *ctx, ns_t run_time);
    void *ctx;
};

/* Both return 0 when the run folder is complete (also for an invalid run: the manifest says so), or
 * a fatal code with one line in message. */
int run_sim(const struct plan_run *run, const struct run_options *opt, char *message, size_t len);
int run_netns(const struct plan_run *run, const struct run_options *opt, char *message, size_t len);

/* Which of wire and netem works on this host. Returns 0 and the kind, or ERR_OS with what is
 * missing. */
int run_netns_probe(enum run_link wanted, char *message, size_t len);

#endif
