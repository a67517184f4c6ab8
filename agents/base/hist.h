/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Histogram of durations: constant memory, every value kept to 1/64 of itself. For figures a run
 * judges itself by, such as how late a driver wakes up. */
#ifndef AGENTS_BASE_HIST_H
#define AGENTS_BASE_HIST_H

#include "agents/base/ns.h"

#include <stdint.h>

#define HIST_STEPS 64 /* buckets per power of two */
#define HIST_BUCKETS (59 * HIST_STEPS)

/* All zero is an empty histogram. */
struct hist {
    uint64_t buckets[HIST_BUCKETS];
    uint64_t count;
    ns_t max;
};

/* Counts one value; negative values count as 0. */
void hist_add(struct hist *h, ns_t value);
/* The value that fraction_ppm (0..1000000) of all values do not exceed, rounded up to its bucket's
 * end, at most the maximum; 0 when empty. */
ns_t hist_quantile(const struct hist *h, uint32_t fraction_ppm);

#endif
