/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How much went through: media_throughput_bps, media_goodput_bps (RFC 8868 section 3),
 * link_utilisation_ratio, feedback_overhead_ratio, target_rate_bps, ramp_up_s and the first ten
 * seconds after the transfer, media_after_1s_bps to media_after_10s_bps. Received bytes belong to
 * the moment they were captured at the receiver. */
#ifndef ANALYSIS_METRICS_RATES_H
#define ANALYSIS_METRICS_RATES_H

#include "analysis/ingest/run_data.h"
#include "analysis/metrics/media.h"
#include "analysis/metrics/metric_set.h"
#include "analysis/metrics/window.h"

#define RATES_AFTER_SECONDS 10
/* ramp_up_s: the target has come this near to the path's rate. */
#define RATES_RAMP_UP_RATIO 0.8

/* An IP packet's bytes by what it carried, in proportion to its frame bytes. What is neither RTP
 * nor data (acknowledgements, handshake, padding) is other. */
struct rates_split {
    double media, data, other;
};

struct rates_split rates_split(const struct run_packet *p);
void rates_put(const struct run_data *d, const struct media *m, const struct windows *w,
               struct metric_set *out);
/* Time-weighted targets of the rate control: each holds until the next. Sorted. Returns 0 or
 * ERR_NOMEM. */
int rates_targets(struct dist *out, const struct run_data *d, const struct windows *w);

#endif
