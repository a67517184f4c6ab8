/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of report.html that shows which repetitions lie far from the others of their cell. */
#ifndef ANALYSIS_REPORT_HTML_OUTLIERS_H
#define ANALYSIS_REPORT_HTML_OUTLIERS_H

#include "analysis/report/plan.h"

#include <jansson.h>
#include <stdio.h>

/* Outliers of the metrics that stacks are compared by, one row each; nothing without any. */
void html_outliers_put(FILE *f, const struct plan_results *p, const json_t *summary);

#endif
