/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How long things took, as distributions: media_owd_ms (RFC 7679), media_app_owd_ms,
 * media_sender_queue_ms, media_frame_spread_ms, media_jitter_ms (RFC 3550 section 6.4.1 and A.8),
 * media_pdv_ms (RFC 3393, in the form of RFC 5481 section 4.2: against the smallest delay),
 * queue_delay_ms, rtt_ms. A sample belongs to the moment its packet was sent; jitter to the moment
 * of arrival, rtt to the moment of the acknowledgement. */
#ifndef ANALYSIS_METRICS_DELAYS_H
#define ANALYSIS_METRICS_DELAYS_H

#include "analysis/ingest/run_stream.h"
#include "analysis/metrics/bin_quantiles.h"
#include "analysis/metrics/dist.h"
#include "analysis/metrics/media.h"
#include "analysis/metrics/metric_set.h"
#include "analysis/metrics/window.h"

#define DELAYS_BIN (NS_PER_S / 10)

/* Packets of so many RTP flows have a jitter of their own; those beyond have none. */
#define DELAYS_FLOWS_MAX 64

/* The packet of a flow that arrived last. */
struct delays_flow {
    int64_t flow, rtp_timestamp;
    ns_t arrival;
    double jitter;
};

struct delays {
    /* All in ms, and sorted by delays_finish. */
    struct dist owd, app_owd, sender_queue, frame_spread, jitter, pdv, queue, rtt;
    struct bin_quantiles owd_bins, app_owd_bins, sender_queue_bins, queue_bins;
    /* private */
    ns_t unloaded;
    ns_t smallest_owd, smallest_way; /* of media, of all packets; NS_NEVER: none */
    struct delays_flow flows[DELAYS_FLOWS_MAX];
    size_t flow_count;
    size_t latest_column;
};

/* Bins of DELAYS_BIN end with the run, and stay open for window (taps_window). unloaded: the
 * delay of the empty path, by the run's certificate; NS_NEVER: not known, then the
 * smallest delay of the run stands for it. */
void delays_init(struct delays *l, const struct window_set *set, ns_t window, ns_t unloaded);
void delays_fini(struct delays *l);
/* An RTP packet that was delivered or lost, in the order of media.h. */
void delays_media(struct delays *l, const struct media_packet *p);
/* A packet sender to receiver. */
void delays_packet(struct delays *l, const struct run_packet *p);
/* Of RECORD_RTT; of other kinds nothing. */
void delays_row(struct delays *l, const struct run_row *row);
/* Adds to a distribution what delays_packet adds to queue, and makes of that, after the last one,
 * what delays_finish makes of queue. */
void delays_add_queue(const struct delays *l, struct dist *queue, const struct run_packet *p);
int delays_finish_queue(const struct delays *l, struct dist *queue);
/* After the last of all. Returns 0 or ERR_NOMEM. */
int delays_finish(struct delays *l);
void delays_put(const struct delays *l, const struct windows *w, struct metric_set *out);

#endif
