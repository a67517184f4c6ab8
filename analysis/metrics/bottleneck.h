/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the discipline of the bottleneck's queue made of the way sender to receiver, by the
 * testbed's own records; nothing of runs whose queue has none. */
#ifndef ANALYSIS_METRICS_BOTTLENECK_H
#define ANALYSIS_METRICS_BOTTLENECK_H

#include "analysis/ingest/run_data.h"
#include "analysis/metrics/metric_set.h"

void bottleneck_put(const struct run_data *d, struct metric_set *out);

#endif
