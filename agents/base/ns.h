/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time: signed 64-bit nanoseconds. Every time in muxbed is an ns_t, counted from the start of the
 * run (a time point) or a difference of two such points (a duration). Nothing below agents/io ever
 * asks what time it is: the time arrives as an argument. */
#ifndef AGENTS_BASE_NS_H
#define AGENTS_BASE_NS_H

#include <stdint.h>

typedef int64_t ns_t;

#define NS_NEVER INT64_MAX
#define NS_PER_US ((ns_t)1000)
#define NS_PER_MS ((ns_t)1000000)
#define NS_PER_S ((ns_t)1000000000)

/* t + d without overflow; NS_NEVER stays NS_NEVER. d must not be negative. */
static inline ns_t ns_add(ns_t t, ns_t d)
{
    return t > NS_NEVER - d ? NS_NEVER : t + d;
}

static inline ns_t ns_min(ns_t a, ns_t b)
{
    return a < b ? a : b;
}

static inline ns_t ns_max(ns_t a, ns_t b)
{
    return a > b ? a : b;
}

static inline ns_t ns_clamp(ns_t v, ns_t lo, ns_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

static inline double ns_to_s(ns_t t)
{
    return (double)t / (double)NS_PER_S;
}

static inline double ns_to_ms(ns_t t)
{
    return (double)t / (double)NS_PER_MS;
}

#endif
