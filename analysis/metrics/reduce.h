/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One run folder to its metrics.json and series (analysis/METRICS.md defines every number). */
#ifndef ANALYSIS_METRICS_REDUCE_H
#define ANALYSIS_METRICS_REDUCE_H

#include "analysis/ingest/fault.h"

#include <jansson.h>

#define REDUCE_SCHEMA 1

/* Reduces dir, writes dir/metrics.json and dir/series.*.csv, and gives the document to *out (a new
 * reference) unless out is NULL. Returns 0 or a negative code with one line in *f; metrics.json is
 * then as it was. */
int reduce_run(const char *dir, json_t **out, struct fault *f);

#endif
