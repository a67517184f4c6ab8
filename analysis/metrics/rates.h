/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How much went through: media_throughput_bps, media_goodput_bps (RFC 8868 section 3),
 * link_utilisation_ratio, feedback_overhead_ratio, target_rate_bps, ramp_up_s and the first ten
 * seconds after the transfer, media_after_1s_bps to media_after_10s_bps. Received bytes belong to
 * the moment they were captured at the receiver. */
#ifndef ANALYSIS_METRICS_RATES_H
#define ANALYSIS_METRICS_RATES_H

#include "analysis/ingest/run_stream.h"
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

/* A target of the rate control: it holds until the next. */
struct rates_span {
    ns_t from, until;
    double bps;
};

/* What is remembered from target to target. */
struct rates_targets {
    ns_t since;
    int64_t bps;
    bool begun;
};

struct rates {
    const struct run_data *d;
    const struct windows *w;
    const struct window_set *set;
    double media[WINDOW_SET_MAX], link[WINDOW_SET_MAX];   /* bytes that arrived */
    double forward[WINDOW_SET_MAX], back[WINDOW_SET_MAX]; /* bytes sent */
    double delivered[WINDOW_SET_MAX];
    double after[RATES_AFTER_SECONDS];
    struct rates_targets targets;
    struct dist target;         /* time-weighted */
    struct metric_time ramp_up; /* NAN until a target has been told */
    size_t target_column;
};

/* The time from the last target on, up to a row's time (NS_NEVER: none begins there). Returns
 * whether there is one. */
bool rates_targets_next(struct rates_targets *t, ns_t at, int64_t bps, struct rates_span *out);

/* Borrows all three. */
void rates_init(struct rates *r, const struct run_data *d, const struct windows *w,
                const struct window_set *set);
void rates_fini(struct rates *r);
void rates_packet(struct rates *r, bool reverse, const struct run_packet *p);
/* An RTP packet that was delivered. */
void rates_media(struct rates *r, const struct media_packet *p);
/* Of RECORD_RATE; of other kinds nothing. */
void rates_row(struct rates *r, const struct run_row *row);
/* After the last of all. Returns 0 or ERR_NOMEM. */
int rates_finish(struct rates *r);
void rates_put(const struct rates *r, struct metric_set *out);
/* Of one of the set's windows, as the window whole; without what only a run has. */
void rates_put_step(const struct rates *r, size_t window, struct metric_set *out);

#endif
