/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What one short TCP flow does (RFC 8868 section 5.1): downloads of uniformly distributed sizes,
 * with exponentially distributed idle times between the end of one and the start of the next. Pure:
 * equal seeds give equal draws in namespaces and in virtual time, however long the downloads take.
 */
#ifndef TESTBED_TRAFFIC_DOWNLOADS_H
#define TESTBED_TRAFFIC_DOWNLOADS_H

#include "agents/base/ns.h"
#include "agents/base/prng.h"

#include <stdint.h>

struct downloads_config {
    int64_t bytes_min, bytes_max; /* 1 <= min <= max */
    ns_t idle_mean;
};

struct downloads {
    struct downloads_config config;
    struct prng sizes, idles; /* apart, so that what begins idle has the sizes of what does not */
};

/* index: 0 for the first flow of a group. */
void downloads_init(struct downloads *d, const struct downloads_config *cfg, uint64_t seed,
                    int index);
/* Bytes of the next download. */
int64_t downloads_bytes(struct downloads *d);
/* The idle time before the next download. */
ns_t downloads_idle(struct downloads *d);

#endif
