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

#include "analysis/ingest/run_data.h"
#include "analysis/metrics/delays.h"
#include "analysis/metrics/window.h"

#define SERIES_RATE_BIN (NS_PER_S / 2)
#define SERIES_DELAY_BIN (NS_PER_S / 10)

/* Returns 0, ERR_NOMEM or ERR_OS (errno). */
int series_write(const char *dir, const struct run_data *d, const struct delays *l,
                 const struct windows *w);

#endif
