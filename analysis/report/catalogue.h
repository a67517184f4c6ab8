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

/* The entry of a metric, also with a statistic's suffix; NULL for an unknown one. */
const struct catalogue_entry *catalogue_find(const char *metric);

#endif
