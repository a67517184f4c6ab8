/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a scenario asks that real namespaces cannot do, or this host's kernel has not: found before
 * anything is made. */
#ifndef TESTBED_RUN_RUN_REAL_H
#define TESTBED_RUN_RUN_REAL_H

#include "agents/base/message.h"
#include "testbed/run/run.h"

/* Whether a real link of the kind can do all of it. Returns 0, or ERR_CONFIG with the key and what
 * is allowed instead. */
int run_real_can(const struct scenario *s, enum run_link link, struct message *m);
/* Whether this kernel has the TCP congestion controls that any run of a plan asks for, and on links
 * of kind netem its queue disciplines, tried in a process and a namespace of its own. Returns 0, or
 * ERR_OS with the cause, which names the first that is not there. */
int run_real_kernel(const struct plan *plan, enum run_link link, struct message *m);
/* Whether this host has the programs of others that any run of a plan needs. Returns 0, or ERR_OS
 * with the cause. */
int run_real_programs(const struct plan *plan, struct message *m);

#endif
