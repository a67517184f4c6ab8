/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One run in a process of its own: makes it, reduces it and trims what it leaves. A run that
 * crashes or hangs takes nothing else with it; ending its process group ends all of it. */
#ifndef TESTBED_CMD_WORKER_H
#define TESTBED_CMD_WORKER_H

#include "agents/base/ns.h"
#include "testbed/cmd/keep.h"
#include "testbed/run/run.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct worker_job {
    enum run_link link;
    const char *link_why, *plan, *analyze;
    const struct plan_run *run;
    const char *dir; /* exists */
    bool keylog, no_certificate;
    bool reduce_only; /* the run is complete, but has no metrics yet */
    enum keep keep;
};

struct worker {
    pid_t pid; /* 0: none */
    int fd;    /* where it speaks, to be polled for input; -1: it has said all */
    ns_t run_time;
    ns_t told;       /* when it was asked to end; 0: it was not */
    double cpu_s;    /* of all its processes, once it has ended */
    int status;      /* exit status or 128 + signal, once it has ended */
    char error[400]; /* what went wrong, or empty */
};

/* Starts it; mask is the signal mask it shall have. Returns 0, or ERR_OS with w->error set. */
int worker_start(struct worker *w, const struct worker_job *job, const sigset_t *mask);
/* Takes what there is to read. */
void worker_read(struct worker *w);
/* Asks it to end; kills it when it takes longer than PROCESS_GRACE. Call again until it ended. */
void worker_stop(struct worker *w, ns_t now);
/* Whether it has ended; status, error and cpu_s are then set, and nothing of it lives. */
bool worker_ended(struct worker *w);

#endif
