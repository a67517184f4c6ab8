/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/html_outliers.h"

#include "analysis/report/catalogue.h"
#include "analysis/report/difference.h"
#include "analysis/report/html_text.h"
#include "analysis/report/summary.h"

#include <inttypes.h>

static const json_t *outliers_of(const json_t *summary, size_t cell, const struct difference_row *r)
{
    json_t *c = json_array_get(json_object_get(summary, "cells"), cell);
    json_t *windows = json_object_get(json_object_get(c, "metrics"), r->metric);

    return json_object_get(json_object_get(windows, r->window), "outliers");
}

static void put_rows(FILE *f, const struct plan_results *p, const json_t *summary, size_t cell,
                     const struct difference_row *r)
{
    const struct catalogue_entry *e = catalogue_find(r->metric);
    struct summary_value v = summary_get(summary, cell, r->metric, r->window);
    json_t *o;
    size_t i;

    json_array_foreach(outliers_of(summary, cell, r), i, o)
    {
        fputs("<tr><td class=\"l\">", f);
        html_text_put(f, p->cells[cell].label);
        fprintf(f, "</td><td class=\"l\">%s%s%s</td><td>%" JSON_INTEGER_FORMAT "</td>", r->label,
                *e->unit ? ", " : "", e->unit,
                json_integer_value(json_object_get(o, "repetition")));
        fprintf(f, "<td>%.*f</td><td>%.*f</td><td>%.*f to %.*f</td></tr>\n", e->decimals,
                json_number_value(json_object_get(o, "value")) * e->scale, e->decimals,
                v.median * e->scale, e->decimals, v.fence_lo * e->scale, e->decimals,
                v.fence_hi * e->scale);
    }
}

static size_t count(const struct plan_results *p, const json_t *summary)
{
    size_t n = 0;

    for (size_t c = 0; c < p->cell_count; c++) {
        for (size_t i = 0; i < difference_row_count; i++) {
            n += json_array_size(outliers_of(summary, c, &difference_rows[i]));
        }
    }
    return n;
}

void html_outliers_put(FILE *f, const struct plan_results *p, const json_t *summary)
{
    size_t n = count(p, summary);

    if (n == 0) {
        return;
    }
    fprintf(f,
            "<h2>Outliers</h2>\n<details><summary>%zu value%s far from the other repetitions of "
            "the cell</summary>\n<div class=\"scroll\"><table><tr><th>cell</th><th class=\"l\">"
            "metric</th><th>repetition</th><th>value</th><th>median</th><th>fences</th></tr>\n",
            n, n == 1 ? " lies" : "s lie");
    for (size_t c = 0; c < p->cell_count; c++) {
        for (size_t i = 0; i < difference_row_count; i++) {
            put_rows(f, p, summary, c, &difference_rows[i]);
        }
    }
    fputs("</table></div>\n<p>Beyond Tukey's fences: 1.5 times the distance of the quartiles from "
          "them. Outliers are valid and in all means. Those of all metrics: <a "
          "href=\"summary.csv\">summary.csv</a>.</p></details>\n",
          f);
}
