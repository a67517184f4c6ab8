/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list "steps" of a scenario: keys that change while the run is on.
 *
 *     steps:
 *       - {at: 40s, share: 0.8}
 *       - {at: 60s, share: 0.2, media.max-rate: 2mbit}
 */
#ifndef TESTBED_SCENARIO_SCENARIO_STEPS_H
#define TESTBED_SCENARIO_SCENARIO_STEPS_H

#include "testbed/scenario/scenario_read.h"

struct fy_node;

/* Reads the list into f->scenario.steps and the places into f->step_at. Everything wrong with it
 * goes to errors; f->steps_bad then says so. */
void scenario_steps_read(struct scenario_file *f, struct fy_node *node,
                         struct scenario_source key_at, struct scenario_errors *errors);
/* Receives one finding about steps[i] of a scenario. */
typedef void scenario_steps_report(void *ctx, size_t i, const char *message);
/* Reports what only the whole scenario shows: steps beyond the end of the run or without the flow
 * they are about, rates in the wrong order. */
void scenario_steps_check(const struct scenario *s, scenario_steps_report *report, void *ctx);
/* Writes the list as YAML, nothing when there are no steps. */
void scenario_steps_print(const struct scenario *s, FILE *out);

#endif
