/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The terminal's table of cells whose traffic is that of any two programs (stack exec). */
#ifndef ANALYSIS_REPORT_TERMINAL_TRAFFIC_H
#define ANALYSIS_REPORT_TERMINAL_TRAFFIC_H

#include "analysis/report/plan.h"

#include <jansson.h>
#include <stdio.h>

/* Prints nothing when there is no such cell. */
void terminal_traffic_print(FILE *out, const struct plan_results *p, const json_t *summary);

#endif
