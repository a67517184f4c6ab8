/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of a run that metrics are given for. whole: run time 0 to the end of the run. during:
 * first file byte sent to last file byte received (to the end of the run, or of an endless flow,
 * when that never came); without data, the event of the path if it has one. before and after: what
 * is left on both sides, if it lasts at least WINDOW_MIN. A window holds times t with start <= t <
 * end. */
#ifndef ANALYSIS_METRICS_WINDOW_H
#define ANALYSIS_METRICS_WINDOW_H

#include "agents/base/ns.h"
#include "analysis/ingest/run_data.h"
#include "analysis/metrics/dist.h"

#include <stdbool.h>

#define WINDOW_MIN NS_PER_S

enum window_id { WINDOW_WHOLE, WINDOW_BEFORE, WINDOW_DURING, WINDOW_AFTER, WINDOWS };

struct window {
    bool exists;
    ns_t start, end;
};

struct windows {
    struct window at[WINDOWS];
    /* The transfer of the first data flow, on this channel; NS_NEVER: it did not begin, it did not
     * end. Others are traffic like any. */
    int64_t channel;
    ns_t transfer_start, transfer_end;
};

extern const char *const window_names[WINDOWS];

/* Those of a run, and behind them the steps of its capacity (steps.h): all for which anything is
 * summed up while the run is read. */
#define WINDOW_SET_MAX (WINDOWS + 16)

struct window_set {
    struct window at[WINDOW_SET_MAX];
    size_t count;
};

/* By the manifest and the tables; of a run whose duration nobody knows it lasts to d's last packet
 * sent. */
void windows_init(struct windows *w, const struct run_data *d);
double window_seconds(const struct window *w);
bool window_holds(const struct window *w, ns_t t);
/* Bounds a distribution to DIST_KEPT samples and the windows that exist. */
void window_set_bound(const struct window_set *s, struct dist *d);

#endif
