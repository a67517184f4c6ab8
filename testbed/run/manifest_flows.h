/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of a manifest about several flows on one path. Each function returns a new reference,
 * NULL when out of memory. */
#ifndef TESTBED_RUN_MANIFEST_FLOWS_H
#define TESTBED_RUN_MANIFEST_FLOWS_H

#include "testbed/scenario/scenario.h"

#include <jansson.h>

/* What the run's own manifest says beside the first call: {"calls": ["call2", ...], "traffic":
 * [...], "back_rates": [...], "bottlenecks": [...]} and what place the first call has. Of one call
 * alone only the bottlenecks behind the first and that place, where there are any or it has a delay
 * of its own; else its source where the rate changes. kernel: whether its TCP is the kernel's. */
json_t *manifest_others(const struct scenario *s, bool kernel);
/* What the manifest of call n (from 1) says of its place: {"direction": ..., "testbed": "..",
 * "captures": {...}, "priority": ..., "extra_delay_ns": ..., "segments": {...}, "source": {...}}.
 */
json_t *manifest_call(const struct scenario *s, size_t n);

#endif
