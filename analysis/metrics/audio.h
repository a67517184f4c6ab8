/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A call's audio beside its video: audio_owd_ms (RFC 7679), audio_app_owd_ms, audio_loss_ratio (RFC
 * 7680), in the window whole. Nothing of a call without audio. */
#ifndef ANALYSIS_METRICS_AUDIO_H
#define ANALYSIS_METRICS_AUDIO_H

#include "analysis/ingest/run_data.h"
#include "analysis/metrics/metric_set.h"
#include "analysis/metrics/window.h"

/* Returns 0 or ERR_NOMEM. */
int audio_put(const struct run_data *d, const struct windows *w, struct metric_set *out);

#endif
