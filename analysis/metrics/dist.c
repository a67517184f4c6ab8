/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/dist.h"

#include "agents/base/err.h"
#include "analysis/metrics/dist_bins.h"
#include "analysis/metrics/order.h"

#include <assert.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 256
#define MAP_STEP 1e9 /* differences of large values are exact */
/* p x total is rounded: 0.95 x 20 must not ask for the twentieth of twenty. */
#define RANK_TOLERANCE 1e-12

void dist_bound(struct dist *d, size_t kept, const struct dist_window *windows, size_t n)
{
    *d = (struct dist){.kept = kept, .window_count = n};
    memcpy(d->windows, windows, n * sizeof *windows);
}

static void bins_fini(struct dist *d)
{
    for (size_t i = 0; d->bins && i < d->window_count; i++) {
        dist_bins_fini(&d->bins[i]);
    }
    free(d->bins);
    d->bins = NULL;
}

void dist_fini(struct dist *d)
{
    free(d->samples);
    bins_fini(d);
    *d = (struct dist){0};
}

/* ---- folded ---- */

static double weight(const struct dist_sample *s, ns_t start, ns_t end)
{
    if (s->time == s->until) {
        return s->time >= start && s->time < end ? 1 : 0;
    }
    return (double)ns_max(0, ns_min(s->until, end) - ns_max(s->time, start));
}

static void fold_one(struct dist *d, const struct dist_sample *s)
{
    double value = (s->value - d->base) / d->unit;
    const struct dist_bins_place place = dist_bins_place(value);

    for (size_t i = 0; i < d->window_count; i++) {
        double w = weight(s, d->windows[i].start, d->windows[i].end);

        if (w > 0) {
            d->failed |= !dist_bins_add(&d->bins[i], &place, value, w);
        }
    }
}

static void fold(struct dist *d)
{
    d->bins = calloc(d->window_count ? d->window_count : 1, sizeof *d->bins);
    if (!d->bins) {
        d->failed = true;
        return;
    }
    d->unit = 1;
    d->base = d->from_zero || !d->count ? 0 : d->samples[0].value;
    for (size_t i = 1; i < d->count && !d->from_zero; i++) {
        d->base = fmin(d->base, d->samples[i].value);
    }
    for (size_t i = 0; i < d->count; i++) {
        fold_one(d, &d->samples[i]);
    }
    free(d->samples);
    d->samples = NULL;
    d->room = 0;
}

void dist_add_span(struct dist *d, ns_t from, ns_t until, double value)
{
    const struct dist_sample s = {.time = from, .until = until, .value = value};

    d->spans |= from != until;
    if (!d->bins && d->kept && d->count == d->kept) {
        fold(d);
    }
    if (d->failed) {
        return;
    }
    if (d->bins) {
        fold_one(d, &s);
        d->count++;
        return;
    }
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
    d->samples[d->count++] = s;
}

void dist_add_all(struct dist *d, const struct dist *other)
{
    d->failed |= other->failed;
    for (size_t i = 0; !other->bins && i < other->count; i++) {
        dist_add(d, other->samples[i].time, other->samples[i].value);
    }
    if (!other->bins || d->failed) {
        return;
    }
    if (!d->bins) {
        fold(d);
    }
    for (size_t i = 0; !d->failed && i < d->window_count; i++) {
        d->failed |= !dist_bins_add_all(&d->bins[i], &other->bins[i]);
    }
    d->count += other->count;
}

void dist_copy(struct dist *d, const struct dist *other)
{
    dist_bound(d, other->kept, other->windows, other->window_count);
    d->from_zero = other->from_zero;
    d->spans = other->spans;
    for (size_t i = 0; !other->bins && i < other->count; i++) {
        dist_add_span(d, other->samples[i].time, other->samples[i].until, other->samples[i].value);
    }
    if (other->bins) {
        dist_add_all(d, other);
        d->base = other->base;
        d->unit = other->unit;
    }
    d->failed |= other->failed;
}

void dist_map(struct dist *d, double (*map)(double v, const void *ctx), const void *ctx)
{
    for (size_t i = 0; !d->bins && i < d->count; i++) {
        d->samples[i].value = map(d->samples[i].value, ctx);
    }
    if (d->bins) {
        double base = map(d->base, ctx);

        d->unit = (map(d->base + MAP_STEP * d->unit, ctx) - base) / MAP_STEP;
        d->base = base;
    }
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
    size_t n = d->bins ? 0 : d->count;
    struct dist_sample *sorted = malloc((n ? n : 1) * sizeof *sorted);
    struct order_entry *order = malloc((n ? n : 1) * sizeof *order);

    d->failed |= !sorted || !order || n > UINT32_MAX;
    for (size_t i = 0; i < n && !d->failed; i++) {
        order[i] = (struct order_entry){key_of(d->samples[i].value), (uint32_t)i};
    }
    d->failed = d->failed || order_sort(order, n);
    if (d->failed || d->bins) {
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

/* What is folded was folded for windows that were announced: asking for another is our own bug. */
static const struct dist_bins *bins_within(const struct dist *d, ns_t start, ns_t end)
{
    for (size_t i = 0; i < d->window_count; i++) {
        if (d->windows[i].start == start && d->windows[i].end == end) {
            return &d->bins[i];
        }
    }
    assert(false);
    return &d->bins[0];
}

static int take_folded(struct dist_view *v, const struct dist *d, const struct dist_bins *b)
{
    size_t n = dist_bins_used(b);
    double sum = 0;

    v->values = malloc(3 * (n ? n : 1) * sizeof *v->values);
    if (!v->values) {
        return ERR_NOMEM;
    }
    v->weights = v->values + n;
    v->cumulative = v->weights + n;
    v->count = n;
    dist_bins_list(b, v->values, v->weights);
    for (size_t i = 0; i < n; i++) {
        v->values[i] = d->base + d->unit * v->values[i];
        v->cumulative[i] = sum += v->weights[i];
    }
    v->folded = true;
    v->mean = d->base + d->unit * dist_bins_mean(b);
    v->sd = d->unit * dist_bins_sd(b);
    v->max = d->base + d->unit * b->max;
    return 0;
}

int dist_view_init(struct dist_view *v, const struct dist *d, ns_t start, ns_t end)
{
    *v = (struct dist_view){0};
    if (d->failed) {
        return ERR_NOMEM;
    }
    if (d->bins) {
        return take_folded(v, d, bins_within(d, start, end));
    }
    v->values = malloc((d->spans ? 3 : 1) * (d->count ? d->count : 1) * sizeof *v->values);
    if (!v->values) {
        return ERR_NOMEM;
    }
    if (d->spans) {
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
    if (v->folded) {
        return v->mean;
    }
    return v->weights ? gsl_stats_wmean(v->weights, 1, v->values, 1, v->count)
                      : (double)mean_of_moments(v);
}

double dist_view_sd(const struct dist_view *v)
{
    long double mean, sum = 0;

    if (v->folded) {
        return v->sd;
    }
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
    if (v->folded && p >= 1) {
        return v->max;
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
    if (v->folded && v->count) {
        return v->max;
    }
    return v->count ? v->values[v->count - 1] : NAN;
}
