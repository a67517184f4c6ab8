/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/html_play.h"

#include "analysis/report/catalogue.h"
#include "analysis/report/html_text.h"
#include "analysis/report/play_figures.h"
#include "analysis/report/play_pool.h"
#include "analysis/report/statistics.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static void put_number(FILE *f, double v, const struct catalogue_entry *e)
{
    if (isfinite(v)) {
        fprintf(f, "<td>%.*f</td>", e->decimals, v * e->scale);
    } else {
        fputs("<td>–</td>", f);
    }
}

static void put_row(FILE *f, const json_t *comparison, const char *window, size_t m)
{
    const struct play_pool_metric *metric = &play_pool_metrics[m];
    const struct catalogue_entry *e = catalogue_find(metric->name);
    struct play_pool_change c = play_pool_get(comparison, window, metric->name);

    if (!isfinite(c.a)) {
        return;
    }
    fprintf(f, "<tr><td class=\"l\" title=\"%s\">%s%s%s%s</td>", metric->name, metric->label,
            *e->unit ? " <span class=\"unit\">" : "", e->unit, *e->unit ? "</span>" : "");
    put_number(f, c.a, e);
    put_number(f, c.b, e);
    if (isfinite(c.change)) {
        fprintf(f, "<td>%+.1f %%</td>", c.change * 100);
    } else {
        fputs("<td>–</td>", f);
    }
    if (isfinite(c.lo)) {
        fprintf(f, "<td>%+.1f to %+.1f %%</td></tr>\n", c.lo * 100, c.hi * 100);
    } else {
        fputs("<td>–</td></tr>\n", f);
    }
}

static void put_table(FILE *f, const json_t *comparison, const char *window, const char *title)
{
    if (!json_object_get(json_object_get(comparison, "windows"), window)) {
        return;
    }
    fprintf(f,
            "<div class=\"scroll\"><table class=\"wide\"><tr><th class=\"l\">%s</th><th>cubic</th>"
            "<th>bbr</th><th>change</th><th>95 %% interval</th></tr>\n",
            title);
    for (size_t m = 0; m < play_pool_metric_count; m++) {
        put_row(f, comparison, window, m);
    }
    fputs("</table></div>\n", f);
}

static void put_comparison(FILE *f, const struct plan_results *p, const json_t *comparison,
                           size_t number)
{
    bool event = json_object_get(json_object_get(comparison, "windows"), "during");

    fputs("<h3>", f);
    html_text_put(f, json_string_value(json_object_get(comparison, "label")));
    fputs("</h3>\n", f);
    put_table(f, comparison, "whole", event ? "whole run" : "of all plays");
    put_table(f, comparison, "before", "before the event");
    put_table(f, comparison, "during", "in the event");
    put_table(f, comparison, "after", "after the event");
    play_figures_put_html(f, p, comparison, number);
}

static void put_claims(FILE *f, const json_t *plays)
{
    json_t *list = json_object_get(plays, "claims"), *c;
    static const char *const keys[] = {"claim", "where", "verdict", "detail"};
    size_t i;

    if (!json_array_size(list)) {
        return;
    }
    fputs("<h3>What was published of such a change</h3>\n<div class=\"scroll\"><table "
          "class=\"wide\"><tr><th class=\"l\">claim</th><th class=\"l\">where</th><th "
          "class=\"l\">here</th><th class=\"l\">figures</th></tr>\n",
          f);
    json_array_foreach(list, i, c)
    {
        fputs("<tr>", f);
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            fputs("<td class=\"l\">", f);
            html_text_put(f, json_string_value(json_object_get(c, keys[k])));
            fputs("</td>", f);
        }
        fputs("</tr>\n", f);
    }
    fputs("</table></div>\n<p>Directions, not sizes: those depend on paths that were not "
          "published. <i>Shown</i>: all of the 95 % interval says so; <i>open</i>: it holds "
          "both.</p>\n",
          f);
}

/* A plan without a pair to compare: what each cell's plays were. */
static void put_cells(FILE *f, const struct plan_results *p, const json_t *plays)
{
    json_t *cell;
    size_t i;

    fputs("<div class=\"scroll\"><table class=\"wide\"><tr><th class=\"l\">cell</th>"
          "<th>plays</th><th>failed</th><th>cut</th>",
          f);
    for (size_t m = 0; m < play_pool_metric_count; m++) {
        const struct catalogue_entry *e = catalogue_find(play_pool_metrics[m].name);

        fprintf(f, "<th>%s <span class=\"unit\">%s</span></th>", play_pool_metrics[m].label,
                e->unit);
    }
    fputs("</tr>\n", f);
    json_array_foreach(json_object_get(plays, "cells"), i, cell)
    {
        json_t *w = json_object_get(json_object_get(cell, "windows"), "whole");
        json_int_t c = json_integer_value(json_object_get(cell, "cell"));

        fputs("<tr><td class=\"l\" style=\"white-space:nowrap\">", f);
        html_text_put(f, p->cells[c].label);
        fprintf(f,
                "</td><td>%" JSON_INTEGER_FORMAT "</td><td>%" JSON_INTEGER_FORMAT
                "</td><td>%" JSON_INTEGER_FORMAT "</td>",
                json_integer_value(json_object_get(w, "plays")),
                json_integer_value(json_object_get(w, "failed")),
                json_integer_value(json_object_get(w, "cut")));
        for (size_t m = 0; m < play_pool_metric_count; m++) {
            const struct catalogue_entry *e = catalogue_find(play_pool_metrics[m].name);
            json_t *metrics = json_object_get(w, "metrics");
            json_t *v =
                json_object_get(json_object_get(metrics, play_pool_metrics[m].name), "value");

            put_number(f, json_is_number(v) ? json_number_value(v) : NAN, e);
        }
        fputs("</tr>\n", f);
    }
    fputs("</table></div>\n", f);
}

void html_play_put(FILE *f, const struct plan_results *p, const json_t *summary)
{
    const json_t *plays = json_object_get(summary, "plays");
    json_t *comparison;
    size_t i;

    if (!plays) {
        return;
    }
    fputs("<h2>Music: what listeners got</h2>\n", f);
    put_cells(f, p, plays);
    put_claims(f, plays);
    json_array_foreach(json_object_get(plays, "comparisons"), i, comparison)
    {
        put_comparison(f, p, comparison, i);
    }
    fprintf(
        f,
        "<p>All plays of a cell's valid runs together: quantiles by nearest rank, stutters as "
        "sums over sums. Plays of one run share a path, so intervals draw whole runs: "
        "bootstrap of %d resamples, percentile method; both arms of a comparison have equal "
        "seeds and are drawn together. A play that the end of the run cut counts nowhere.</p>\n",
        STATISTICS_RESAMPLES);
}
