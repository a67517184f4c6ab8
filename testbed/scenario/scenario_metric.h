/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The names of metrics that expectations may speak of. analysis/METRICS.md defines them; a test
 * holds both lists together. */
#ifndef TESTBED_SCENARIO_SCENARIO_METRIC_H
#define TESTBED_SCENARIO_SCENARIO_METRIC_H

#include "agents/base/quantity.h"

#include <stdbool.h>
#include <stddef.h>

#define SCENARIO_METRIC_NAME_MAX 64

/* Whose a metric can be, which shows before its name: a call's has none, or "call2." to "call5.";
 * other traffic's has "tcp.", "short_tcp.", "udp." and their like. */
enum scenario_metric_whose {
    SCENARIO_METRIC_OF_CALL,
    SCENARIO_METRIC_OF_TRAFFIC,
    SCENARIO_METRIC_OF_ANY_FLOW, /* either */
    SCENARIO_METRIC_OF_RUN,      /* no prefix */
};

struct scenario_metric {
    const char *name;   /* without the suffix of a statistic; its end names the unit */
    bool distribution;  /* has _mean _sd _p50 _p95 _p99 _max behind the name */
    const char *window; /* the only one it exists in; NULL: all of them */
    enum scenario_metric_whose whose;
    bool stepped; /* also with "step0_", "step1_" … before it, after a flow's prefix: then in the
                   * window whole alone */
};

extern const size_t scenario_metric_count;

/* The row of a metric as an expectation names it, so with a statistic exactly when it is a
 * distribution, and with what may stand before it; NULL when there is none. */
const struct scenario_metric *scenario_metric_find(const char *text);
/* The only window in which the metric of that name exists; NULL: all of them. */
const char *scenario_metric_window(const struct scenario_metric *m, const char *text);
/* Whether it names a distribution without saying which statistic of it. */
bool scenario_metric_is_distribution(const char *text);
/* Writes the name that a misspelt one was probably meant to be to name[SCENARIO_METRIC_NAME_MAX];
 * returns whether one is near. */
bool scenario_metric_nearest(const char *text, char *name);
/* What its values are written as in a scenario. */
enum quantity_kind scenario_metric_kind(const struct scenario_metric *m);
/* A quantity of that kind (base units of agents/base/quantity.h) in the metric's own unit: bit/s,
 * ms, s or 1. */
double scenario_metric_value(const struct scenario_metric *m, int64_t quantity);

#endif
