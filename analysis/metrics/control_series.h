/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the sender's rate control saw and did, for figures: why a call has the rate it has. One CSV
 * file in the run folder, only if the sender recorded any; empty cells mean "no sample":
 *
 *   series.control.csv  t_s (middle of a 0.1 s bin); means over the bin of target_bps,
 *                       delay_based_bps and acked_bps; signal and threshold of the overuse
 *                       detector, both as multiples of the threshold at the start: of the signal
 *                       the sample farthest from zero, of the threshold the mean
 *
 * As multiples, since each preset measures in a unit of its own (agents/cc/README.md). */
#ifndef ANALYSIS_METRICS_CONTROL_SERIES_H
#define ANALYSIS_METRICS_CONTROL_SERIES_H

#include "agents/base/ns.h"
#include "analysis/ingest/run_stream.h"

#include <stdbool.h>
#include <stddef.h>

#define CONTROL_SERIES_BIN (NS_PER_S / 10)
#define CONTROL_SERIES_MEANS 4

struct control_bin {
    double sum[CONTROL_SERIES_MEANS];
    size_t count[CONTROL_SERIES_MEANS];
    double signal;
    size_t signals;
};

struct control_series {
    struct control_bin *bins;
    size_t count;
    double unit; /* the first threshold; NAN: none yet */
    bool any;    /* there was a signal */
    size_t columns[CONTROL_SERIES_MEANS], trend;
};

/* Of whole bins within [0, end). Returns 0 or ERR_NOMEM. */
int control_series_init(struct control_series *c, ns_t end);
void control_series_fini(struct control_series *c);
/* Of the sender's RECORD_RATE; of other kinds nothing. */
void control_series_row(struct control_series *c, const struct run_row *row);
/* Returns 0 (also when there is nothing to write) or ERR_OS (errno). */
int control_series_write(const struct control_series *c, const char *dir);

#endif
