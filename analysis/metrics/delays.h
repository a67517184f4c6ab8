/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How long things took, as distributions: media_owd_ms (RFC 7679), media_app_owd_ms,
 * media_sender_queue_ms, media_frame_spread_ms, media_jitter_ms (RFC 3550 section 6.4.1 and A.8),
 * media_pdv_ms (RFC 3393, in the form of RFC 5481 section 4.2: against the smallest delay),
 * queue_delay_ms, rtt_ms. A sample belongs to the moment its packet was sent; jitter to the moment
 * of arrival, rtt to the moment of the acknowledgement. */
#ifndef ANALYSIS_METRICS_DELAYS_H
#define ANALYSIS_METRICS_DELAYS_H

#include "analysis/ingest/run_data.h"
#include "analysis/metrics/dist.h"
#include "analysis/metrics/media.h"
#include "analysis/metrics/metric_set.h"
#include "analysis/metrics/window.h"

/* All in ms, all sorted. */
struct delays {
    struct dist owd, app_owd, sender_queue, frame_spread, jitter, pdv, queue, rtt;
};

/* unloaded: the delay of the empty path, by the run's certificate; NS_NEVER: not known, then the
 * smallest delay of the run stands for it. Returns 0 or ERR_NOMEM. */
int delays_init(struct delays *l, const struct run_data *d, const struct media *m, ns_t unloaded);
void delays_fini(struct delays *l);
void delays_put(const struct delays *l, const struct windows *w, struct metric_set *out);

#endif
