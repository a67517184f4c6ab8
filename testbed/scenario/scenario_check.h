/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What no single key can tell: values that are each allowed but make no experiment together. */
#ifndef TESTBED_SCENARIO_SCENARIO_CHECK_H
#define TESTBED_SCENARIO_SCENARIO_CHECK_H

#include "testbed/scenario/scenario.h"

/* Receives one finding: the key to blame, another key that takes part (or NULL), and one line. */
typedef void scenario_check_report(void *ctx, const char *key, const char *other,
                                   const char *message);

/* Fills in what follows from other keys: the draining time of a queue given in bytes, and defaults
 * for the keys of a flow that is absent. */
void scenario_finish(struct scenario *s);
/* Reports everything impossible about a finished scenario. "flows" as a key means the flow list. */
void scenario_check(const struct scenario *s, scenario_check_report *report, void *ctx);
/* Keys of a group, or one key, that a stack does nothing with. */
struct scenario_useless {
    const char *group, *name;
};

/* Reports those of them that are not as they are by default, each as "KEY REST". */
void scenario_check_useless(const struct scenario *s, const struct scenario_useless *u,
                            const char *rest, scenario_check_report *report, void *ctx);
/* The part of it about further calls, cross traffic and bottlenecks, and about steps of rates
 * (scenario_check_flows.c). */
void scenario_check_flows(const struct scenario *s, scenario_check_report *report, void *ctx);
/* The part of it about music players and events on the path; flows: whether there are any
 * (scenario_play.c). */
void scenario_check_play(const struct scenario *s, bool flows, scenario_check_report *report,
                         void *ctx);
/* The part of it about the discipline of the bottleneck's queue (scenario_aqm.c). */
void scenario_check_aqm(const struct scenario *s, scenario_check_report *report, void *ctx);
/* The part of it about loss and jitter (scenario_impair.c). */
void scenario_check_impairments(const struct scenario *s, scenario_check_report *report, void *ctx);

#endif
