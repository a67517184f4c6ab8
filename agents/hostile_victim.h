/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An agent started to be attacked, and what is to be seen of it from outside: how it ended, what
 * it said, its counters, its memory. Part of build/hostile alone; one at a time. */
#ifndef AGENTS_HOSTILE_VICTIM_H
#define AGENTS_HOSTILE_VICTIM_H

#include "agents/hostile_peer.h"

#include <sys/types.h>

/* The largest resident set an agent may have come to. What a peer may make it hold is 16 MiB of
 * one message and as much of messages that wait for others. */
#if defined(__SANITIZE_ADDRESS__)
#define HOSTILE_RSS_MAX_KB (512 * 1024) /* the sanitizer keeps 256 MiB of what was freed */
#else
#define HOSTILE_RSS_MAX_KB (96 * 1024)
#endif

struct hostile_victim {
    pid_t pid;
    char dir[64]; /* its records and what it said; removed at the end */
    int status;   /* as wait gives it */
    long rss_max_kb;
};

/* True when the agent that was started last has ended; for hostile_peer_run. */
extern volatile bool hostile_victim_ended;

/* Starts the program for this attack between these addresses and waits until its socket is bound.
 * Returns 0 or ERR_OS. */
int hostile_victim_start(struct hostile_victim *v, const char *program,
                         const struct hostile_attack *a, const struct addr *local,
                         const struct addr *remote);
/* Lets it come to its end, or makes it. Returns 0, or 1 with a message when it ended in a way, said
 * or counted something that the attack does not ask for; also when it had to be killed. */
int hostile_victim_judge(struct hostile_victim *v, const struct hostile_attack *a,
                         char message[HOSTILE_MESSAGE_BYTES]);

#endif
