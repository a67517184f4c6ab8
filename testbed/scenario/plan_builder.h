/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A plan while it is made of a scenario file and options, for the sources that make it. */
#ifndef TESTBED_SCENARIO_PLAN_BUILDER_H
#define TESTBED_SCENARIO_PLAN_BUILDER_H

#include "testbed/scenario/plan_rates.h"
#include "testbed/scenario/plan_trace.h"
#include "testbed/scenario/scenario_parts.h"
#include "testbed/scenario/scenario_read.h"

/* Groups of keys that are one stack's of calls: quic, webrtc. */
#define PLAN_STACK_GROUPS 2

struct plan_builder {
    struct scenario_file file;
    struct scenario_errors errors;
    char **options; /* texts that error sources borrow, NULL terminated */
    size_t option_count;
    const struct plan_options *opt;
    struct plan *plan;
    const size_t *choice; /* the cell being built: index into the values of each axis */
    const struct scenario_setting *setting; /* and what holds in it */
    /* What any cell has. */
    bool any_media, any_data[AGENT_CHANNELS_MAX], any_part[SCENARIO_PARTS_MAX];
    bool any_stack[PLAN_STACK_GROUPS];
    const char *path; /* of the scenario, when files beside it may be read; NULL: not */
    struct plan_trace *traces;
    struct plan_rates *rates;
    struct scenario_source aqm; /* of the first cell that has a discipline */
    bool any_aqm;
    bool no_memory;
};

/* The axis of the grid that varies the key, its number in *at; NULL: none. */
const struct scenario_axis *plan_builder_axis(const struct plan_builder *b, const char *key,
                                              size_t *at);
/* Whether somebody gave the key a value, and where. */
bool plan_builder_given(const struct plan_builder *b, const char *key, struct scenario_source *at);
/* Reports what is wrong with a key, as scenario_check_report; ctx is the builder. Nothing when the
 * key or the other one had no good value, which has been reported. */
void plan_builder_report(void *ctx, const char *key, const char *other, const char *message);
/* Whether an option gives a key of the scenario a value: what the file says of others may then be
 * of no use, and no mistake. Repetitions and seed do not count. */
bool plan_builder_altered(const struct scenario_file *f);

#endif
