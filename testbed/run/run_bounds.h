/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How long the parts of a run may take, from its scenario alone, so that virtual time and real
 * namespaces end a run by the same rules. */
#ifndef TESTBED_RUN_RUN_BOUNDS_H
#define TESTBED_RUN_RUN_BOUNDS_H

#include "agents/base/ns.h"
#include "testbed/scenario/scenario.h"

#include <stdint.h>

/* Run time by which the sender has ended by itself, whatever the path does: the duration, or the
 * time limit of a file and the linger after it. NS_NEVER when that lies beyond all time. */
ns_t run_bounds_end(const struct scenario *s);
/* Longest a packet that is not lost can be on its way: behind a full queue, then the delay. The
 * receiver hears this much later that the sender has ended. */
ns_t run_bounds_path(const struct scenario *s);
/* Events of the simulator (testbed/sim) that a run of that length may take: far above what any run
 * needs, even one that keeps the path full all the time, and far below patience. */
uint64_t run_bounds_events(const struct scenario *s, ns_t length);

#endif
