/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Quantiles of what belongs to each bin of time, exact, while samples come about in order of time:
 * a bin is open, and has all its samples, until it is older than the window behind the youngest
 * one; then three numbers of it are kept. */
#ifndef ANALYSIS_METRICS_BIN_QUANTILES_H
#define ANALYSIS_METRICS_BIN_QUANTILES_H

#include "agents/base/ns.h"

#include <stdbool.h>
#include <stddef.h>

struct bin_quantiles_row {
    double p50, p95, max; /* by nearest rank; NAN: no sample */
};

struct bin_quantiles_open {
    double *values;
    size_t count, room;
};

struct bin_quantiles {
    struct bin_quantiles_row *rows;
    size_t count;
    bool failed; /* out of memory: samples are missing */
    /* private */
    ns_t width;
    struct bin_quantiles_open *open; /* a ring */
    size_t ring, first;              /* how many may be open, the oldest that is */
};

/* Of whole bins of a width within [0, end). window: how much older than the youngest a sample may
 * be (NS_NEVER: any). When there is no memory the first sample finds out. */
void bin_quantiles_init(struct bin_quantiles *b, ns_t end, ns_t width, ns_t window);
void bin_quantiles_fini(struct bin_quantiles *b);
/* Times outside are no error: what belongs to them is left out, as what is older than the window.
 */
void bin_quantiles_add(struct bin_quantiles *b, ns_t time, double value);
/* After the last one: fills in all rows. Returns 0 or ERR_NOMEM. */
int bin_quantiles_finish(struct bin_quantiles *b);

#endif
