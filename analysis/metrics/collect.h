/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All that is summed up of one run folder, or of one call's, while it is read once. */
#ifndef ANALYSIS_METRICS_COLLECT_H
#define ANALYSIS_METRICS_COLLECT_H

#include "analysis/ingest/run_stream.h"
#include "analysis/metrics/audio.h"
#include "analysis/metrics/call_flow.h"
#include "analysis/metrics/control_series.h"
#include "analysis/metrics/delays.h"
#include "analysis/metrics/media.h"
#include "analysis/metrics/quality.h"
#include "analysis/metrics/rates.h"
#include "analysis/metrics/series.h"
#include "analysis/metrics/shortfall.h"
#include "analysis/metrics/traffic.h"
#include "analysis/metrics/transfer.h"

struct collect {
    struct run_data *d;
    struct window_set set;
    struct media_visitor media_visitor;
    struct media media;
    struct rates rates;
    struct quality quality;
    struct delays delays;
    struct series series;
    struct control_series control;
    struct transfer transfer;
    struct shortfall shortfall;
    struct audio audio;
    struct traffic traffic; /* stack exec */
    struct call_flow flow;  /* of a run of several; its set is NULL without */
};

/* Of a run loaded but not read, in these windows; unloaded: the delay of its empty path, or
 * NS_NEVER. As one of the flows of a set under a name; without a set (NULL) of none. *c stays where
 * it is and borrows the others. Returns 0, ERR_NOMEM or ERR_LIMIT; *c is to be finished either way.
 */
int collect_init(struct collect *c, struct run_data *d, const struct windows *w, ns_t unloaded,
                 struct flow_set *set, const char *name);
void collect_fini(struct collect *c);
/* Reads dir, to the end of the sums. Returns 0, or a negative code with *f filled. */
int collect_read(struct collect *c, const char *dir, struct fault *f);

#endif
