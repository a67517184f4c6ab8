/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A plan's folder to everything a reader wants of it: summary.json, summary.csv, plots/,
 * report.html, and the table on the terminal. */
#ifndef ANALYSIS_REPORT_REPORT_H
#define ANALYSIS_REPORT_REPORT_H

#include "analysis/ingest/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct report_options {
    bool json;             /* out gets summary.json instead of the table */
    bool quiet;            /* out gets nothing */
    bool again;            /* reduce every run, also those that have been */
    const char *beside;    /* folder of a plan of the same scenario to compare with; NULL: none */
    bool all_figures;      /* draw every cell over time, however many there are */
    const char *templates; /* folder of the plots' templates; NULL: no plots */
};

/* Returns how many runs are invalid (they are named in the report), or a negative code with *f
 * filled. Without gnuplot everything but the plots is written before it fails. *unmet is how many
 * of the plan's expectations do not hold, and of its metrics are outside their bands beside the
 * other plan (agreement.h). */
int report_make(const char *dir, const struct report_options *o, FILE *out, size_t *unmet,
                struct fault *f);

#endif
