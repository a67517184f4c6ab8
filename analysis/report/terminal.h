/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The compact tables a run ends with: one line per cell, and few pairs of cells that differ in
 * their stack alone side by side (a plan that is one such pair only so). At most 100 columns, plain
 * text. */
#ifndef ANALYSIS_REPORT_TERMINAL_H
#define ANALYSIS_REPORT_TERMINAL_H

#include "analysis/report/plan.h"

#include <jansson.h>
#include <stdio.h>

void terminal_print(FILE *out, const struct plan_results *p, const json_t *summary);

#endif
