/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Children of muxbed: each in a process group of its own, none longer alive than muxbed is. And the
 * signals that ask muxbed for an orderly end. */
#ifndef TESTBED_CMD_PROCESS_H
#define TESTBED_CMD_PROCESS_H

#include "agents/base/ns.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* How long an ended process group may take before it is killed. */
#define PROCESS_GRACE (3 * NS_PER_S)

/* From here on SIGINT, SIGTERM and SIGHUP ask for an orderly end instead of killing the process. */
void process_catch_signals(void);
bool process_interrupted(void);
/* Blocks these signals and gives the mask as it was, under which to wait (ppoll). */
void process_block_signals(sigset_t *before);

/* What a child does first, of `parent`, to get the mask `mask`. */
void process_become_child(pid_t parent, const sigset_t *mask);
/* A child's exit status, or 128 + the signal that ended it. */
int process_status(int wait_status);
/* Writes what such a status says to text[len], PROCESS_END_MAX
 * or more: "ended with status 1", "was killed by signal 9
 * (Killed)". */
#define PROCESS_END_MAX 80
void process_end_text(char *text, size_t len, int status);
/* Runs a program to its end with standard output to `out_fd` (-1: to nowhere). argv is NULL
 * terminated, argv[0] its path. Returns its exit status, 128 + signal, or ERR_OS. An interrupt ends
 * it. */
int process_spawn(const char *const *argv, int out_fd);
/* CLOCK_MONOTONIC. */
ns_t process_now(void);

#endif
