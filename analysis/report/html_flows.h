/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of report.html about several flows on one path: who they were and who played them, what
 * each got, and the figure of all of them. Nothing for a plan without. */
#ifndef ANALYSIS_REPORT_HTML_FLOWS_H
#define ANALYSIS_REPORT_HTML_FLOWS_H

#include "analysis/report/plan.h"

#include <jansson.h>
#include <stdio.h>

void html_flows_put(FILE *f, const struct plan_results *p, const json_t *summary);

#endif
