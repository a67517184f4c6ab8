/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What listeners of streamed music got: metrics of the plays of one run, and the plays themselves
 * for statistics over several runs (analysis/report/play_pool.h).
 *
 * A play counts unless the end of the run cut it. Latency and bandwidth belong to the window in
 * which the listener clicked. A stutter belongs to the window in which it began, and is counted
 * against the plays that were on in that window. */
#ifndef ANALYSIS_METRICS_PLAY_H
#define ANALYSIS_METRICS_PLAY_H

#include "analysis/ingest/run_data.h"
#include "analysis/metrics/metric_set.h"
#include "analysis/metrics/window.h"

#include <jansson.h>
#include <stdbool.h>

/* Of the time line. */
#define PLAY_BIN (10 * NS_PER_S)

/* Whether the run had players. */
bool play_here(const struct run_data *d);
/* playback_latency_ms_p50 _p90 _p99, stutters_per_track, stutter_time_s, download_bandwidth_bps_p50
 * _p10 _p01, plays_failed_ratio, in each window that has plays. */
void play_put(const struct run_data *d, const struct windows *w, struct metric_set *out);
/* {"windows":{window:{"plays","failed","cut","on","stutters","stutter_s","latency_ms":[…],
 * "bandwidth_bps":[…]}}, "bins":{"width_s","stutters":[…],"bytes":[…],"download_s":[…]}}; arrays of
 * plays ascend. A new object; NULL when there is no memory. */
json_t *play_document(const struct run_data *d, const struct windows *w);
/* For validity: whether the run was to have players and none of them heard anything, and how many
 * plays its time limit has cut though it was to end with the last of them. */
bool play_missing(const struct run_data *d);
size_t play_unfinished(const struct run_data *d);
/* series.buffer.csv in dir: what lay ready in each player over time. Returns 0 or ERR_OS. */
int play_write_series(const char *dir, const struct run_data *d);

#endif
