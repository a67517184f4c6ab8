/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Judges the expectations of a plan, which expect.json in its folder states. */
#ifndef ANALYSIS_REPORT_EXPECT_H
#define ANALYSIS_REPORT_EXPECT_H

#include "analysis/ingest/fault.h"
#include "analysis/report/plan.h"

#include <jansson.h>
#include <stddef.h>

/* Fills summary's "expect" with an entry per expectation: name, ok (true, false, or null when none
 * of its cells has runs here), detail (one line), metric, window, judge and checks. A check has
 * cell, ok, n, value (the mean over the valid runs; against another cell: over the repetitions
 * valid in both), ci95 (null below two), min, max and detail; against another cell also difference
 * and its ci95, repetition by repetition, as these have equal seeds. A plan without expect.json
 * expects nothing. Writes how many are not met to *unmet. Returns 0, or a negative code with *f
 * filled. */
int expect_judge(const struct plan_results *p, json_t *summary, size_t *unmet, struct fault *f);

#endif
