/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/html_flows.h"

#include "analysis/report/catalogue.h"
#include "analysis/report/figures.h"
#include "analysis/report/flow_figures.h"
#include "analysis/report/html_text.h"
#include "analysis/report/html_value.h"
#include "analysis/report/summary.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define METRIC_BYTES 96
#define FIRST "call1"

static json_t *table_of(const struct plan_results *p, size_t cell)
{
    return json_object_get(p->runs[p->cells[cell].shown].doc, "flow_table");
}

static const char *text_in(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));

    return s ? s : "";
}

static bool is_call(const json_t *row)
{
    return strcmp(text_in(row, "kind"), "call") == 0;
}

/* ---- who they are ---- */

static const char *player(const char *played_by)
{
    return strcmp(played_by, "kernel") == 0   ? "the kernel's TCP"
           : strcmp(played_by, "ngtcp2") == 0 ? "played by a congestion controller of ngtcp2"
           : strcmp(played_by, "agent") == 0  ? "an agent that heeds nothing"
                                              : played_by;
}

static void put_what(FILE *f, const json_t *row)
{
    const char *kind = text_in(row, "kind"), *control = text_in(row, "congestion_control");

    if (is_call(row)) {
        html_text_put(f, text_in(row, "stack"));
        fputs(", ", f);
        html_text_put(f, text_in(row, "preset"));
        return;
    }
    fputs(strcmp(kind, "udp") == 0         ? "UDP"
          : strcmp(kind, "short-tcp") == 0 ? "short TCP"
                                           : "TCP",
          f);
    if (*control) {
        fputc(' ', f);
        html_text_put(f, control);
    }
    fputs(", ", f);
    html_text_put(f, player(text_in(row, "played_by")));
}

static void put_time(FILE *f, const json_t *row, const char *key)
{
    json_t *t = json_object_get(row, key);

    if (json_is_number(t)) {
        fprintf(f, "<td>%.1f</td>", json_number_value(t));
    } else {
        fputs("<td>–</td>", f);
    }
}

static void put_who(FILE *f, const json_t *row)
{
    double extra = json_number_value(json_object_get(row, "extra_delay_ns")) / 1e6;

    fputs("<tr><td class=\"l\">", f);
    html_text_put(f, text_in(row, "name"));
    fputs("</td><td class=\"l\">", f);
    put_what(f, row);
    if (extra > 0) {
        fprintf(f, ", %g ms further", extra);
    }
    if (json_number_value(json_object_get(row, "weight")) != 1) {
        fprintf(f, ", priority %g", json_number_value(json_object_get(row, "weight")));
    }
    fprintf(f, "</td><td class=\"l\">%s</td>", text_in(row, "direction"));
    put_time(f, row, "start_s");
    put_time(f, row, "stop_s");
    fputs("</tr>\n", f);
}

/* ---- what they got ---- */

static const struct {
    const char *head, *of_call, *of_others;
} columns[] = {
    {"sent, Mbit/s", "sending_rate_bps", "sending_rate_bps"},
    {"arrived, Mbit/s", "media_throughput_bps", "throughput_bps"},
    {"lost, %", "media_loss_ratio", "loss_ratio"},
    {"delay p50, ms", "media_owd_ms_p50", "owd_ms_p50"},
    {"delay p95, ms", "media_owd_ms_p95", "owd_ms_p95"},
    {"queueing p95, ms", "settled_queue_delay_ms_p95", NULL},
    {"frame delay p95, ms", "frame_delay_ms_p95", NULL},
    {"audio delay p95, ms", "audio_owd_ms_p95", NULL},
    {"audio lost, %", "audio_loss_ratio", NULL},
    {"converged after, s", "convergence_s", NULL},
    {"all converged, s", "arrival_convergence_s", "arrival_convergence_s"},
    {"rate variation, %", "rate_variation_ratio", "rate_variation_ratio"},
    {"oscillations", "oscillation_count", "oscillation_count"},
};

#define COLUMNS (sizeof columns / sizeof *columns)

/* The name under which a flow's metric is in the summary. */
static const char *metric_of(char out[METRIC_BYTES], const json_t *row, const char *name)
{
    const char *flow = text_in(row, "name");

    if (strcmp(flow, FIRST) == 0) {
        snprintf(out, METRIC_BYTES, "%s", name);
        return out;
    }
    snprintf(out, METRIC_BYTES, "%s.%s", flow, name);
    for (char *c = out; *c && *c != '.'; c++) {
        *c = *c == '-' ? '_' : *c;
    }
    return out;
}

static void put_values(FILE *f, const json_t *summary, size_t cell, const json_t *row)
{
    char metric[METRIC_BYTES];

    fputs("<tr><td class=\"l\">", f);
    html_text_put(f, text_in(row, "name"));
    fputs("</td>", f);
    for (size_t i = 0; i < COLUMNS; i++) {
        const char *name = is_call(row) ? columns[i].of_call : columns[i].of_others;

        if (name) {
            metric_of(metric, row, name);
            html_value_put(f, summary_get(summary, cell, metric, "whole"), catalogue_find(metric));
        } else {
            fputs("<td>–</td>", f);
        }
    }
    fputs("</tr>\n", f);
}

/* ---- what they made of the path ---- */

