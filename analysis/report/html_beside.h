/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The section of a report that compares it with another plan of its scenario (agreement.h). */
#ifndef ANALYSIS_REPORT_HTML_BESIDE_H
#define ANALYSIS_REPORT_HTML_BESIDE_H

#include "analysis/report/plan.h"

#include <stdio.h>

/* Nothing when the plan has nothing beside it; why, when the two cannot be compared. */
void html_beside_put(FILE *f, const struct plan_results *p);

#endif
