/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the records of agents say that were run alone, without a testbed around them: no manifest,
 * no captures, and each agent's clock begins at its own start. So there is nothing here that needs
 * two clocks (no one-way delay) or the link's rate. */
#ifndef ANALYSIS_METRICS_LONE_RECORDS_H
#define ANALYSIS_METRICS_LONE_RECORDS_H

#include "analysis/ingest/fault.h"

#include <stdbool.h>
#include <stdio.h>

/* Whether dir holds records of an agent and no manifest. */
bool lone_records_here(const char *dir);
/* Prints a line "NAME VALUE" for each figure, names with their units. Returns 0, or a negative
 * ERR_* code with *f filled: ERR_CONFIG when dir holds no records. Lines cut short by an agent that
 * was killed are left out. */
int lone_records_print(const char *dir, FILE *out, struct fault *f);

#endif
