/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The files of rates that the runs of a plan need, each read once. */
#ifndef TESTBED_SCENARIO_PLAN_RATES_H
#define TESTBED_SCENARIO_PLAN_RATES_H

#include "agents/base/message.h"
#include "testbed/scenario/scenario_keys.h"

/* A file of rates that runs use (rate_trace.h). */
struct plan_rates {
    char name[SCENARIO_TEXT_MAX + 1]; /* as in path.rate */
    ns_t step;                        /* likewise */
    bool pauses;                      /* the rate may be 0 */
    char *text;                       /* the whole file */
    size_t text_len;
    struct rate_trace *trace;
    struct plan_rates *next;
};

/* Reads the file that the key (of type RATES) names in *s, relative to the folder of the file
 * `beside`, unless it has been read before, adds it to *list, which is NULL at first, and makes it
 * the scenario's rate. Returns 0, ERR_NOMEM, or ERR_CONFIG with one line in *m. */
int plan_rates_load(struct plan_rates **list, const char *beside, const struct scenario_key *k,
                    struct scenario *s, struct message *m);
void plan_rates_free(struct plan_rates *list);

#endif
