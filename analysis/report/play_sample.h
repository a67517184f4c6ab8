/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The plays of several runs together, in one window: the figures of all, and what resampling whole
 * runs says of how sure they are (play_pool.h). */
#ifndef ANALYSIS_REPORT_PLAY_SAMPLE_H
#define ANALYSIS_REPORT_PLAY_SAMPLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Of each kind of quantile. */
#define PLAY_SAMPLE_QUANTILES 3

/* The figures, as play_pool_metrics has them. */
enum {
    PLAY_SAMPLE_LATENCY, /* three quantiles, ms */
    PLAY_SAMPLE_STUTTERS = PLAY_SAMPLE_LATENCY + PLAY_SAMPLE_QUANTILES,
    PLAY_SAMPLE_STUTTER_TIME, /* s */
    PLAY_SAMPLE_BANDWIDTH,    /* three quantiles, bit/s */
    PLAY_SAMPLE_METRICS = PLAY_SAMPLE_BANDWIDTH + PLAY_SAMPLE_QUANTILES,
};

struct play_item {
    double value;
    size_t run;
};

/* A distribution over several runs, ascending. */
struct play_items {
    struct play_item *at;
    size_t count;
};

struct play_sums {
    double on, stutters, stutter_s, plays, failed, cut;
};

/* The runs, in one window. */
struct play_sample {
    struct play_sums *runs;
    size_t count;
    struct play_items latency, bandwidth;
};

/* Runs are drawn within each stratum, of which there are so many with so many runs. */
struct play_strata {
    const size_t *sizes;
    size_t count;
};

/* The figures of one sample or of two, the relative changes from the first to the second and,
 * behind them, by how much more the slow tenth of the bandwidths gains than the middle; 95 %
 * intervals of the changes, or with one sample of its figures. NAN where there is none. */
struct play_estimate {
    double a[PLAY_SAMPLE_METRICS], b[PLAY_SAMPLE_METRICS], change[PLAY_SAMPLE_METRICS + 1],
        lo[PLAY_SAMPLE_METRICS + 1], hi[PLAY_SAMPLE_METRICS + 1];
};

/* What a run's document (metrics.json) says of its plays in a window; NULL: nothing. */
const json_t *play_sample_share(const json_t *doc, const char *window);
/* Of n runs' documents. Returns whether there was memory; there is nothing to free else. */
bool play_sample_init(struct play_sample *a, json_t *const *docs, size_t n, const char *window);
void play_sample_fini(struct play_sample *a);
/* b may be NULL: one sample. With b, runs at equal places are drawn together. name chooses the
 * random numbers. Returns whether there was memory. */
bool play_sample_estimate(struct play_estimate *e, const struct play_sample *a,
                          const struct play_sample *b, const struct play_strata *s,
                          const char *name);

#endif
