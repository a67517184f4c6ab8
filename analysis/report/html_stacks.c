/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/html_stacks.h"

#include "analysis/report/difference.h"
#include "analysis/report/html_text.h"
#include "analysis/report/statistics.h"

#include <math.h>

static void put_head(FILE *f, const struct plan_results *p, const struct plan_result_pair *pair)
{
    const struct plan_result_cell *a = &p->cells[pair->cells[0]], *b = &p->cells[pair->cells[1]];
    const char *first = plan_results_stack(p, pair->cells[0]);
    const char *second = plan_results_stack(p, pair->cells[1]);

    fputs("<h2>", f);
    html_text_put(f, first);
    fputs(" and ", f);
    html_text_put(f, second);
    fputs(" side by side", f);
    if (*pair->label) {
        fputs(": ", f);
        html_text_put(f, pair->label);
    }
    fputs("</h2>\n<div class=\"scroll\"><table class=\"wide\"><tr><th>metric</th><th>", f);
    html_text_put(f, first);
    fputs("</th><th>", f);
    html_text_put(f, second);
    fputs("</th><th>", f);
    html_text_put(f, second);
    fputs(" − ", f);
    html_text_put(f, first);
    fprintf(f,
            "</th><th>95 %% interval</th><th title=\"mean difference over its standard deviation\">"
            "d<sub>z</sub></th></tr>\n<tr><td>valid runs</td><td>%zu of %zu</td><td>%zu "
            "of %zu</td><td></td><td></td><td></td></tr>\n",
            a->runs - a->invalid, a->runs, b->runs - b->invalid, b->runs);
}

static void put_row(FILE *f, const json_t *summary, size_t pair, size_t row)
{
    const struct difference_row *r = &difference_rows[row];
    const struct catalogue_entry *e = catalogue_find(r->metric);
    struct difference_value v = difference_row_get(summary, pair, row);
    char text[DIFFERENCE_TEXT_BYTES];

    if (!difference_has_any(&v)) {
        return;
    }
    fprintf(f, "<tr><td class=\"l\" title=\"%s\">%s%s%s%s</td>", r->metric, r->label,
            *e->unit ? " <span class=\"unit\">" : "", e->unit, *e->unit ? "</span>" : "");
    for (int i = 0; i < 2; i++) {
        if (isfinite(v.means[i])) {
            fprintf(f, "<td>%.*f</td>", e->decimals, v.means[i] * e->scale);
        } else {
            fputs("<td>–</td>", f);
        }
    }
    difference_text(text, v.mean, e);
    fprintf(f, "<td>%s</td>", text);
    difference_interval_text(text, &v, e);
    fprintf(f, "<td>%s</td>", text);
    if (isfinite(v.effect)) {
        fprintf(f, "<td>%+.1f</td></tr>\n", v.effect);
    } else {
        fputs("<td>–</td></tr>\n", f);
    }
}

static void put_run(FILE *f, const struct plan_result_run *run)
{
    fputs("<code>", f);
    html_text_put(f, run->name);
    fputs(run->valid ? "</code>" : "</code> (invalid)", f);
}

static void put_shown(FILE *f, const struct plan_results *p, const struct plan_result_pair *pair)
{
    fputs("<p>The plots show the runs ", f);
    put_run(f, &p->runs[p->cells[pair->cells[0]].shown]);
    fputs(" and ", f);
    put_run(f, &p->runs[p->cells[pair->cells[1]].shown]);
    fputs(".</p>\n", f);
}

void html_stacks_put(FILE *f, const struct plan_results *p, const json_t *summary, size_t pair)
{
    put_head(f, p, &p->pairs[pair]);
    for (size_t i = 0; i < difference_row_count; i++) {
        put_row(f, summary, pair, i);
    }
    fprintf(
        f,
        "</table></div>\n<p>Equal path, flows and seeds; only the stack differs. Means over the "
        "seeds of which both have a valid run (where there is none, of each stack's valid runs); "
        "the interval is that of the mean difference, run "
        "by run: bootstrap of %d resamples, percentile method, from two runs per stack on (with "
        "few it is too narrow); d<sub>z</sub> is Cohen's effect size of it, the mean difference "
        "over the standard deviation of the differences. <i>During</i>, like all rows from "
        "<i>one-way delay "
        "during</i> on, is each stack's own transfer; without one, the whole run. Differences of "
        "all metrics: <code>differences</code> in <a href=\"summary.json\">summary.json</a>.</p>\n",
        STATISTICS_RESAMPLES);
    put_shown(f, p, &p->pairs[pair]);
}
