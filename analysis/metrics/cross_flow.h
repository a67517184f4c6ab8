/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The traffic beside the calls of a run, as the captures have it by the ports that the manifest
 * tells: each entry of its list "traffic" is a flow of the set, however many connections it makes.
 */
#ifndef ANALYSIS_METRICS_CROSS_FLOW_H
#define ANALYSIS_METRICS_CROSS_FLOW_H

#include "analysis/ingest/fault.h"
#include "analysis/ingest/run_info.h"
#include "analysis/metrics/flow_set.h"
#include "analysis/metrics/metric_set.h"

/* Reads the captures in dir, adds the flows, and puts NAME.throughput_bps, .goodput_bps,
 * .sending_rate_bps, .loss_ratio, .reordered_ratio, .owd_ms of each, with the dashes of its name
 * made underscores, and throughput, goodput and sending rate of each step. Without an entry nothing
 * happens. Returns 0, or ERR_OS, ERR_MALFORMED, ERR_LIMIT or ERR_NOMEM with *f filled. */
int cross_flow_add(struct flow_set *set, const char *dir, const struct run_info *info,
                   struct metric_set *out, struct fault *f);

#endif
