/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/dist.h"

#include "agents/base/err.h"
#include "analysis/ingest/join.h"

#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

/* Doubles as integers of the same order; both zeros are equal. */
static uint64_t key_of(double value)
{
    double v = value + 0.0;
    uint64_t bits;

    memcpy(&bits, &v, sizeof bits);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

void dist_sort(struct dist *d)
{
    size_t n = d->count;
    struct dist_sample *sorted = malloc((n ? n : 1) * sizeof *sorted);
    struct join_entry *order = malloc((n ? n : 1) * sizeof *order);

    d->failed |= !sorted || !order || n >= JOIN_NONE;
    for (size_t i = 0; i < n && !d->failed; i++) {
        order[i] = (struct join_entry){key_of(d->samples[i].value), (uint32_t)i};
    }
    d->failed = d->failed || join_sort_entries(order, n);
    if (d->failed) {
        free(sorted);
        free(order);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        sorted[i] = d->samples[order[i].row];
    }
    free(order);
    free(d->samples);
    d->samples = sorted;
    d->room = n;
}

static double weight(const struct dist_sample *s, ns_t start, ns_t end)
{
    if (s->time == s->until) {
        return s->time >= start && s->time < end ? 1 : 0;
    }
    return (double)ns_max(0, ns_min(s->until, end) - ns_max(s->time, start));
}

/* Of moments, which are what there is by the million, the values are enough. */
static void take_moments(struct dist_view *v, const struct dist *d, ns_t start, ns_t end)
{
    for (size_t i = 0; i < d->count; i++) {
        if (d->samples[i].time >= start && d->samples[i].time < end) {
            v->values[v->count++] = d->samples[i].value;
        }
    }
}

static void take_spans(struct dist_view *v, const struct dist *d, ns_t start, ns_t end)
{
    double sum = 0;

    v->weights = v->values + d->count;
    v->cumulative = v->weights + d->count;
    for (size_t i = 0; i < d->count; i++) {
        double w = weight(&d->samples[i], start, end);

        if (w > 0) {
            v->values[v->count] = d->samples[i].value;
            v->weights[v->count] = w;
            v->cumulative[v->count++] = sum += w;
        }
    }
}

int dist_view_init(struct dist_view *v, const struct dist *d, ns_t start, ns_t end)
{
    bool spans = d->count && d->samples[0].time != d->samples[0].until;

    *v = (struct dist_view){0};
    v->values = malloc((spans ? 3 : 1) * (d->count ? d->count : 1) * sizeof *v->values);
    if (!v->values || d->failed) {
        dist_view_fini(v);
        return ERR_NOMEM;
    }
    if (spans) {
        take_spans(v, d, start, end);
    } else {
        take_moments(v, d, start, end);
    }
    return 0;
}

void dist_view_fini(struct dist_view *v)
{
    free(v->values);
    *v = (struct dist_view){0};
}

/* Sums in long double are as exact as GSL's running means, which divide once per sample. */
static long double mean_of_moments(const struct dist_view *v)
{
    long double sum = 0;

    for (size_t i = 0; i < v->count; i++) {
        sum += v->values[i];
    }
    return sum / (long double)v->count;
}

double dist_view_mean(const struct dist_view *v)
{
    if (v->count == 0) {
        return NAN;
    }
    return v->weights ? gsl_stats_wmean(v->weights, 1, v->values, 1, v->count)
                      : (double)mean_of_moments(v);
}

double dist_view_sd(const struct dist_view *v)
{
    long double mean, sum = 0;

    if (v->count < 2) {
        return NAN;
    }
    if (v->weights) {
        return gsl_stats_wsd(v->weights, 1, v->values, 1, v->count);
    }
    mean = (double)mean_of_moments(v);
    for (size_t i = 0; i < v->count; i++) {
        long double off = v->values[i] - mean;

        sum += off * off;
    }
    return sqrt((double)(sum / (long double)(v->count - 1)));
}

/* The weight of all values up to and with the one at i. */
static double weight_until(const struct dist_view *v, size_t i)
{
    return v->cumulative ? v->cumulative[i] : (double)(i + 1);
}

double dist_view_quantile(const struct dist_view *v, double p)
{
    size_t lo = 0, hi = v->count;
    double rank;

    if (v->count == 0) {
        return NAN;
    }
    rank = p * weight_until(v, v->count - 1) * (1 - RANK_TOLERANCE);
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (weight_until(v, mid) < rank) {
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
