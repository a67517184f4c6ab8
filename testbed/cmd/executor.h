/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes a plan's runs one after another, each in a process of its own: a run that crashes or hangs
 * takes nothing else with it, and an interrupt ends it by ending its process group. */
#ifndef TESTBED_CMD_EXECUTOR_H
#define TESTBED_CMD_EXECUTOR_H

#include "testbed/cmd/junit.h"
#include "testbed/run/run.h"

#include <stdbool.h>
#include <stddef.h>

struct executor {
    enum run_link link;
    const char *link_why;
    const char *out;     /* the plan's folder, exists */
    const char *analyze; /* the program that reduces a run */
    bool keylog, quiet, no_certificate;
    struct junit *junit; /* is told how runs end; may be NULL */

    /* results */
    size_t complete, invalid, failed;
    bool interrupted;
};

/* Runs everything that is in the plan. Failed and invalid runs are counted and reported on standard
 * error, the rest goes on. Keeps <out>/index.json up to date with the complete runs. Returns 0, or
 * a fatal code when it could not go on, with the reason on standard error. */
int executor_run(struct executor *e, const struct plan *plan);

/* From here on SIGINT and SIGTERM ask for an orderly end instead of killing the process. */
void executor_catch_signals(void);
bool executor_interrupted(void);
/* Runs a program to its end with standard output to `out_fd` (-1: to nowhere). argv is NULL
 * terminated, argv[0] its path. Returns its exit status, 128 + signal, or ERR_OS. An interrupt ends
 * it. */
int executor_spawn(const char *const *argv, int out_fd);

#endif
