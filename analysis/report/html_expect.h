/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of report.html about the scenario's expectations, as they were judged; nothing without
 * any. */
#ifndef ANALYSIS_REPORT_HTML_EXPECT_H
#define ANALYSIS_REPORT_HTML_EXPECT_H

#include <jansson.h>
#include <stdio.h>

void html_expect_put(FILE *f, const json_t *summary);

#endif
