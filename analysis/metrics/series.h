/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What plots are drawn from, so that nobody reads the captures twice. Three CSV files in the run
 * folder; empty cells mean "no sample":
 *
 *   series.rate.csv   t_s (middle of a 0.5 s bin), media_bps, data_bps, other_bps (IP bytes that
 *                     arrived), target_bps (mean over the bin)
 *   series.delay.csv  t_s (middle of a 0.1 s bin), then p50, p95, max in ms of media_owd,
 *                     media_app_owd, media_sender_queue, queue_delay
 *   series.cdf.csv    fraction, then for media_owd, media_app_owd and media_sender_queue the
 *                     quantile in ms in each of whole, before, during, after */
#ifndef ANALYSIS_METRICS_SERIES_H
#define ANALYSIS_METRICS_SERIES_H

#include "analysis/ingest/run_stream.h"
#include "analysis/metrics/delays.h"
#include "analysis/metrics/rates.h"
#include "analysis/metrics/window.h"

#define SERIES_RATE_BIN (NS_PER_S / 2)

struct series_rate_bin {
    struct rates_split bytes;
    double target_ns, target_sum;
};

struct series {
    const struct windows *w;
    struct series_rate_bin *bins; /* the whole ones of the run */
    size_t count;
    struct rates_targets targets;
    size_t target_column;
};

/* Borrows w. Returns 0 or ERR_NOMEM. */
int series_init(struct series *s, const struct windows *w);
void series_fini(struct series *s);
/* A packet sender to receiver. */
void series_packet(struct series *s, const struct run_packet *p);
/* Of RECORD_RATE; of other kinds nothing. */
void series_row(struct series *s, const struct run_row *row);
/* Writes what was read, and l. owd: what to draw the distribution of as media_owd, which
 * is media's where there is any. Returns 0, ERR_NOMEM or ERR_OS (errno). */
int series_write(struct series *s, const char *dir, const struct delays *l, const struct dist *owd);

#endif
