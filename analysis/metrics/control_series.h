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
#include "analysis/ingest/table.h"

#define CONTROL_SERIES_BIN (NS_PER_S / 10)

/* rate: the sender's records of kind RECORD_RATE; end: of the run, whole bins of which are written.
 * Returns 0 (also when there is nothing to write), ERR_NOMEM or ERR_OS (errno). */
int control_series_write(const char *dir, const struct table *rate, ns_t end);

#endif
