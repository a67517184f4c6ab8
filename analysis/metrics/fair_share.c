/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/fair_share.h"

#include <math.h>
#include <stdbool.h>

/* Shares closer than that, in part, are the same: a flow that has them is done. */
#define SLACK 1e-9

struct filling {
    const struct fair_flow *flows;
    const double *capacity;
    size_t n, links;
    double *out;
    unsigned full; /* bit i: link i can take no more */
};

static bool rises(const struct filling *f, size_t i)
{
    const struct fair_flow *flow = &f->flows[i];

    return flow->links && !(flow->links & f->full) && f->out[i] < flow->most * (1 - SLACK);
}

/* What is left of a link; weight: of the flows over it that still rise. */
static double room_of(const struct filling *f, size_t link, double *weight)
{
    double room = f->capacity[link];

    *weight = 0;
    for (size_t i = 0; i < f->n; i++) {
        if (f->flows[i].links & 1U << link) {
            room -= f->out[i];
            *weight += rises(f, i) ? f->flows[i].weight : 0;
        }
    }
    return fmax(room, 0);
}

/* How far a unit of weight can rise until something stops it; INFINITY: nothing rises. */
static double next_rise(const struct filling *f)
{
    double least = INFINITY, weight;

    for (size_t i = 0; i < f->n; i++) {
        if (rises(f, i)) {
            least = fmin(least, (f->flows[i].most - f->out[i]) / f->flows[i].weight);
        }
    }
    for (size_t l = 0; l < f->links; l++) {
        double room = room_of(f, l, &weight);

        if (weight > 0) {
            least = fmin(least, room / weight);
        }
    }
    return least;
}

static void mark_full(struct filling *f)
{
    for (size_t l = 0; l < f->links; l++) {
        double weight;

        if (room_of(f, l, &weight) <= SLACK * f->capacity[l]) {
            f->full |= 1U << l;
        }
    }
}

void fair_share(const double *capacity, size_t links, const struct fair_flow *flows, size_t n,
                double *out)
{
    struct filling f = {.flows = flows, .capacity = capacity, .n = n, .links = links, .out = out};

    for (size_t i = 0; i < n; i++) {
        out[i] = 0;
    }
    /* each round stops a flow or fills a link */
    for (size_t round = 0; round <= n + links; round++) {
        double rise = next_rise(&f);

        if (isinf(rise)) {
            return;
        }
        for (size_t i = 0; i < n; i++) {
            out[i] += rises(&f, i) ? rise * flows[i].weight : 0;
        }
        mark_full(&f);
    }
}
