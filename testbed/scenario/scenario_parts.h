/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts a scenario may do without: further calls, cross traffic, further bottlenecks. Each is a
 * group of keys, one of which makes it: call2.start, tcp.congestion-control, short-tcp.flows,
 * udp.rate, path2.rate. */
#ifndef TESTBED_SCENARIO_SCENARIO_PARTS_H
#define TESTBED_SCENARIO_SCENARIO_PARTS_H

#include "testbed/scenario/scenario_keys.h"

#include <stdbool.h>
#include <stddef.h>

#define SCENARIO_PARTS_MAX 16

size_t scenario_part_count(void);
/* The part's group: "call2". */
const char *scenario_part_group(size_t part);
/* What such a part is called in messages: "further call". */
const char *scenario_part_noun(size_t part);
/* The key that makes it. */
const struct scenario_key *scenario_part_maker(size_t part);
/* Which part a key belongs to, -1 for none. */
int scenario_key_part(const struct scenario_key *k);
/* Whether the scenario has it. */
bool scenario_part_there(const struct scenario *s, size_t part);

#endif
