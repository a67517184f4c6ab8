/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/base/hist.h"

#include <stddef.h>

#define STEPS_LOG2 6
#define PPM 1000000

/* Values below HIST_STEPS have a bucket each; above, the leading STEPS_LOG2 + 1 bits decide. */
static size_t bucket_of(uint64_t v)
{
    unsigned exponent, shift;

    if (v < HIST_STEPS) {
        return (size_t)v;
    }
    exponent = 63 - (unsigned)__builtin_clzll(v);
    shift = exponent - STEPS_LOG2;
    return (size_t)shift * HIST_STEPS + (size_t)(v >> shift);
}

static uint64_t bucket_end(size_t i)
{
    unsigned shift;

    if (i < HIST_STEPS) {
        return i;
    }
    shift = (unsigned)(i / HIST_STEPS) - 1;
    return (((uint64_t)(i % HIST_STEPS) + HIST_STEPS + 1) << shift) - 1;
}

void hist_add(struct hist *h, ns_t value)
{
    ns_t v = ns_max(value, 0);

    h->buckets[bucket_of((uint64_t)v)]++;
    h->count++;
    h->max = ns_max(h->max, v);
}

ns_t hist_quantile(const struct hist *h, uint32_t fraction_ppm)
{
    __uint128_t want = ((__uint128_t)h->count * fraction_ppm + PPM - 1) / PPM;
    uint64_t seen = 0;

    for (size_t i = 0; i < HIST_BUCKETS; i++) {
        seen += h->buckets[i];
        if (h->buckets[i] && seen >= want) {
            return ns_min((ns_t)bucket_end(i), h->max);
        }
    }
    return 0;
}
