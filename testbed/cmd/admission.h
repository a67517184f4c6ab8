/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How many runs in real time a host bears at once. Every run that ended on time, with room to
 * spare, allows more if as many as allowed were on; one that was late allows fewer; and a new one
 * waits while the processors are busy. Pure: told the time, and what the processors did. */
#ifndef TESTBED_CMD_ADMISSION_H
#define TESTBED_CMD_ADMISSION_H

#include "agents/base/ns.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Above this part of all processors no further run is begun. */
#define ADMISSION_BUSY_MAX 0.75
/* What the processors do is looked at over so long, and anew after every begin. */
#define ADMISSION_LOOK NS_PER_S
/* A run whose latest process was later than this, p99, held with nothing to spare. */
#define ADMISSION_LATE_SPARE (500 * NS_PER_US)

struct admission {
    bool controlled; /* else: always `most` at once */
    size_t most;     /* as asked for */
    size_t allowed;  /* now */
    size_t clean;    /* runs that ended well since `allowed` changed */
    bool seen_late;
    bool reached; /* `allowed` runs were on at once since it changed */
    ns_t lowered; /* when a late run last lowered `allowed` */
    ns_t looked, begun;
    uint64_t busy_ticks, all_ticks;
    double busy; /* 0..1, over the last look; < 0: none yet */
    /* for the report */
    size_t highest;
    uint64_t late, held;
    bool holding;
};

enum admission_change { ADMISSION_SAME, ADMISSION_MORE, ADMISSION_FEWER };

/* first: how many may run before anything is known. */
void admission_init(struct admission *a, size_t most, size_t first, bool controlled);
/* Ticks since boot of all processors, busy and in all (/proc/stat); both 0: nobody knows. */
void admission_look(struct admission *a, ns_t now, uint64_t busy, uint64_t all);
/* May another run begin beside `running` ones? */
bool admission_may_begin(struct admission *a, size_t running, ns_t now);
void admission_begun(struct admission *a, size_t running, ns_t now);
/* A run that began at `begun` has ended: late, or with its latest process late by late_p99
 * (NS_NEVER: not measured). */
enum admission_change admission_ended(struct admission *a, ns_t begun, ns_t now, bool late,
                                      ns_t late_p99);

/* The first line of /proc/stat to ticks. Returns false when it is none. */
bool admission_parse_stat(const char *line, uint64_t *busy, uint64_t *all);

#endif
