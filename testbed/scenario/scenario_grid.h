/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The grid of a scenario file: the keys that vary and the values they take. */
#ifndef TESTBED_SCENARIO_SCENARIO_GRID_H
#define TESTBED_SCENARIO_SCENARIO_GRID_H

#include "testbed/scenario/scenario_read.h"

#include <libfyaml.h>

/* Reads the value of the key grid, which stands at key_at, into f->axes. Returns 0, also after
 * errors, or ERR_NOMEM. */
int scenario_grid_read(struct scenario_file *f, struct fy_node *node, struct scenario_source key_at,
                       struct scenario_errors *errors);
/* Reads one value of a key into *s, and as it is written into text[SCENARIO_VALUE_MAX]. Returns
 * false after an error. */
bool scenario_grid_read_value(const struct scenario_key *k, struct fy_node *node,
                              struct scenario_source at, struct scenario *s, char *text,
                              struct scenario_errors *errors);
void scenario_axis_fini(struct scenario_axis *axis);
/* Leaves the axis with one value, so that cells keep naming it. Returns 0 or ERR_NOMEM. */
int scenario_axis_replace(struct scenario_axis *axis, const char *value, struct scenario_source at);

#endif
