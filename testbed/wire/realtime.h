/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The testbed's own view of time, and how its processes get to run on time. */
#ifndef TESTBED_WIRE_REALTIME_H
#define TESTBED_WIRE_REALTIME_H

#include "agents/base/ns.h"

#include <stdbool.h>
#include <time.h>

struct msghdr;

/* The wire goes before the agents, and both before everything else. */
enum { REALTIME_AGENT = 20, REALTIME_WIRE = 50 };

ns_t realtime_mono(void); /* CLOCK_MONOTONIC */
ns_t realtime_wall(void); /* CLOCK_REALTIME: ns since 1970 */
/* Wall clock minus monotonic clock, from the tightest of several readings. */
ns_t realtime_wall_offset(void);
struct timespec realtime_timespec(ns_t t);
/* The kernel's receive stamp of a packet (SO_TIMESTAMPNS), of the wall clock; NS_NEVER without. */
ns_t realtime_stamp(struct msghdr *h);
/* Gives the calling process SCHED_FIFO at priority (1..99), inherited across exec; false when the
 * system does not allow it. A process that spins for seconds is killed rather than hold a CPU. */
bool realtime_schedule(int priority);
/* Keeps all memory resident and timers exact, as far as allowed. */
void realtime_settle(void);

#endif
