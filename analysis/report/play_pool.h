/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Music players over several runs: what a plan's listeners got, and what a server's other
 * congestion control changes of it.
 *
 * Quantiles are of all plays of a cell's valid runs together, stutters are sums over sums: what an
 * operator's dashboard shows, not means of runs. Plays of one run share a path and so are not
 * independent: intervals come from a bootstrap that draws whole runs (clusters), 2000 times,
 * percentile method, with a fixed seed.
 *
 * Two cells that differ in their preset alone, cubic and bbr, are compared: the relative change of
 * each figure from the first (A) to the second (B), over the seeds of which both have a valid run,
 * drawn together; and over all such pairs together, runs being drawn within each pair. */
#ifndef ANALYSIS_REPORT_PLAY_POOL_H
#define ANALYSIS_REPORT_PLAY_POOL_H

#include "analysis/report/plan.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define PLAY_POOL_LABEL_MAX 120

/* The figures, in the order in which they are shown. */
struct play_pool_metric {
    const char *name;  /* as of runs (analysis/metrics/play.h) */
    const char *label; /* as people say it */
};

extern const struct play_pool_metric play_pool_metrics[];
extern const size_t play_pool_metric_count;

/* One relative change: 0.1 is 10 % more. NAN where A is 0, intervals below two runs. */
struct play_pool_change {
    double a, b, change, lo, hi;
};

/* summary.json's "plays": {"resamples", "cells":[{"cell", "runs", windows:{window:{"plays",
 * "failed", "cut", "metrics":{metric:{"value","ci95"}}}}}], "comparisons":[{"a", "b", "label",
 * "stack", "cells":[a,b], "runs", "windows":{window:{"metrics":{metric:{"a","b","change","ci95"}},
 * "slow_gain":{…}}}}]}. The last comparison of a stack with several is that of all of them, without
 * "cells". A new object; json null for a plan without plays; NULL when out of memory. */
json_t *play_pool_new(const struct plan_results *p);
/* One value of it; fields are NAN where there is none. */
struct play_pool_change play_pool_get(const json_t *comparison, const char *window,
                                      const char *metric);

#endif
