/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/dist_bins.h"

#include <math.h>
#include <stdlib.h>

#define PER_OCTAVE 1024

void dist_bins_fini(struct dist_bins *b)
{
    for (int sign = 0; sign < 2; sign++) {
        for (int o = 0; o < DIST_BINS_OCTAVES; o++) {
            free(b->octaves[sign][o]);
        }
    }
    *b = (struct dist_bins){0};
}

static double *octave(struct dist_bins *b, int sign, int o)
{
    if (!b->octaves[sign][o]) {
        b->octaves[sign][o] = calloc(PER_OCTAVE, sizeof *b->octaves[sign][o]);
    }
    return b->octaves[sign][o];
}

struct dist_bins_place dist_bins_place(double value)
{
    int exponent;
    double fraction = frexp(fabs(value), &exponent); /* in [0.5, 1) */
    int o = exponent - 1 - DIST_BINS_LEAST;

    if (value == 0 || o < 0) {
        return (struct dist_bins_place){.octave = -1};
    }
    if (o >= DIST_BINS_OCTAVES) {
        o = DIST_BINS_OCTAVES - 1;
        fraction = nextafter(1, 0);
    }
    return (struct dist_bins_place){
        .positive = value > 0, .octave = o, .bin = (size_t)((fraction - 0.5) * 2 * PER_OCTAVE)};
}

static void note_range(struct dist_bins *b, double min, double max)
{
    b->min = b->count ? fmin(b->min, min) : min;
    b->max = b->count ? fmax(b->max, max) : max;
}

bool dist_bins_add(struct dist_bins *b, const struct dist_bins_place *place, double value,
                   double weight)
{
    double *bins = place->octave < 0 ? &b->zero : octave(b, place->positive, place->octave);

    if (!bins) {
        return false;
    }
    bins[place->bin] += weight;
    note_range(b, value, value);
    b->count++;
    b->weight += weight;
    b->squares_of_weights += (long double)weight * weight;
    b->sum += (long double)weight * value;
    b->squares += (long double)weight * value * value;
    return true;
}

bool dist_bins_add_all(struct dist_bins *b, const struct dist_bins *other)
{
    if (other->count == 0) {
        return true;
    }
    for (int sign = 0; sign < 2; sign++) {
        for (int o = 0; o < DIST_BINS_OCTAVES; o++) {
            double *to = other->octaves[sign][o] ? octave(b, sign, o) : NULL;

            if (other->octaves[sign][o] && !to) {
                return false;
            }
            for (size_t i = 0; to && i < PER_OCTAVE; i++) {
                to[i] += other->octaves[sign][o][i];
            }
        }
    }
    note_range(b, other->min, other->max);
    b->zero += other->zero;
    b->count += other->count;
    b->weight += other->weight;
    b->squares_of_weights += other->squares_of_weights;
    b->sum += other->sum;
    b->squares += other->squares;
    return true;
}

/* The middle of bin i of an octave, but no value that did not occur beyond all that did. */
static double middle(const struct dist_bins *b, int sign, int o, size_t i)
{
    double size = ldexp(1 + ((double)i + 0.5) / PER_OCTAVE, o + DIST_BINS_LEAST);

    return fmin(fmax(sign ? size : -size, b->min), b->max);
}

struct list {
    double *values, *weights; /* NULL: only counted */
    size_t count;
};

static void put(struct list *l, double value, double weight)
{
    if (l->values && weight > 0) {
        l->values[l->count] = value;
        l->weights[l->count] = weight;
    }
    l->count += weight > 0;
}

static void walk(const struct dist_bins *b, struct list *l)
{
    for (int o = DIST_BINS_OCTAVES; o-- > 0;) {
        for (size_t i = PER_OCTAVE; b->octaves[0][o] && i-- > 0;) {
            put(l, middle(b, 0, o, i), b->octaves[0][o][i]);
        }
    }
    put(l, 0, b->zero);
    for (int o = 0; o < DIST_BINS_OCTAVES; o++) {
        for (size_t i = 0; b->octaves[1][o] && i < PER_OCTAVE; i++) {
            put(l, middle(b, 1, o, i), b->octaves[1][o][i]);
        }
    }
}

size_t dist_bins_used(const struct dist_bins *b)
{
    struct list l = {0};

    walk(b, &l);
    return l.count;
}

void dist_bins_list(const struct dist_bins *b, double *values, double *weights)
{
    struct list l = {.values = values, .weights = weights};

    walk(b, &l);
}

double dist_bins_mean(const struct dist_bins *b)
{
    return b->count ? (double)(b->sum / b->weight) : NAN;
}

/* With weights as gsl_stats_wsd has it, which for weights of 1 is the deviation of a sample. */
double dist_bins_sd(const struct dist_bins *b)
{
    long double freedom = b->weight * b->weight - b->squares_of_weights;
    long double off = b->squares - b->sum * b->sum / b->weight;

    return b->count < 2 || freedom <= 0 ? NAN : (double)sqrtl(fmaxl(off, 0) * b->weight / freedom);
}
