/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The files of rates that the runs of a plan need, each read once. */
#ifndef TESTBED_SCENARIO_PLAN_RATES_H
#define TESTBED_SCENARIO_PLAN_RATES_H

#include "testbed/scenario/scenario.h"

/* Reads the file s->path_trace, relative to the folder of the file `beside`, unless it has been
 * read before, adds it to *list, which is NULL at first, and makes it the scenario's rate. Returns
 * 0, ERR_NOMEM, or ERR_CONFIG with one line in message[len]. */
int plan_rates_load(struct plan_rates **list, const char *beside, struct scenario *s, char *message,
                    size_t len);
void plan_rates_free(struct plan_rates *list);

#endif
