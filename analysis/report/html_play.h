/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of report.html about music players; nothing for a plan without. */
#ifndef ANALYSIS_REPORT_HTML_PLAY_H
#define ANALYSIS_REPORT_HTML_PLAY_H

#include "analysis/report/plan.h"

#include <jansson.h>
#include <stdio.h>

void html_play_put(FILE *f, const struct plan_results *p, const json_t *summary);

#endif
