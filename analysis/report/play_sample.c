/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/play_sample.h"

#include "agents/base/prng.h"
#include "analysis/report/statistics.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#define SEED 1
#define TAIL 0.025
/* An interval needs so many of the resamples to have a value. */
#define USABLE 0.95

static const double latency_at[PLAY_SAMPLE_QUANTILES] = {0.5, 0.9, 0.99};
static const double bandwidth_at[PLAY_SAMPLE_QUANTILES] = {0.5, 0.1, 0.01};

/* ---- what was measured ---- */

static int by_value(const void *a, const void *b)
{
    const struct play_item *x = a, *y = b;

    return (x->value > y->value) - (x->value < y->value);
}

void play_sample_fini(struct play_sample *a)
{
    free(a->runs);
    free(a->latency.at);
    free(a->bandwidth.at);
    *a = (struct play_sample){0};
}

const json_t *play_sample_share(const json_t *doc, const char *window)
{
    return json_object_get(json_object_get(json_object_get(doc, "plays"), "windows"), window);
}

static size_t count_items(json_t *const *docs, size_t n, const char *window, const char *key)
{
    size_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        sum += json_array_size(json_object_get(play_sample_share(docs[i], window), key));
    }
    return sum;
}

static bool collect(struct play_items *t, json_t *const *docs, size_t n, const char *window,
                    const char *key)
{
    size_t k;
    json_t *v;

    t->at = calloc(count_items(docs, n, window, key) + 1, sizeof *t->at);
    for (size_t i = 0; t->at && i < n; i++) {
        json_array_foreach(json_object_get(play_sample_share(docs[i], window), key), k, v)
        {
            t->at[t->count++] = (struct play_item){json_number_value(v), i};
        }
    }
    if (t->at) {
        qsort(t->at, t->count, sizeof *t->at, by_value);
    }
    return t->at != NULL;
}

static double number(const json_t *share, const char *key)
{
    return json_number_value(json_object_get(share, key));
}

bool play_sample_init(struct play_sample *a, json_t *const *docs, size_t n, const char *window)
{
    *a = (struct play_sample){.runs = calloc(n + 1, sizeof *a->runs), .count = n};
    if (!a->runs || !collect(&a->latency, docs, n, window, "latency_ms") ||
        !collect(&a->bandwidth, docs, n, window, "bandwidth_bps")) {
        play_sample_fini(a);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        const json_t *s = play_sample_share(docs[i], window);

        a->runs[i] = (struct play_sums){.on = number(s, "on"),
                                        .stutters = number(s, "stutters"),
                                        .stutter_s = number(s, "stutter_s"),
                                        .plays = number(s, "plays"),
                                        .failed = number(s, "failed"),
                                        .cut = number(s, "cut")};
    }
    return true;
}

/* Quantiles by nearest rank of items that count as often as their run does. */
static void quantiles(const struct play_items *t, const unsigned *weights, const double *at,
                      double *out)
{
    uint64_t total = 0, sum = 0, ranks[PLAY_SAMPLE_QUANTILES];
    int left = PLAY_SAMPLE_QUANTILES;

    for (size_t i = 0; i < t->count; i++) {
        total += weights[t->at[i].run];
    }
    for (int k = 0; k < PLAY_SAMPLE_QUANTILES; k++) {
        out[k] = NAN;
        ranks[k] = (uint64_t)fmax(ceil(at[k] * (double)total), 1);
    }
    for (size_t i = 0; i < t->count && left && total; i++) {
        sum += weights[t->at[i].run];
        for (int k = 0; k < PLAY_SAMPLE_QUANTILES; k++) {
            if (sum >= ranks[k] && isnan(out[k])) {
                out[k] = t->at[i].value;
                left--;
            }
        }
    }
}

static void values(const struct play_sample *a, const unsigned *weights,
                   double out[PLAY_SAMPLE_METRICS])
{
    struct play_sums s = {0};

    for (size_t i = 0; i < a->count; i++) {
        s.on += weights[i] * a->runs[i].on;
        s.stutters += weights[i] * a->runs[i].stutters;
        s.stutter_s += weights[i] * a->runs[i].stutter_s;
    }
    quantiles(&a->latency, weights, latency_at, out + PLAY_SAMPLE_LATENCY);
    quantiles(&a->bandwidth, weights, bandwidth_at, out + PLAY_SAMPLE_BANDWIDTH);
    out[PLAY_SAMPLE_STUTTERS] = s.on > 0 ? s.stutters / s.on : NAN;
    out[PLAY_SAMPLE_STUTTER_TIME] = s.on > 0 ? s.stutter_s / s.on : NAN;
}

