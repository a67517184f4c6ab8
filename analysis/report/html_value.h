/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How the tables of the report show what a cell's runs have of a metric. */
#ifndef ANALYSIS_REPORT_HTML_VALUE_H
#define ANALYSIS_REPORT_HTML_VALUE_H

#include "analysis/report/catalogue.h"
#include "analysis/report/summary.h"

#include <stdio.h>

/* A cell of a table, <td> included: the mean with half its interval, or how many runs waited in
 * vain for a time that never came, or a dash. e is NULL for a metric that is not shown. */
void html_value_put(FILE *f, struct summary_value v, const struct catalogue_entry *e);

#endif
