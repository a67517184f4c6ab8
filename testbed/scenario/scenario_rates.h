/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The values of path.rate and the like: one rate, steps of it, or a file.
 *
 *     rate: 5mbit
 *     rate: [[0s, 5mbit], [30s, 1mbit], [60s, 5mbit]]
 *     rate: {trace: traces/train.csv}
 *     rate: {trace: traces/lte.mahi, step: 200ms}
 *
 * Files have the forms of rate_trace.h; step is the time in which delivery opportunities are
 * counted. The same texts are values of --set and of a grid. */
#ifndef TESTBED_SCENARIO_SCENARIO_RATES_H
#define TESTBED_SCENARIO_SCENARIO_RATES_H

#include "testbed/scenario/scenario.h"
#include "testbed/scenario/scenario_errors.h"
#include "testbed/scenario/scenario_keys.h"

#include <stdbool.h>

struct fy_node;

/* What such a key may be, for messages. */
#define SCENARIO_RATES_ALLOWED "a rate, [[0s, 5mbit], [30s, 1mbit]], {trace: FILE}"
/* Makes the rate constant; NS_NEVER: there is none. */
void scenario_rates_set_constant(struct scenario_rates *r, bps_t rate);
/* Whether there is any rate. */
bool scenario_rates_given(const struct scenario_rates *r);
/* The rate over time, borrowed; a constant rate is one step, for which *one is the room. */
struct rate_schedule scenario_rates_schedule(const struct scenario_rates *r, struct rate_step *one);
/* Reads a list or a mapping at that place into the field of the key, which is of type RATES.
 * Reports what is wrong with it and returns false then, with *s as it was. */
bool scenario_rates_read(struct scenario *s, const struct scenario_key *k, struct fy_node *node,
                         struct scenario_source at, struct scenario_errors *errors);
/* Reads a list or mapping from text. Returns 0, or ERR_CONFIG with one line in message[len] and *s
 * as it was. */
int scenario_rates_set(struct scenario *s, const struct scenario_key *k, const char *text,
                       char *message, size_t len);
/* Whether text is meant to be a list or a mapping. */
bool scenario_rates_is_text(const char *text);
/* Writes the value as scenario_rates_set or quantity_parse reads it to text[SCENARIO_VALUE_MAX],
 * and returns text. There must be a rate. */
char *scenario_rates_print(const struct scenario_rates *r, char *text);

#endif