/* ---- resampling ---- */

static void draw(const struct play_strata *s, struct prng *random, unsigned *weights)
{
    size_t base = 0;

    for (size_t k = 0; k < s->count; k++) {
        for (size_t i = 0; i < s->sizes[k]; i++) {
            weights[base + i] = 0;
        }
        for (size_t i = 0; i < s->sizes[k]; i++) {
            weights[base + ((uint64_t)prng_u32(random) * s->sizes[k] >> 32)]++;
        }
        base += s->sizes[k];
    }
}

/* An interval can only be had where something is drawn from. */
static bool can_resample(const struct play_strata *s)
{
    for (size_t k = 0; k < s->count; k++) {
        if (s->sizes[k] < 2) {
            return false;
        }
    }
    return s->count > 0;
}

/* The middle 95 % of what is a number, if nearly all are. Sorts x. */
static void interval(double *x, size_t n, double *lo, double *hi)
{
    size_t usable = 0;

    *lo = *hi = NAN;
    for (size_t i = 0; i < n; i++) {
        if (isfinite(x[i])) {
            x[usable++] = x[i];
        }
    }
    if ((double)usable < USABLE * (double)n || !usable) {
        return;
    }
    gsl_sort(x, 1, usable);
    *lo = gsl_stats_quantile_from_sorted_data(x, 1, usable, TAIL);
    *hi = gsl_stats_quantile_from_sorted_data(x, 1, usable, 1 - TAIL);
}

static double relative(double a, double b)
{
    return a == 0 ? (b == 0 ? 0 : NAN) : b / a - 1;
}

/* By how much more the slow tenth gains than the middle. */
static double slow_gain(const double *changes)
{
    return changes[PLAY_SAMPLE_BANDWIDTH + 1] - changes[PLAY_SAMPLE_BANDWIDTH];
}

/* Values of one arm, or changes from one to another (b not NULL), of every metric and the slow
 * gain, for every resample: room[metric][resample]. */
static void resample(const struct play_sample *a, const struct play_sample *b,
                     const struct play_strata *s, const char *name, unsigned *weights,
                     double room[PLAY_SAMPLE_METRICS + 1][STATISTICS_RESAMPLES])
{
    struct prng random;

    prng_init(&random, SEED, name);
    for (size_t i = 0; i < STATISTICS_RESAMPLES; i++) {
        double of_a[PLAY_SAMPLE_METRICS], of_b[PLAY_SAMPLE_METRICS];

        draw(s, &random, weights);
        values(a, weights, of_a);
        if (b) {
            values(b, weights, of_b);
            for (int m = 0; m < PLAY_SAMPLE_METRICS; m++) {
                of_a[m] = relative(of_a[m], of_b[m]);
            }
        }
        for (int m = 0; m < PLAY_SAMPLE_METRICS; m++) {
            room[m][i] = of_a[m];
        }
        room[PLAY_SAMPLE_METRICS][i] = slow_gain(of_a);
    }
}

bool play_sample_estimate(struct play_estimate *e, const struct play_sample *a,
                          const struct play_sample *b, const struct play_strata *s,
                          const char *name)
{
    double(*room)[STATISTICS_RESAMPLES] = calloc(PLAY_SAMPLE_METRICS + 1, sizeof *room);
    unsigned *weights = calloc(a->count + 1, sizeof *weights);
    bool good = room && weights;

    for (size_t i = 0; good && i < a->count; i++) {
        weights[i] = 1;
    }
    if (good) {
        values(a, weights, e->a);
        for (int m = 0; m < PLAY_SAMPLE_METRICS; m++) {
            e->b[m] = e->change[m] = NAN;
        }
        if (b) {
            values(b, weights, e->b);
            for (int m = 0; m < PLAY_SAMPLE_METRICS; m++) {
                e->change[m] = relative(e->a[m], e->b[m]);
            }
        }
        e->change[PLAY_SAMPLE_METRICS] = slow_gain(e->change);
        for (int m = 0; m <= PLAY_SAMPLE_METRICS; m++) {
            e->lo[m] = e->hi[m] = NAN;
        }
        if (can_resample(s)) {
            resample(a, b, s, name, weights, room);
            for (int m = 0; m <= PLAY_SAMPLE_METRICS; m++) {
                interval(room[m], STATISTICS_RESAMPLES, &e->lo[m], &e->hi[m]);
            }
        }
    }
    free(room);
    free(weights);
    return good;
}
