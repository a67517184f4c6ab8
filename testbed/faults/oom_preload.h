/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Between the two files of the library that lets allocations fail: oom_preload.c stands in front
 * of the C library, oom_cases.c in front of cmocka. No other program uses this. */
#ifndef TESTBED_FAULTS_OOM_PRELOAD_H
#define TESTBED_FAULTS_OOM_PRELOAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OOM_SITES_MAX 20000
#define OOM_PATHS_MAX 256

/* An allocation of a test: the first one that came by some call path. */
struct oom_site {
    uint64_t path;
    unsigned number; /* since the test began, from 1 */
};

/* Written by test processes, read by the one that forks them. */
struct oom_shared {
    struct oom_site sites[OOM_SITES_MAX];
    atomic_uint site_count;
    unsigned allocations;
    atomic_uint refused;
    atomic_uint path_count; /* temporary files and folders made */
    char paths[OOM_PATHS_MAX][128];
};

/* NULL: the library stands aside. */
extern struct oom_shared *oom_shared;

/* From now on allocation fail_at fails (0: none; call paths are noted), with lasting all after it
 * too; aloud: says where. */
void oom_arm(unsigned fail_at, bool lasting, bool aloud);
/* Stops counting and refusing; whether that was on. oom_rearm goes on where it stopped. */
bool oom_disarm(void);
void oom_rearm(void);

/* Whether a signal means a fault of the program. */
bool oom_is_crash(int number);

/* When the library is loaded: reads the environment. */
void oom_cases_prepare(void);

#endif
