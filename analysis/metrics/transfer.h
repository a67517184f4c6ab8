/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The data flow and the connection: file_time_s, file_time_ratio, file_goodput_bps, setup_time_ms.
 */
#ifndef ANALYSIS_METRICS_TRANSFER_H
#define ANALYSIS_METRICS_TRANSFER_H

#include "analysis/ingest/run_stream.h"
#include "analysis/metrics/metric_set.h"
#include "analysis/metrics/window.h"

struct transfer {
    const struct run_data *d;
    const struct windows *w;
    struct run_packet full; /* the first of those with most data and nothing else */
    double message_bytes;   /* delivered in the window during */
    size_t bytes_column, channel_column;
};

/* Borrows both. */
void transfer_init(struct transfer *t, const struct run_data *d, const struct windows *w);
/* A packet sender to receiver. */
void transfer_packet(struct transfer *t, const struct run_packet *p);
/* Of RECORD_MESSAGE_RECEIVED; of other kinds nothing. */
void transfer_row(struct transfer *t, const struct run_row *row);
void transfer_put(const struct transfer *t, struct metric_set *out);

#endif
