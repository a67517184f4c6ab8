/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/dist.h"

#include "agents/base/err.h"

#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>

#define FIRST_ROOM 256
/* p x total is rounded: 0.95 x 20 must not ask for the twentieth of twenty. */
#define RANK_TOLERANCE 1e-12

void dist_fini(struct dist *d)
{
    free(d->samples);
    *d = (struct dist){0};
}

void dist_add_span(struct dist *d, ns_t from, ns_t until, double value)
{
    if (d->count == d->room) {
        size_t room = d->room ? d->room * 2 : FIRST_ROOM;
        struct dist_sample *more = realloc(d->samples, room * sizeof *more);

        if (!more) {
            d->failed = true;
            return;
        }
        d->samples = more;
        d->room = room;
    }
    d->samples[d->count++] = (struct dist_sample){.time = from, .until = until, .value = value};
}

void dist_add(struct dist *d, ns_t time, double value)
{
    dist_add_span(d, time, time, value);
}

static int by_value(const void *pa, const void *pb)
{
    const struct dist_sample *a = pa, *b = pb;

    return a->value < b->value ? -1 : a->value > b->value;
}

void dist_sort(struct dist *d)
{
    if (d->count) {
        qsort(d->samples, d->count, sizeof *d->samples, by_value);
    }
}

static double weight(const struct dist_sample *s, ns_t start, ns_t end)
{
    if (s->time == s->until) {
        return s->time >= start && s->time < end ? 1 : 0;
    }
    return (double)ns_max(0, ns_min(s->until, end) - ns_max(s->time, start));
}

int dist_view_init(struct dist_view *v, const struct dist *d, ns_t start, ns_t end)
{
    double sum = 0;
    size_t room = d->count ? d->count : 1;

    *v = (struct dist_view){0};
    v->values = calloc(3 * room, sizeof *v->values);
    if (!v->values || d->failed) {
        dist_view_fini(v);
        return ERR_NOMEM;
    }
    v->weights = v->values + room;
    v->cumulative = v->weights + room;
    for (size_t i = 0; i < d->count; i++) {
        double w = weight(&d->samples[i], start, end);

        if (w > 0) {
            v->values[v->count] = d->samples[i].value;
            v->weights[v->count] = w;
            v->cumulative[v->count++] = sum += w;
        }
    }
    return 0;
}

void dist_view_fini(struct dist_view *v)
{
    free(v->values);
    *v = (struct dist_view){0};
}

double dist_view_mean(const struct dist_view *v)
{
    return v->count ? gsl_stats_wmean(v->weights, 1, v->values, 1, v->count) : NAN;
}

double dist_view_sd(const struct dist_view *v)
{
    return v->count > 1 ? gsl_stats_wsd(v->weights, 1, v->values, 1, v->count) : NAN;
}

double dist_view_quantile(const struct dist_view *v, double p)
{
    size_t lo = 0, hi = v->count;
    double rank;

    if (v->count == 0) {
        return NAN;
    }
    rank = p * v->cumulative[v->count - 1] * (1 - RANK_TOLERANCE);
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (v->cumulative[mid] < rank) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return v->values[lo < v->count ? lo : v->count - 1];
}

double dist_view_max(const struct dist_view *v)
{
    return v->count ? v->values[v->count - 1] : NAN;
}
