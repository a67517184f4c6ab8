/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/html_value.h"

#include <math.h>

void html_value_put(FILE *f, struct summary_value v, const struct catalogue_entry *e)
{
    if (!e || !summary_exists(&v)) {
        fputs("<td>–</td>", f);
        return;
    }
    if (v.never) {
        fprintf(f, "<td>not within %.*f", e->decimals, v.waited_s * e->scale);
        if (v.n) {
            fprintf(f, " <span class=\"ci\">in %zu of %zu runs</span>", v.never, v.n + v.never);
        }
        fputs("</td>", f);
        return;
    }
    fprintf(f, "<td>%.*f", e->decimals, v.mean * e->scale);
    if (isfinite(v.ci_hi)) {
        fprintf(f, " <span class=\"ci\">± %.*f</span>", e->decimals, summary_half(&v) * e->scale);
    }
    fputs("</td>", f);
}
