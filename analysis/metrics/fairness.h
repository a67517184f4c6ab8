/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fairness_ratio: how evenly the flows that share the path divide it, by Jain's index (Jain, Chiu,
 * Hawe: A Quantitative Measure of Fairness, 1984): (sum of rates)^2 / (flows x sum of squares), 1
 * when all have the same and 1/flows when one has all. */
#ifndef ANALYSIS_METRICS_FAIRNESS_H
#define ANALYSIS_METRICS_FAIRNESS_H

#include "analysis/ingest/run_data.h"
#include "analysis/metrics/metric_set.h"
#include "analysis/metrics/traffic.h"

/* Of n rates, or amounts in equal times, none below 0. NAN for n = 0 or nothing but zeros. */
double fairness_index(const double *rates, size_t n);
/* The call and the data beside it, by their goodput in the window during; or, in the window whole,
 * the 5-tuples sender to receiver of programs that are no agents, by their goodput, but for those
 * of less than a hundredth of the bytes, which control others or look up names. Call after both
 * have put their metrics into out. Nothing is put where fewer than two flows share. Returns 0 or
 * ERR_NOMEM. */
int fairness_put(const struct traffic *t, const struct run_data *d, struct metric_set *out);

#endif
