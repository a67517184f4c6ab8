/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a scenario asks of the path besides rate and queue, in the terms of testbed/link/impair.h:
 * one source for all kinds of links, so that they agree. */
#ifndef TESTBED_RUN_RUN_PATH_H
#define TESTBED_RUN_RUN_PATH_H

#include "agents/base/message.h"
#include "testbed/link/aqm.h"
#include "testbed/link/impair.h"
#include "testbed/scenario/scenario.h"
#include "testbed/topology/topology.h"

/* Of one direction, with its own seed from that of the run. */
struct impair_config run_path_impair(const struct scenario *s, enum topology_direction d);
/* The discipline of the bottleneck's queue in one direction, likewise; of bottleneck 0, 1, 2 of a
 * line. Its mark is the link's to give. */
struct aqm_config run_path_aqm(const struct scenario *s, enum topology_direction d, int bottleneck);
/* Whether netem, and tbf before it, can do what is asked of every bottleneck in both directions.
 * Returns 0, or ERR_CONFIG with what it cannot and what can. */
int run_path_netem(const struct scenario *s, struct message *m);
/* The same of the models that make the paths of link sim, and with a discipline those of wire. */
int run_path_models(const struct scenario *s, struct message *m);
/* The largest delay of either direction, without any queue. */
ns_t run_path_delay_max(const struct scenario *s);

#endif
