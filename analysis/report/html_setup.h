/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of report.html that say what was asked, what was set up to answer it, and how to make
 * it all again. */
#ifndef ANALYSIS_REPORT_HTML_SETUP_H
#define ANALYSIS_REPORT_HTML_SETUP_H

#include "analysis/report/plan.h"

#include <stdio.h>

/* The question, as the scenario describes it, and the set-up: what varies and what does not. */
void html_setup_put(FILE *f, const struct plan_results *p);
/* Commands and versions. */
void html_setup_put_again(FILE *f, const struct plan_results *p);

#endif
