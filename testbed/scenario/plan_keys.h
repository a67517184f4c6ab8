/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keys that are given to what no cell has: a flow, a part, a stack. */
#ifndef TESTBED_SCENARIO_PLAN_KEYS_H
#define TESTBED_SCENARIO_PLAN_KEYS_H

#include "testbed/scenario/plan_builder.h"

/* Reports data flows without a size: neither in their own mapping nor by the grid or an option. */
void plan_keys_check_sizes(struct plan_builder *b);
/* Notes what one cell has, once it is finished, and reports keys that its setting gives to a flow
 * it does not have. */
void plan_keys_note_cell(struct plan_builder *b, const struct scenario *s);
/* Once all cells are noted: reports keys that the file, options or the grid give to a flow, a part
 * or a stack that no cell has. */
void plan_keys_check(struct plan_builder *b);

#endif
