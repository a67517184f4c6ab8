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

#include <stdbool.h>
#include <stdint.h>

/* Flows of which as many samples are kept as of any distribution; of later ones fewer are, since
 * there may be thousands. */
#define TRAFFIC_FLOWS_KEPT 64
#define TRAFFIC_LATER_KEPT 4096

/* What is remembered of a flow from packet to packet. */
struct traffic_progress {
    bool tcp_begun;
    uint32_t tcp_first,
        tcp_next; /* sequence numbers that arrived: the lowest, behind the highest */
    bool rtp_begun;
    ns_t rtp_arrival;
    uint32_t rtp_timestamp;
    double jitter;
    uint64_t highest; /* place behind the one sent last of those that arrived */
};

struct traffic_flow {
    size_t sent, arrived, reordered;
    uint64_t ip_bytes, payload_bytes; /* of what arrived */
    uint64_t goodput_bytes;
    ns_t first, last; /* sent, received; NS_NEVER: none */
    struct dist owd;  /* ms, sorted */
    struct dist jitter;
    struct traffic_progress progress;
};

struct traffic {
    struct traffic_flow *flows; /* as in the flows of each packet */
    struct traffic_flow all;    /* sender to receiver */
    size_t count;
    /* private */
    size_t room;
    bool delays;
};

/* delays: with owd and jitter, all's in the windows of the set, which is not looked at without. */
void traffic_init(struct traffic *t, bool delays, const struct window_set *set);
/* A packet, in the order of flows_each. Returns 0 or ERR_NOMEM. */
int traffic_packet(struct traffic *t, const struct flows *fl, const struct flow_packet *p);
/* After the last. Returns 0 or ERR_NOMEM. */
int traffic_finish(struct traffic *t, const struct flows *fl);
void traffic_fini(struct traffic *t);
void traffic_put(const struct traffic *t, const struct windows *w, struct metric_set *out);
/* Writes dir/traffic.csv, if there are flows. Returns 0 or ERR_OS (errno). */
int traffic_write(const struct traffic *t, const struct run_data *d, const char *dir);

#endif
