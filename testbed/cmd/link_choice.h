/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which kind of link a plan runs on: what the user asked for, or the first that works here. */
#ifndef TESTBED_CMD_LINK_CHOICE_H
#define TESTBED_CMD_LINK_CHOICE_H

#include "agents/base/message.h"
#include "testbed/run/run.h"

#include <stdbool.h>

struct link_choice {
    enum run_link link;
    char why[600]; /* one line for the manifest */
};

/* wanted is "auto", "netem", "wire" or "sim". Returns 0 or an exit code, having said on standard
 * error what is missing. */
int link_choice_make(struct link_choice *c, const char *wanted, const struct plan *plan);
/* Whether wanted is a kind of link that every run can do, whatever the host ("auto": whatever there
 * is). Returns 0, or an exit code, having said why not. */
int link_choice_check(const char *wanted, const struct plan *plan);
/* "auto", "netem", "wire" or "sim"? */
bool link_choice_is_kind(const char *wanted);
const char *link_choice_name(enum run_link link);
/* Whether a link of the kind can do what every run asks, whatever the host; *m says what not. */
bool link_choice_can(enum run_link link, const struct plan *plan, struct message *m);

#endif
