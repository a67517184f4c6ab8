/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What captures alone tell of a run of stack exec: traffic_throughput_bps, traffic_goodput_bps,
 * traffic_owd_ms (RFC 7679), traffic_loss_ratio (RFC 7680), traffic_reordered_ratio (RFC 4737
 * section 3.3) and traffic_jitter_ms (RFC 3550 A.8, of what looks like RTP), all sender to receiver
 * and in the window whole; and traffic.csv with a row for each 5-tuple in both directions. Rates
 * are of the time from the first packet sent to the last one received, not of the run: programs
 * take their time to begin. Goodput of TCP is by sequence numbers, so that what is sent twice
 * counts once; of anything else it is the bytes behind its header. */
#ifndef ANALYSIS_METRICS_TRAFFIC_H
#define ANALYSIS_METRICS_TRAFFIC_H

#include "analysis/ingest/run_data.h"
#include "analysis/metrics/metric_set.h"
#include "analysis/metrics/window.h"

struct traffic_flow {
    size_t sent, arrived, reordered;
    uint64_t ip_bytes, payload_bytes; /* of what arrived */
    uint64_t goodput_bytes;
    ns_t first, last; /* sent, received; NS_NEVER: none */
    struct dist owd;  /* ms, sorted */
    struct dist jitter;
};

struct traffic {
    struct traffic_flow *flows; /* as in run_data.flows */
    struct traffic_flow all;    /* sender to receiver */
    size_t count;
};

/* Returns 0 or ERR_NOMEM. Without flows there is nothing in it. */
int traffic_init(struct traffic *t, const struct run_data *d);
void traffic_fini(struct traffic *t);
void traffic_put(const struct traffic *t, const struct windows *w, struct metric_set *out);
/* Writes dir/traffic.csv, if there are flows. Returns 0 or ERR_OS (errno). */
int traffic_write(const struct traffic *t, const struct run_data *d, const char *dir);

#endif
