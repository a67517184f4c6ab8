/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reasons not to trust a run: those its manifest states, and those that only the captures and the
 * records together show. */
#ifndef ANALYSIS_METRICS_VALIDITY_H
#define ANALYSIS_METRICS_VALIDITY_H

#include "analysis/ingest/run_data.h"
#include "analysis/metrics/media.h"
#include "analysis/metrics/window.h"

#include <jansson.h>
#include <stdint.h>

/* Part of the datagrams that may be missing in a capture or in the records (those of the very start
 * and end). */
#define VALIDITY_MISMATCH_MAX_RATIO 0.001

/* rate_short: seconds of shortfall.h. A new array of {"reason", "count", "detail"}, empty for a
 * valid run; NULL when out of memory. */
json_t *validity_reasons(const struct run_data *d, const struct media *m, const struct windows *w,
                         uint64_t rate_short);

#endif
