/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the viewer lost: media_loss_ratio (RFC 7680: packets sent that never arrive),
 * media_late_ratio, media_freeze_s. */
#ifndef ANALYSIS_METRICS_QUALITY_H
#define ANALYSIS_METRICS_QUALITY_H

#include "analysis/ingest/run_stream.h"
#include "analysis/metrics/media.h"
#include "analysis/metrics/metric_set.h"
#include "analysis/metrics/window.h"

/* Packets and frames of the end of a run may be under way when it stops. */
#define QUALITY_TAIL NS_PER_S

struct quality {
    const struct run_data *d;
    const struct windows *w;
    struct window_set set; /* as far as packets and frames count */
    const struct window_set *whole;
    size_t sent[WINDOW_SET_MAX], lost[WINDOW_SET_MAX];
    size_t frames[WINDOW_SET_MAX], missed[WINDOW_SET_MAX];
    ns_t frozen[WINDOW_SET_MAX];
    size_t complete_column, late_column, duration_column;
};

/* Borrows all three. */
void quality_init(struct quality *q, const struct run_data *d, const struct windows *w,
                  const struct window_set *set);
/* An RTP packet that was delivered or lost. */
void quality_media(struct quality *q, const struct media_packet *p);
/* Of RECORD_FRAME_RECEIVED and RECORD_FREEZE; of other kinds nothing. */
void quality_row(struct quality *q, const struct run_row *row);
void quality_put(const struct quality *q, struct metric_set *out);
/* Of one of the set's windows, as the window whole. */
void quality_put_step(const struct quality *q, size_t window, struct metric_set *out);

#endif
