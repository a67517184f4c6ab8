/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the viewer lost: media_loss_ratio (RFC 7680: packets sent that never arrive),
 * media_late_ratio, media_freeze_s. */
#ifndef ANALYSIS_METRICS_QUALITY_H
#define ANALYSIS_METRICS_QUALITY_H

#include "analysis/ingest/run_data.h"
#include "analysis/metrics/media.h"
#include "analysis/metrics/metric_set.h"
#include "analysis/metrics/window.h"

/* Packets and frames of the end of a run may be under way when it stops. */
#define QUALITY_TAIL NS_PER_S

void quality_put(const struct run_data *d, const struct media *m, const struct windows *w,
                 struct metric_set *out);

#endif
