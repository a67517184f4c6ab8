/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report.html: what ran, whether to trust it, the key numbers, the plots, what every number means.
 * One file without outside resources; figures are inside it while they are few, else beside it. */
#ifndef ANALYSIS_REPORT_HTML_H
#define ANALYSIS_REPORT_HTML_H

#include "analysis/ingest/fault.h"
#include "analysis/report/plan.h"

#include <jansson.h>

/* Returns 0 or ERR_OS with *f filled. */
int html_write(const struct plan_results *p, const json_t *summary, struct fault *f);

#endif
