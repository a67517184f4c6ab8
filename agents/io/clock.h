/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel's clocks as ns_t. Only agents/io and its programs read them. */
#ifndef AGENTS_IO_CLOCK_H
#define AGENTS_IO_CLOCK_H

#include "agents/base/ns.h"

#include <time.h>

static inline ns_t clock_from_timespec(const struct timespec *t)
{
    return (ns_t)t->tv_sec * NS_PER_S + t->tv_nsec;
}

static inline struct timespec clock_to_timespec(ns_t t)
{
    return (struct timespec){.tv_sec = t / NS_PER_S, .tv_nsec = t % NS_PER_S};
}

/* CLOCK_MONOTONIC: since boot, never stepped. */
static inline ns_t clock_mono(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return clock_from_timespec(&t);
}

/* CLOCK_REALTIME: since 1970. */
static inline ns_t clock_wall(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return clock_from_timespec(&t);
}

#endif
