/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of cells: "stack=quic,path.rate=5mbit", safe as file names and unique within a plan. */
#ifndef TESTBED_SCENARIO_PLAN_NAME_H
#define TESTBED_SCENARIO_PLAN_NAME_H

#include "testbed/scenario/plan.h"

/* Full keys; keys without their group; as much as fits, then the cell's number. */
enum plan_name_form { PLAN_NAME_FULL, PLAN_NAME_SHORT, PLAN_NAME_NUMBERED };

/* The first form in which every cell of the plan has a name of its own that fits. Only the grid's
 * keys and the cells' values need to be in place. */
int plan_name_form(const struct plan *p);
/* Writes a cell's name to out[sizeof(plan_run.cell)]; "all" without a grid. Returns the length it
 * would have without the limit. */
size_t plan_name_cell(char *out, const char *const *keys, const char *const *values, size_t cell,
                      int form);

#endif
