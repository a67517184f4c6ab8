/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/traffic/downloads.h"

#include <math.h>
#include <stdio.h>

/* Of 10^15 idle times one is longer; it keeps the arithmetic finite. */
#define IDLE_MEANS_MAX 35

void downloads_init(struct downloads *d, const struct downloads_config *cfg, uint64_t seed,
                    int index)
{
    char name[40];

    d->config = *cfg;
    snprintf(name, sizeof name, "short-tcp/%d/size", index);
    prng_init(&d->sizes, seed, name);
    snprintf(name, sizeof name, "short-tcp/%d/idle", index);
    prng_init(&d->idles, seed, name);
}

int64_t downloads_bytes(struct downloads *d)
{
    const struct downloads_config *c = &d->config;
    double span = (double)(c->bytes_max - c->bytes_min + 1);

    return c->bytes_min + (int64_t)(prng_uniform(&d->sizes) * span);
}

ns_t downloads_idle(struct downloads *d)
{
    double means = -log1p(-prng_uniform(&d->idles));

    return (ns_t)(fmin(means, IDLE_MEANS_MAX) * (double)d->config.idle_mean);
}
