/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/statistics.h"

#include "agents/base/prng.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdint.h>

#define SEED 1
#define TAIL 0.025
#define FENCE 1.5

/* The mean of as many of x, each drawn from all of them. */
static double resampled_mean(struct prng *random, const double *x, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        sum += x[(uint64_t)prng_u32(random) * n >> 32];
    }
    return sum / (double)n;
}

void statistics_interval(const double *x, size_t n, const char *name, double *lo, double *hi)
{
    double means[STATISTICS_RESAMPLES];
    struct prng random;

    *lo = *hi = NAN;
    if (n < 2) {
        return;
    }
    if (gsl_stats_min(x, 1, n) == gsl_stats_max(x, 1, n)) {
        *lo = *hi = x[0]; /* whatever is drawn, and without a sum's rounding */
        return;
    }
    prng_init(&random, SEED, name);
    for (size_t i = 0; i < STATISTICS_RESAMPLES; i++) {
        means[i] = resampled_mean(&random, x, n);
    }
    gsl_sort(means, 1, STATISTICS_RESAMPLES);
    *lo = gsl_stats_quantile_from_sorted_data(means, 1, STATISTICS_RESAMPLES, TAIL);
    *hi = gsl_stats_quantile_from_sorted_data(means, 1, STATISTICS_RESAMPLES, 1 - TAIL);
}

double statistics_median(const double *sorted, size_t n)
{
    return n ? gsl_stats_median_from_sorted_data(sorted, 1, n) : NAN;
}

void statistics_fences(const double *sorted, size_t n, double *lo, double *hi)
{
    double first, third;

    *lo = *hi = NAN;
    if (n == 0) {
        return;
    }
    first = gsl_stats_quantile_from_sorted_data(sorted, 1, n, 0.25);
    third = gsl_stats_quantile_from_sorted_data(sorted, 1, n, 0.75);
    *lo = first - FENCE * (third - first);
    *hi = third + FENCE * (third - first);
}

double statistics_effect(const double *differences, size_t n)
{
    double mean, sd;

    if (n < 2) {
        return NAN;
    }
    mean = gsl_stats_mean(differences, 1, n);
    sd = gsl_stats_sd_m(differences, 1, n, mean);
    return sd > 0 ? mean / sd : NAN;
}

double statistics_dominance(const double *first, const double *second, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < n; k++) {
            sum += (second[i] > first[k]) - (second[i] < first[k]);
        }
    }
    return n ? sum / ((double)n * (double)n) : NAN;
}
