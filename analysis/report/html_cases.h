/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of report.html about a plan of test cases, such as those of RFC 8867: a line per case
 * with how many of its expectations are met under each stack, and which are not. A case is a
 * setting of the scenario, or all settings whose names begin with the same number ("5.1a-50ms" and
 * "5.1b-50ms" are variants of 5.1). Nothing for a plan whose setting does not vary, or without
 * expectations. */
#ifndef ANALYSIS_REPORT_HTML_CASES_H
#define ANALYSIS_REPORT_HTML_CASES_H

#include "analysis/report/plan.h"

#include <jansson.h>
#include <stdio.h>

void html_cases_put(FILE *f, const struct plan_results *p, const json_t *summary);

#endif
