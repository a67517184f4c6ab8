/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of several flows on one path; nothing for a plan without. */
#ifndef ANALYSIS_REPORT_TERMINAL_FLOWS_H
#define ANALYSIS_REPORT_TERMINAL_FLOWS_H

#include "analysis/report/plan.h"

#include <jansson.h>
#include <stdio.h>

/* Cells beyond so many are only in report.html. */
#define TERMINAL_FLOWS_CELLS_MAX 6

void terminal_flows_print(FILE *out, const struct plan_results *p, const json_t *summary);

#endif