static const struct {
    const char *label, *metric;
} path_rows[] = {
    {"path use", "path_utilisation_ratio"},
    {"path use, way back", "path_back_utilisation_ratio"},
    {"use of the second bottleneck", "path2_utilisation_ratio"},
    {"of the third", "path3_utilisation_ratio"},
    {"Jain's index of calls, last 40 s", "self_fairness_ratio"},
    {"Jain's index with TCP, last 40 s", "cross_fairness_ratio"},
    {"a call's rate over another's in 20 s, least", "self_fairness_20s_min_ratio"},
    {"most", "self_fairness_20s_max_ratio"},
    {"a call's rate over TCP's in 20 s, least", "cross_fairness_20s_min_ratio"},
    {"most", "cross_fairness_20s_max_ratio"},
};

static void put_path(FILE *f, const json_t *summary, size_t cell)
{
    bool any = false;

    for (size_t i = 0; i < sizeof path_rows / sizeof *path_rows; i++) {
        const struct catalogue_entry *e = catalogue_find(path_rows[i].metric);
        struct summary_value v = summary_get(summary, cell, path_rows[i].metric, "whole");

        if (v.n == 0 || !e) {
            continue;
        }
        fprintf(f, "%s%s %.*f%s%s", any ? "; " : "<p>", path_rows[i].label, e->decimals,
                v.mean * e->scale, *e->unit ? " " : "", e->unit);
        any = true;
    }
    fputs(any ? ".</p>\n" : "", f);
}

/* Steps of the capacity as a table: what each call made of them. */
static void put_steps(FILE *f, const json_t *summary, size_t cell, const json_t *table)
{
    static const char *const names[] = {"media_throughput_bps", "queue_delay_ms_p50",
                                        "queue_delay_ms_p95", "convergence_s"};
    char step[METRIC_BYTES], metric[METRIC_BYTES];
    json_t *row;
    size_t i;

    if (summary_get(summary, cell, "step0_media_throughput_bps", "whole").n == 0) {
        return;
    }
    fputs(
        "<details><summary>Steps of the capacity</summary>\n<div class=\"scroll\"><table><tr><th>"
        "flow</th><th>step</th><th>arrived, Mbit/s</th><th>queueing p50, ms</th><th>queueing p95, "
        "ms</th><th>converged after, s</th></tr>\n",
        f);
    json_array_foreach(table, i, row)
    {
        for (size_t k = 0; is_call(row); k++) {
            snprintf(step, sizeof step, "step%zu_%s", k, names[0]);
            if (summary_get(summary, cell, metric_of(metric, row, step), "whole").n == 0) {
                break;
            }
            fputs("<tr><td class=\"l\">", f);
            html_text_put(f, text_in(row, "name"));
            fprintf(f, "</td><td>%zu</td>", k);
            for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
                snprintf(step, sizeof step, "step%zu_%s", k, names[n]);
                metric_of(metric, row, step);
                html_value_put(f, summary_get(summary, cell, metric, "whole"),
                               catalogue_find(metric));
            }
            fputs("</tr>\n", f);
        }
    }
    fputs("</table></div></details>\n", f);
}

static void put_tables(FILE *f, const json_t *summary, size_t cell, const json_t *table)
{
    json_t *row;
    size_t i;

    fputs("<div class=\"scroll\"><table><tr><th>flow</th><th class=\"l\">what</th><th "
          "class=\"l\">direction</th><th>from, s</th><th>to, s</th></tr>\n",
          f);
    json_array_foreach(table, i, row)
    {
        put_who(f, row);
    }
    fputs("</table></div>\n<div class=\"scroll\"><table class=\"wide\"><tr><th>flow</th>", f);
    for (i = 0; i < COLUMNS; i++) {
        fprintf(f, "<th>%s</th>", columns[i].head);
    }
    fputs("</tr>\n", f);
    json_array_foreach(table, i, row)
    {
        put_values(f, summary, cell, row);
    }
    fputs("</table></div>\n", f);
    put_path(f, summary, cell);
    put_steps(f, summary, cell, table);
}

static void put_cell(FILE *f, const struct plan_results *p, const json_t *summary, size_t cell)
{
    bool folded = p->cell_count > FIGURES_CELLS_MAX;

    fprintf(f, "<h3 id=\"flows-%zu\">", cell);
    html_text_put(f, p->cells[cell].label);
    fputs("</h3>\n", f);
    flow_figures_put_html(f, p, cell);
    fputs(folded ? "<details><summary>Numbers</summary>\n" : "", f);
    put_tables(f, summary, cell, table_of(p, cell));
    fputs(folded ? "</details>\n" : "", f);
}

void html_flows_put(FILE *f, const struct plan_results *p, const json_t *summary)
{
    bool any = false;

    for (size_t c = 0; c < p->cell_count; c++) {
        if (json_array_size(table_of(p, c)) == 0) {
            continue;
        }
        if (!any) {
            fputs(
                "<h2>Flows on the path</h2>\n<p>Who shared the path, and what each made of it: "
                "means over the valid repetitions. Times are those of the run that is drawn. Flows "
                "have converged once what they send stays within 15 % of their fair share for 3 "
                "s, and some never do. Of a call, sent is all "
                "of it, arrived its video, and lost what of that never came, even sent again: the "
                "figure shows what the path lost. Link use below is that of the first call "
                "alone.</p>\n",
                f);
            any = true;
        }
        put_cell(f, p, summary, c);
    }
}
