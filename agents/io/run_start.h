/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a program of a run begins with the others, and is told to end: whoever starts it hands it two
 * pipes and later, perhaps, a signal. */
#ifndef AGENTS_IO_RUN_START_H
#define AGENTS_IO_RUN_START_H

#include "agents/base/message.h"
#include "agents/base/ns.h"

struct run_start {
    int ready_fd; /* one byte is written there once the program is ready; -1: nobody asks */
    /* the start of the run is read there: CLOCK_MONOTONIC ns, 8 bytes in host order; -1: now */
    int start_fd;
};

/* Blocks SIGINT and SIGTERM and returns a signalfd that has them, non-blocking; -1 with errno. */
int run_start_signals(void);
/* The number of a descriptor as an option gives it; -1 when it is none. */
int run_start_fd(const char *text);
/* Says that the program is ready, learns when run time 0 is (*start) and waits for it. Returns 0;
 * ERR_LIMIT when stop_fd became readable before; ERR_OS; both with a line. */
int run_start_await(const struct run_start *s, int stop_fd, ns_t *start, struct message *m);

#endif
