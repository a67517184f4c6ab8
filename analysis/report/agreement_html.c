/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/agreement_private.h"
#include "analysis/report/catalogue.h"
#include "analysis/report/html_text.h"

#include <math.h>
#include <stdint.h>

static void put_number(FILE *f, const struct catalogue_entry *e, double v)
{
    if (isfinite(v)) {
        fprintf(f, "<td>%.*f</td>", e->decimals + 1, v * e->scale);
    } else {
        fputs("<td>–</td>", f);
    }
}

static void put_row(const struct agreement *a, const struct agreement_row *r, FILE *f)
{
    const struct catalogue_entry *e = catalogue_find(r->metric);

    fprintf(f, "<tr><td class=\"l\">%s</td><td class=\"l\">%s</td>", r->metric, r->window);
    put_number(f, e, r->medians[0]);
    put_number(f, e, r->medians[1]);
    put_number(f, e, r->medians[1] - r->medians[0]);
    put_number(f, e, r->band);
    fprintf(f, "<td class=\"l\">%s</td><td class=\"l\">%s</td></tr>\n", e->unit,
            agreement_verdicts[agreement_judge(r, a->opt->strict)]);
}

static size_t count(const struct agreement *a, size_t cell, enum agreement_verdict v)
{
    size_t n = 0;

    for (size_t i = 0; i < a->count; i++) {
        n += a->rows[i].cell == cell && agreement_judge(&a->rows[i], a->opt->strict) == v;
    }
    return n;
}

static void put_cell(const struct agreement *a, size_t cell, FILE *f)
{
    const struct plan_results *p = a->plans;
    size_t other = agreement_other(a, cell);
    size_t outside = count(a, cell, AGREEMENT_OUTSIDE), open = count(a, cell, AGREEMENT_OPEN);
    size_t inside = count(a, cell, AGREEMENT_INSIDE);

    fprintf(f, "<details%s><summary>", outside ? " open=\"open\"" : "");
    html_text_put(f, p[0].cells[cell].label);
    fprintf(f, ": %zu inside, %zu open, %zu outside (%zu and %zu valid runs)</summary>\n", inside,
            open, outside, p[0].cells[cell].runs - p[0].cells[cell].invalid,
            p[1].cells[other].runs - p[1].cells[other].invalid);
    fputs("<div class=\"scroll\"><table><tr><th class=\"l\">metric</th><th "
          "class=\"l\">window</th><th>",
          f);
    html_text_put(f, p[0].link);
    fputs("</th><th>", f);
    html_text_put(f, p[1].link);
    fputs("</th><th>difference</th><th>band</th><th class=\"l\">unit</th><th></th></tr>\n", f);
    for (size_t i = 0; i < a->count; i++) {
        if (a->rows[i].cell == cell) {
            put_row(a, &a->rows[i], f);
        }
    }
    fputs("</table></div></details>\n", f);
}

void agreement_put_html(const struct agreement *a, FILE *f)
{
    const struct plan_results *p = a->plans;

    fputs("<h2>Beside ", f);
    html_text_put(f, p[0].link);
    fprintf(f,
            "</h2>\n<p class=\"%s\">%zu of %zu metrics are outside their bands, %zu open: "
            "repetitions scatter too much to tell. Medians over the valid repetitions, here on "
            "link <b>",
            a->outside ? "bad" : "ok", a->outside, a->count, a->open);
    html_text_put(f, p[1].link);
    fputs("</b>, beside those in <code>", f);
    html_text_put(f, p[0].dir);
    fputs("</code>.</p>\n", f);
    for (size_t c = 0; c < p[0].cell_count; c++) {
        if (agreement_other(a, c) != SIZE_MAX) {
            put_cell(a, c, f);
        }
    }
}
