/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the certificates of a plan's runs say together: how far the links were from what was asked,
 * at worst, over all runs and both directions. */
#ifndef ANALYSIS_REPORT_CERTIFICATES_H
#define ANALYSIS_REPORT_CERTIFICATES_H

#include "analysis/report/plan.h"

#include <stddef.h>
#include <stdio.h>

struct certificates {
    size_t runs, certified, held;
    /* The worst of all that were measured, NAN: none was. Signed: measured beyond what is asked. */
    double delay_ms; /* the median's distance from what is asked, or from the nearer end of it */
    double delay_p99_ms;
    double rate_ratio, train_ratio, queue_ms;
};

void certificates_sum(struct certificates *c, const struct plan_results *p);
/* One line for people, without its end. */
void certificates_line(const struct certificates *c, char *out, size_t len);
/* A section of the report, with a row per run and direction. */
void certificates_put_html(FILE *f, const struct plan_results *p);

#endif
