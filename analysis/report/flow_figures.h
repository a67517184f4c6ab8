/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The figure of a run with several flows, or with a capacity that changes: rates of all flows with
 * the capacity, one-way delay and loss in stacked panels on one time axis, a point per second (RFC
 * 8868 section 3). Of each cell's plotted run it is plots/RUN-flows.svg, .pdf and .csv, as those of
 * figures.h, and drawn by the same script. */
#ifndef ANALYSIS_REPORT_FLOW_FIGURES_H
#define ANALYSIS_REPORT_FLOW_FIGURES_H

#include "analysis/ingest/fault.h"
#include "analysis/report/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Cells beyond so many have none, unless all figures are asked for. */
#define FLOW_FIGURES_CELLS_MAX 200
/* Beyond so many they are beside the page, not in it. */
#define FLOW_FIGURES_INSIDE_MAX 12

/* Whether the cell has such a figure. */
bool flow_figures_wanted(const struct plan_results *p, size_t cell);
/* The part of plots.gp that draws them. */
void flow_figures_put_script(FILE *f, const struct plan_results *p);
/* Their data. Returns 0, or ERR_OS or ERR_MALFORMED with *fault filled. */
int flow_figures_write(const struct plan_results *p, struct fault *fault);
/* That of a cell as an image in a page; nothing when it has none. */
void flow_figures_put_html(FILE *f, const struct plan_results *p, size_t cell);

#endif
