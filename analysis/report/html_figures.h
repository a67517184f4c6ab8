/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Figures in report.html, with what they show and links to their files. */
#ifndef ANALYSIS_REPORT_HTML_FIGURES_H
#define ANALYSIS_REPORT_HTML_FIGURES_H

#include "analysis/report/figures.h"
#include "analysis/report/plan.h"

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

/* The figures of all kinds from one to another, that one excluded, as far as there are any: inside
 * the page, or beside it when every cell of a large plan is drawn. number is that of the cell or
 * pair. */
void html_figures_put(FILE *f, const struct plan_results *p, const json_t *summary,
                      enum figure from, enum figure to, size_t number);

#endif
