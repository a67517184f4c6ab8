/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a comparison of two plans has found, for what writes it down. */
#ifndef ANALYSIS_REPORT_AGREEMENT_PRIVATE_H
#define ANALYSIS_REPORT_AGREEMENT_PRIVATE_H

#include "analysis/report/agreement.h"
#include "analysis/report/plan.h"

#define AGREEMENT_METRIC_MAX 64

struct agreement_row {
    size_t cell;
    char metric[AGREEMENT_METRIC_MAX];
    const char *window;
    double medians[2]; /* NAN: not there */
    double band;       /* negative: none */
    double noise;      /* half of the confidence interval of the difference */
};

enum agreement_verdict {
    AGREEMENT_UNJUDGED, /* it has no band */
    AGREEMENT_INSIDE,
    AGREEMENT_OPEN,
    AGREEMENT_OUTSIDE,
};

/* How each is called in a table: "" for what needs no attention. */
extern const char *const agreement_verdicts[];

struct agreement {
    const struct agreement_options *opt;
    struct plan_results plans[2];
    struct agreement_row *rows;
    size_t count, outside, open, unjudged;
};

/* The second plan's cell that has the label of a cell of the first; SIZE_MAX: none. */
size_t agreement_other(const struct agreement *a, size_t cell);
enum agreement_verdict agreement_judge(const struct agreement_row *r, bool strict);
/* Writes a section of the page: a table per cell, folded away where nothing is outside or open. */
void agreement_put_html(const struct agreement *a, FILE *f);

#endif
