/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run of several flows, or of a capacity that changes: the set of its flows (flow_set.h), from
 * the folders of its calls and from the captures. */
#ifndef ANALYSIS_METRICS_RUN_FLOWS_H
#define ANALYSIS_METRICS_RUN_FLOWS_H

#include "analysis/ingest/run_data.h"
#include "analysis/metrics/call_flow.h"
#include "analysis/metrics/flow_set.h"
#include "analysis/metrics/metric_set.h"

#include <jansson.h>

struct run_flows {
    struct flow_set set;
    struct rate_step *steps[CAPTURE_DIRECTIONS][FLOW_SET_SEGMENTS + 1]; /* what the set borrows */
    json_t *table; /* who they are, in the order of the set */
};

/* Whether a run has anything to tell that way: further calls, other traffic, a capacity of a few
 * steps. Not of stack exec. */
bool run_flows_wanted(const struct run_data *d);
/* Begins with the path. d is the run's own data, that of its first call, and outlives *r. Returns
 * 0, ERR_MALFORMED or ERR_NOMEM with *f filled; *r is to be finished either way. */
int run_flows_init(struct run_flows *r, const struct run_data *d, struct fault *f);
void run_flows_fini(struct run_flows *r);

/* Puts a call of the set that has been read: its own metrics go to *out, without a prefix, who it
 * is to the table. Returns 0 or ERR_NOMEM. */
int run_flows_add_call(struct run_flows *r, struct call_flow *call, const struct rates *rates,
                       const struct quality *q, struct metric_set *out);
/* Once the calls are there: the traffic beside them from the captures in dir, what all flows are to
 * each other, and dir/series.flows.csv. Returns 0, or a negative code with *f filled. */
int run_flows_finish(struct run_flows *r, const char *dir, const struct run_info *info,
                     struct metric_set *out, struct fault *f);
/* Adds "capacity" and "flow_table" to the run's document. Returns 0 or ERR_NOMEM. */
int run_flows_document(const struct run_flows *r, json_t *doc);

#endif
