/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In which order a plan's runs are made, and which part of them a shard is. Both follow from the
 * plan and its seed alone. */
#ifndef TESTBED_CMD_RUN_ORDER_H
#define TESTBED_CMD_RUN_ORDER_H

#include "testbed/scenario/plan.h"

#include <stdbool.h>

/* A plan of this many runs or fewer is made as it is written. */
#define RUN_ORDER_PLAIN_MAX 2

/* Whether runs are made in an order that is drawn. */
bool run_order_is_drawn(const struct plan *plan);
/* Fills order[plan->run_count] with indexes of runs: repetition by repetition, so that whatever
 * drifts in the host while a sweep lasts, or cuts it short, meets all cells alike; within one
 * repetition in an order drawn with the plan's seed. */
void run_order_make(size_t *order, const struct plan *plan);
/* Keeps of the plan's runs the part `number` (from 1) of `count`: every count-th in the order in
 * which they would be made. Returns 0 or ERR_NOMEM; a part may be empty. */
int run_order_shard(struct plan *plan, int64_t number, int64_t count);

#endif
