/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every metric in plain language: what reports print beside the names. */
#ifndef ANALYSIS_REPORT_CATALOGUE_H
#define ANALYSIS_REPORT_CATALOGUE_H

#include <stddef.h>

struct catalogue_entry {
    const char *metric;     /* without the suffix of a statistic */
    const char *label;      /* short, for a table */
    const char *unit;       /* as displayed; empty: none */
    double scale;           /* displayed = value x scale */
    int decimals;           /* displayed */
    int distribution;       /* has _mean _sd _p50 _p95 _p99 _max */
    const char *definition; /* one or two sentences */
};

extern const struct catalogue_entry catalogue[];
extern const size_t catalogue_count;

/* The entry of a metric, also with a statistic's suffix, and with what stands before the name of a
 * further flow's ("call2.") or of a step of the capacity ("step1_"); NULL for an unknown one. */
const struct catalogue_entry *catalogue_find(const char *metric);
/* What stands there in words, "call2, step 1: ", empty for nothing; returns out. */
#define CATALOGUE_WHOSE_MAX 40
const char *catalogue_whose(char out[CATALOGUE_WHOSE_MAX], const char *metric);
/* Where the metric's own name begins, behind all that. */
const char *catalogue_name(const char *metric);

#endif
