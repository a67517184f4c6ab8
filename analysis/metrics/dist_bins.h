/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A histogram of weighed values of either sign whose bins are a fixed fraction of the values wide:
 * 1024 to the octave, so that the middle of a bin is within 2^-11 of each value in it. Takes
 * memory for the octaves that occur. Sums are exact, as far as long double is. */
#ifndef ANALYSIS_METRICS_DIST_BINS_H
#define ANALYSIS_METRICS_DIST_BINS_H

#include <stdbool.h>
#include <stddef.h>

#define DIST_BINS_LEAST (-20) /* values below 2^-20 are 0 */
#define DIST_BINS_OCTAVES 84  /* up to 2^64; what is beyond is counted there */

struct dist_bins {
    double *octaves[2][DIST_BINS_OCTAVES]; /* weights of the negative, the positive values */
    double zero;
    size_t count;
    long double weight, squares_of_weights, sum, squares;
    double min, max;
};

/* Where a value belongs, in every histogram. */
struct dist_bins_place {
    bool positive;
    int octave; /* negative: it counts as 0 */
    size_t bin;
};

/* Zeros are an empty histogram. */
void dist_bins_fini(struct dist_bins *b);
struct dist_bins_place dist_bins_place(double value);
/* Return whether there was memory. place: of the value. */
bool dist_bins_add(struct dist_bins *b, const struct dist_bins_place *place, double value,
                   double weight);
bool dist_bins_add_all(struct dist_bins *b, const struct dist_bins *other);
/* How many bins have any weight. */
size_t dist_bins_used(const struct dist_bins *b);
/* Writes the middles and weights of those, ascending, to arrays of that length. */
void dist_bins_list(const struct dist_bins *b, double *values, double *weights);
/* NAN without values, the deviation also of a single one. */
double dist_bins_mean(const struct dist_bins *b);
double dist_bins_sd(const struct dist_bins *b);

#endif
