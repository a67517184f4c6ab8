/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/bin_quantiles.h"

#include "agents/base/err.h"

#include <gsl/gsl_sort_double.h>
#include <math.h>
#include <stdlib.h>

#define FIRST_ROOM 16

void bin_quantiles_init(struct bin_quantiles *b, ns_t end, ns_t width, ns_t window)
{
    size_t n = end > 0 ? (size_t)(end / width) : 0;
    size_t ring =
        window == NS_NEVER || (size_t)(window / width) >= n ? n : (size_t)(window / width) + 2;

    *b = (struct bin_quantiles){.count = n, .width = width, .ring = ring ? ring : 1};
    b->rows = calloc(n ? n : 1, sizeof *b->rows);
    b->open = calloc(b->ring, sizeof *b->open);
    b->failed = !b->rows || !b->open;
}

void bin_quantiles_fini(struct bin_quantiles *b)
{
    for (size_t i = 0; b->open && i < b->ring; i++) {
        free(b->open[i].values);
    }
    free(b->open);
    free(b->rows);
    *b = (struct bin_quantiles){0};
}

static double quantile(const struct bin_quantiles_open *o, double p)
{
    size_t rank = (size_t)ceil(p * (double)o->count - 1e-9);

    return o->count ? o->values[rank ? rank - 1 : 0] : NAN;
}

static void close_first(struct bin_quantiles *b)
{
    struct bin_quantiles_open *o = &b->open[b->first % b->ring];

    if (o->count > 1) {
        gsl_sort(o->values, 1, o->count);
    }
    b->rows[b->first++] =
        (struct bin_quantiles_row){quantile(o, 0.5), quantile(o, 0.95), quantile(o, 1)};
    free(o->values);
    *o = (struct bin_quantiles_open){0};
}

void bin_quantiles_add(struct bin_quantiles *b, ns_t time, double value)
{
    size_t bin = time < 0 ? b->count : (size_t)(time / b->width);
    struct bin_quantiles_open *o;

    if (b->failed || bin >= b->count || bin < b->first) {
        return;
    }
    while (bin - b->first >= b->ring) {
        close_first(b);
    }
    o = &b->open[bin % b->ring];
    if (o->count == o->room) {
        size_t room = o->room ? 2 * o->room : FIRST_ROOM;
        double *more = realloc(o->values, room * sizeof *more);

        if (!more) {
            b->failed = true;
            return;
        }
        o->values = more;
        o->room = room;
    }
    o->values[o->count++] = value;
}

int bin_quantiles_finish(struct bin_quantiles *b)
{
    while (!b->failed && b->first < b->count) {
        close_first(b);
    }
    return b->failed ? ERR_NOMEM : 0;
}
