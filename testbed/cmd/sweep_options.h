/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options of `muxbed run` for plans of many runs. */
#ifndef TESTBED_CMD_SWEEP_OPTIONS_H
#define TESTBED_CMD_SWEEP_OPTIONS_H

#include "testbed/cmd/keep.h"
#include "testbed/run/run.h"

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

struct sweep_options {
    bool resume;
    bool jobs_auto;
    size_t jobs; /* 0: not given */
    bool keep_given;
    enum keep keep;
};

/* Parses --resume, --jobs, --keep; its input is a struct sweep_options. */
extern const struct argp sweep_options_argp;

/* What the room that a plan takes depends on. */
struct sweep_room {
    enum keep keep;
    enum run_link link;
    size_t jobs;
    const char *dir; /* the plan's folder */
};

/* How many runs at once, at most. Virtual time: one per processor. Real time: one, unless asked. */
size_t sweep_options_jobs(const struct sweep_options *o, enum run_link link);
/* Says what the plan will take on the disk of room->dir if that is worth saying. Returns 0, or an
 * exit code after a message when there is no room for it. */
int sweep_options_check_room(const struct plan *plan, const struct sweep_room *room, bool quiet);

#endif
