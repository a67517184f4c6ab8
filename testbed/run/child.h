/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A process of a run: forked, dies with its parent whatever happens, awaited by descriptor. */
#ifndef TESTBED_RUN_CHILD_H
#define TESTBED_RUN_CHILD_H

#include "agents/base/message.h"
#include "agents/base/ns.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct child {
    const char *name;
    pid_t pid;
    int pidfd;  /* readable once the process has ended; -1 when it is reaped or never was */
    int status; /* as waitpid has it, once reaped; -1 before, or when somebody else reaped it */
};

#define CHILD_NONE ((struct child){.pidfd = -1, .status = -1})

struct child_options {
    const char *name;
    const char *log_path;  /* standard error goes there; NULL: stays */
    int ns_fd;             /* network namespace to enter, -1: stays */
    int priority;          /* SCHED_FIFO priority where the system allows it, 0: none */
    int (*run)(void *arg); /* the process's work; what it returns (0..255) is its exit status */
    void *arg;
};

/* Forks. The new process gets SIGKILL when the calling thread ends, default signal handling, and
 * all descriptors. Returns 0 or ERR_OS with the cause. */
int child_start(struct child *c, const struct child_options *o, struct message *m);
/* Waits until deadline (CLOCK_MONOTONIC ns) for the end, and reaps. True when it has ended. */
bool child_wait(struct child *c, ns_t deadline);
/* Whether it was started and is not reaped yet. */
bool child_running(const struct child *c);
/* How long it has waited for a processor so far, as the kernel counts it; NS_NEVER: not known. */
ns_t child_waited(const struct child *c);
void child_signal(const struct child *c, int signal);
/* SIGKILL and reap, if it is still there. */
void child_kill(struct child *c);
/* "exit status 3", "killed by signal 9 (Killed)". */
void child_describe(const struct child *c, char *text, size_t len);

#endif
