/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A call as one of the flows of a path, and what is told of a call only where there are several
 * flows, or a capacity that changes. */
#ifndef ANALYSIS_METRICS_CALL_FLOW_H
#define ANALYSIS_METRICS_CALL_FLOW_H

#include "analysis/metrics/delays.h"
#include "analysis/metrics/flow_set.h"
#include "analysis/metrics/media.h"
#include "analysis/metrics/metric_set.h"

/* Adds the call under that name. It is active while it sends media, but for pauses;
 * without media from its first packet to its last. Returns 0,
 * ERR_NOMEM or ERR_LIMIT (too many flows). */
int call_flow_add(struct flow_set *set, const char *name, const struct run_data *d,
                  const struct media *m);
/* frame_delay_ms, settled_queue_delay_ms, sending_rate_bps, and the metrics of each step. Returns 0
 * or ERR_NOMEM. */
int call_flow_put(const struct flow_set *set, const struct run_data *d, const struct media *m,
                  const struct delays *l, struct metric_set *out);

#endif
