/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A call's audio beside its video: audio_owd_ms (RFC 7679), audio_app_owd_ms, audio_loss_ratio (RFC
 * 7680), in the window whole. Nothing of a call without audio. */
#ifndef ANALYSIS_METRICS_AUDIO_H
#define ANALYSIS_METRICS_AUDIO_H

#include "analysis/ingest/run_stream.h"
#include "analysis/metrics/media.h"
#include "analysis/metrics/metric_set.h"
#include "analysis/metrics/window.h"

struct audio {
    struct media packets; /* what waits; its visitor is this */
    struct media_visitor visitor;
    ns_t last; /* packets sent from then on may be under way when the run stops */
    struct windows whole;
    struct dist owd, app_owd;
    size_t sent, lost;
};

/* *a stays where it is. window: how long a packet may take (taps_window). */
void audio_init(struct audio *a, const struct windows *w, ns_t window);
void audio_fini(struct audio *a);
/* Of RECORD_AUDIO_SENT and RECORD_AUDIO_RECEIVED; of other kinds nothing. Returns 0 or ERR_NOMEM.
 */
int audio_row(struct audio *a, const struct run_row *row);
/* After the last. Returns 0 or ERR_NOMEM. */
int audio_put(struct audio *a, struct metric_set *out);

#endif
