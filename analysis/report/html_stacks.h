/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of the report that shows two cells side by side that differ in their stack alone. */
#ifndef ANALYSIS_REPORT_HTML_STACKS_H
#define ANALYSIS_REPORT_HTML_STACKS_H

#include "analysis/report/plan.h"

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

/* Heading, table and what it means; the figures come after it. */
void html_stacks_put(FILE *f, const struct plan_results *p, const json_t *summary, size_t pair);

#endif
