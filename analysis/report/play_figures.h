/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Figures of comparisons of music players: distributions of latency and bandwidth, a time line
 * through an event of the path, and what lay ready in one player. Each is plots/NAME-N.svg, .pdf
 * and .csv for comparison N (from 1), as those of figures.h, and drawn by the same script. */
#ifndef ANALYSIS_REPORT_PLAY_FIGURES_H
#define ANALYSIS_REPORT_PLAY_FIGURES_H

#include "analysis/ingest/fault.h"
#include "analysis/report/plan.h"

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

/* The part of plots.gp that draws them. */
void play_figures_put_script(FILE *f, const struct plan_results *p, const json_t *summary);
/* Their data. Returns 0, or ERR_OS or ERR_NOMEM with *fault filled. */
int play_figures_write(const struct plan_results *p, const json_t *summary, struct fault *fault);
/* Those of one comparison, number from 0, as images in a page. */
void play_figures_put_html(FILE *f, const struct plan_results *p, const json_t *comparison,
                           size_t number);

#endif
