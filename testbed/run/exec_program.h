/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Somebody else's program as a part of a run. It gets a process namespace of its own, so that
 * whatever it starts ends with it, and with this process, by any signal. */
#ifndef TESTBED_RUN_EXEC_PROGRAM_H
#define TESTBED_RUN_EXEC_PROGRAM_H

#include <stdbool.h>

struct exec_program {
    const char *command;            /* for /bin/sh -c */
    const char *out_path;           /* its standard output is appended there */
    const char *const *environment; /* "NAME=VALUE" besides this process's, NULL terminated */
    /* Called before the command, already where nothing else sees its mounts (private_mounts), or
     * where there must be none; may be NULL. Anything but 0 ends it all: standard error says why.
     */
    int (*prepare)(const void *arg, bool private_mounts);
    const void *arg;
};

/* The work of a process of its own (child_options.run; arg is a struct exec_program): runs the
 * command to its end and returns its exit status, or 128 + the signal that ended it. SIGTERM is
 * handed on to the command and what it started. */
int exec_program_run(void *arg);

#endif
