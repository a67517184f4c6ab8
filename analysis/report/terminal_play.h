/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a report's terminal page says of music players; nothing for a plan without. */
#ifndef ANALYSIS_REPORT_TERMINAL_PLAY_H
#define ANALYSIS_REPORT_TERMINAL_PLAY_H

#include "analysis/report/plan.h"

#include <jansson.h>
#include <stdio.h>

void terminal_play_print(FILE *out, const struct plan_results *p, const json_t *summary);

#endif
