/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two plans of one scenario on two kinds of link, metric by metric: medians over the repetitions
 * must lie within the bands that the project states. Rates, file time and what is a ratio of them
 * 3 %; the median of a one-way delay 2 ms, of a round trip 4 ms; the 95th and 99th percentile of a
 * delay 5 ms or 15 %, whichever is more. Other metrics have no band.
 *
 * Repetitions scatter: a median that misses its band by less than the 95 % confidence interval of
 * the difference (Welch's t) is "open", not "outside": only more repetitions would tell. */
#ifndef ANALYSIS_REPORT_AGREEMENT_H
#define ANALYSIS_REPORT_AGREEMENT_H

#include "analysis/ingest/fault.h"
#include "analysis/report/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* So many valid repetitions a median needs unless told otherwise. */
#define AGREEMENT_RUNS_MIN 5

struct agreement_options {
    size_t runs_min;         /* valid repetitions that each cell must have in both plans */
    const char *const *only; /* "metric:window", NULL terminated; NULL: all metrics */
    /* Names of reasons, NULL terminated: runs that are invalid for nothing else count as valid, and
     * it is said how many those are. NULL: none. */
    const char *const *accept;
    bool all;     /* show also metrics without a band */
    bool strict;  /* what is open counts as outside */
    bool lenient; /* leave out cells and metrics that one of the plans has no valid run of, instead
                     of refusing; runs_min does not count */
    bool brief;   /* print only what is outside or open, and how much that is */
    bool quiet;
    FILE *html;        /* gets a section of a page; NULL: none */
    const char *junit; /* file to write as JUnit XML; NULL: none */
    const char *name;  /* of the JUnit suite; NULL: the plan's */
};

/* Names of the reasons that may be accepted: lateness. NULL from the end on. */
const char *agreement_acceptable(size_t i);
/* Whether two plans, the second loaded already, have a cell in common: before anything is written
 * of such a comparison. Returns 0 or a negative code with *f filled, ERR_CONFIG when none is. */
int agreement_check(const char *first, const struct plan_results *second, struct fault *f);
/* The band of a metric around a value; negative when it has none. */
double agreement_band(const char *metric, double value);
/* Compares the plans in two folders, reducing what has not been, and prints a table to out. Returns
 * how many metrics lie outside their bands, or a negative code with *f filled: also when a cell has
 * too few valid repetitions, the plans have different cells, or a metric asked for is not there. */
int agreement_make(const char *first, const char *second, const struct agreement_options *opt,
                   FILE *out, struct fault *f);

#endif
