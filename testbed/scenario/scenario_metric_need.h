/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which metrics the runs of a scenario can have at all: none of a flow that is not there. */
#ifndef TESTBED_SCENARIO_SCENARIO_METRIC_NEED_H
#define TESTBED_SCENARIO_SCENARIO_METRIC_NEED_H

#include "testbed/scenario/scenario.h"

/* What the scenario lacks for a metric, as an expectation names it, in a window: "no audio
 * (audio.rate)"; NULL: nothing that one could tell beforehand. static. */
const char *scenario_metric_lacks(const struct scenario *s, const char *metric, const char *window);

#endif
