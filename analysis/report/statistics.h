/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The statistics of repetitions. There is one confidence interval everywhere: the percentile
 * bootstrap of a mean (Efron and Tibshirani, An Introduction to the Bootstrap, chapter 13), whose
 * draws have a fixed seed: equal values give equal intervals. It assumes no distribution, but
 * cannot reach beyond the values that were seen, so with fewer than about ten it is too narrow. */
#ifndef ANALYSIS_REPORT_STATISTICS_H
#define ANALYSIS_REPORT_STATISTICS_H

#include <stddef.h>

#define STATISTICS_RESAMPLES 2000

/* The 95 % interval of the mean of n values; NAN below n = 2. name chooses the random numbers, so
 * that the interval of one metric does not depend on which others there are. */
void statistics_interval(const double *x, size_t n, const char *name, double *lo, double *hi);

/* Of n values in ascending order, NAN for n = 0: the median, and Tukey's fences, 1.5 times the
 * distance of the quartiles beyond them (quartiles between two values by linear interpolation).
 * What lies outside is an outlier: shown as one, never left out. */
double statistics_median(const double *sorted, size_t n);
void statistics_fences(const double *sorted, size_t n, double *lo, double *hi);

/* How large n paired differences are beside how much they vary: Cohen's d_z, their mean over their
 * standard deviation. NAN below n = 2, or when all are the same and so nothing varies. */
double statistics_effect(const double *differences, size_t n);
/* Cliff's delta: the chance that a value of second is above one of first, minus that of below; -1
 * to 1. NAN for n = 0. */
double statistics_dominance(const double *first, const double *second, size_t n);

#endif
