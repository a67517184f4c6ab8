/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The times between the changes of the capacity, and a call's metrics in each of them. */
#ifndef ANALYSIS_METRICS_STEPS_H
#define ANALYSIS_METRICS_STEPS_H

#include "analysis/metrics/delays.h"
#include "analysis/metrics/flow_set.h"
#include "analysis/metrics/metric_set.h"
#include "analysis/metrics/quality.h"
#include "analysis/metrics/rates.h"
#include "analysis/metrics/window.h"

#define STEPS_MAX 16
#define STEPS_NAME_MAX 80

/* Number 0 is from the run's beginning to the first change. */
struct steps {
    struct window at[STEPS_MAX];
    size_t count; /* 0: the capacity is constant, or changes more often than STEPS_MAX allows */
};

/* Of the direction's capacity as a finished or unfinished set tells it. */
void steps_init(struct steps *s, const struct flow_set *set, bool backward);
/* Writes "step1_NAME". */
const char *steps_name(char out[STEPS_NAME_MAX], size_t step, const char *name);
/* Puts a value under "step1_NAME", window whole. */
void steps_put_value(struct metric_set *out, size_t step, const char *name, double value);
/* Adds them behind the windows of a run. */
void steps_add(const struct steps *s, struct window_set *set);
/* Puts of each step, as "step1_NAME" in the window whole, what a call's metrics of that name are in
 * that time: throughput, goodput, delays, loss, target, feedback. All were summed up with the steps
 * behind the windows of the run. */
int steps_put(const struct steps *s, const struct rates *r, const struct quality *q,
              const struct delays *l, struct metric_set *out);

#endif
