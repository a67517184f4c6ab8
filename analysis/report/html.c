/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/html.h"

#include "agents/base/err.h"
#include "analysis/metrics/window.h"
#include "analysis/report/catalogue.h"
#include "analysis/report/certificates.h"
#include "analysis/report/figures.h"
#include "analysis/report/html_outliers.h"
#include "analysis/report/html_stacks.h"
#include "analysis/report/html_text.h"
#include "analysis/report/impairments.h"
#include "analysis/report/summary.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A link's rate that changes no more often than that is told in full. */
#define STEPS_TOLD 8
#define PATH_BYTES 4096
#define FIGURES_INSIDE_MAX 20 /* more of them stay files beside the report */

struct page {
    FILE *f;
    const struct plan_results *p;
    const json_t *summary;
};

static const struct {
    const char *alt, *caption;
} figure_texts[FIGURE_KINDS] = {
    [FIGURE_RATES] = {"Rates over time",
                      "Rates over time: IP bytes of media and data that arrived (0.5 s bins), the "
                      "target of the rate control, and the link rate (Ethernet bytes)."},
    [FIGURE_DELAY] = {"One-way delay over time",
                      "One-way delay of media packets (stack exec: of all) in the network, first "
                      "transmission to "
                      "complete arrival, capture to capture (0.1 s bins)."},
    [FIGURE_CDF] = {"Distribution of the one-way delay",
                    "Distribution of the media packets' one-way delay. Dotted: from application to "
                    "application, which adds the waiting in the sender."},
    [FIGURE_SENDER_QUEUE] = {"Waiting times over time",
                             "Where packets wait: in the queue of the path, and in the sender "
                             "(beyond what pacing the frame takes)."},
    [FIGURE_RECOVERY] = {"Media after the transfer",
                         "How fast media uses what the file left free: mean throughput of each "
                         "full second after the last file byte arrived."},
    [FIGURE_COMPARE_MEDIA] = {"Media throughput of all cells",
                              "Media throughput of all cells before, during and after the "
                              "transfer (without one, \"during\" is the whole run): mean and 95 % "
                              "confidence interval over the valid repetitions."},
    [FIGURE_COMPARE_DELAY] = {"One-way delay of all cells",
                              "One-way delay of media during the transfer (without one: in the "
                              "whole run): means of the runs' quantiles and 95 % confidence "
                              "intervals."},
    [FIGURE_COMPARE_FILE] = {"File time of all cells",
                             "File time of all cells: mean and 95 % confidence interval over the "
                             "valid repetitions."},
    [FIGURE_GRID_MEDIA] = {"Media throughput over the grid",
                           "Media throughput of every path during the transfer (without one: in "
                           "the whole run): mean of the valid repetitions, bars to the smallest "
                           "and the largest of them. Each column has its own scale."},
    [FIGURE_GRID_DELAY] = {"One-way delay over the grid",
                           "One-way delay of media in the network, in the same window: median, bar "
                           "to the 95th percentile, small cross at the 99th; means of the runs' "
                           "quantiles."},
    [FIGURE_GRID_FILE] = {"File time over the grid",
                          "File time of every path: mean, smallest and largest of the valid "
                          "repetitions. Horizontal lines: the closed-form ideal, the file alone on "
                          "what the media's share leaves of the link."},
    [FIGURE_GRID_RTT] =
        {"Round-trip time against the delay of RTP",
         "Mean round-trip time of the transport, less the way back, against the mean "
         "delay of RTP from application to application (bar: to the 95th "
         "percentile): what lies above the diagonal "
         "has waited in the sender, not in the network. A mark per cell."},
    [FIGURE_HEAT_MEDIA] = {"Map of media throughput",
                           "Media throughput as a part of the link's rate, over rate and delay; "
                           "darker is more. A field is empty where no run is valid."},
    [FIGURE_HEAT_DELAY] = {"Map of one-way delay",
                           "95th percentile of the one-way delay of media over rate and delay; "
                           "darker is more."},
    [FIGURE_STACKS_RATES] = {"Rates of both stacks over time",
                             "What arrived as media (above) and as data (below) under both stacks: "
                             "IP bytes in bins of 0.5 s; the link rate counts Ethernet bytes."},
    [FIGURE_STACKS_DELAY] = {"One-way delay under both stacks over time",
                             "One-way delay of media packets in the network under both stacks, "
                             "first transmission to complete arrival: median of each 0.1 s."},
    [FIGURE_STACKS_CDF] = {"Distribution of the one-way delay under both stacks",
                           "Distribution of the media packets' one-way delay in the network during "
                           "the transfer (without one: in the whole run) under both stacks."},
};

/* The numbers a reader asks for first; windows as far as they exist. */
static const char *const key_metrics[] = {
    "file_time_s",
    "file_time_ratio",
    "file_goodput_bps",
    "fairness_ratio",
    "media_throughput_bps",
    "media_owd_ms_p50",
    "media_owd_ms_p95",
    "media_owd_ms_p99",
    "media_app_owd_ms_p95",
    "media_sender_queue_ms_p95",
    "media_jitter_ms_mean",
    "media_loss_ratio",
    "media_late_ratio",
    "media_freeze_s",
    "queue_delay_ms_p95",
    "link_utilisation_ratio",
    "target_rate_bps_mean",
    "feedback_overhead_ratio",
    "rtt_ms_p50",
    "setup_time_ms",
    "ramp_up_s",
};

static const char *statistic_of(const char *metric, const struct catalogue_entry *e)
{
    const char *rest = metric + strlen(e->metric);

    if (strcmp(rest, "_p50") == 0) {
        return ", median";
    }
    return strcmp(rest, "_p95") == 0    ? ", 95th percentile"
           : strcmp(rest, "_p99") == 0  ? ", 99th percentile"
           : strcmp(rest, "_mean") == 0 ? ", mean"
           : strcmp(rest, "_sd") == 0   ? ", standard deviation"
           : strcmp(rest, "_max") == 0  ? ", maximum"
                                        : "";
}

static void put_value(FILE *f, struct summary_value v, const struct catalogue_entry *e)
{
    if (v.n == 0) {
        fputs("<td>–</td>", f);
        return;
    }
    fprintf(f, "<td>%.*f", e->decimals, v.mean * e->scale);
    if (isfinite(v.ci_hi)) {
        fprintf(f, " <span class=\"ci\">± %.*f</span>", e->decimals, summary_half(&v) * e->scale);
    }
    fputs("</td>", f);
}

/* ---- head ---- */

static void put_validity(struct page *g)
{
    const struct plan_results *p = g->p;

    fputs("<h2>Validity</h2>\n", g->f);
    if (p->invalid == 0) {
        fprintf(g->f,
                "<p class=\"ok\">%s. No run reported, and no capture or record shows, a reason "
                "not to trust it.</p>\n",
                p->run_count == 1 ? "The run is valid" : "All runs are valid");
        return;
    }
    fprintf(g->f,
            "<p class=\"bad\">%zu of %zu runs invalid. They are in no mean and no interval of this "
            "report.</p>\n<table><tr><th>run</th><th class=\"l\">reason</th><th>count</th>"
            "<th class=\"l\">detail</th></tr>\n",
            p->invalid, p->run_count);
    for (size_t i = 0; i < p->run_count; i++) {
        json_t *invalid = json_object_get(p->runs[i].doc, "invalid"), *one;
        size_t k;

        json_array_foreach(invalid, k, one)
        {
            const char *reason = json_string_value(json_object_get(one, "reason"));
            const char *detail = json_string_value(json_object_get(one, "detail"));

            fputs("<tr><td>", g->f);
            html_text_put(g->f, p->runs[i].name);
            fputs("</td><td class=\"l\"><code>", g->f);
            html_text_put(g->f, reason ? reason : "unknown");
            fprintf(g->f, "</code></td><td>%" JSON_INTEGER_FORMAT "</td><td class=\"l\">",
                    json_integer_value(json_object_get(one, "count")));
            html_text_put(g->f, detail ? detail : "");
            fputs("</td></tr>\n", g->f);
        }
    }
    fputs("</table>\n", g->f);
}

static void put_head(struct page *g)
{
    const struct plan_results *p = g->p;

    fputs("<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n"
          "<meta charset=\"utf-8\"/>\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>",
          g->f);
    html_text_put(g->f, p->name);
    fprintf(g->f, " – muxbed report</title>\n<style>\n%s</style>\n</head>\n<body>\n<h1>",
            html_text_style);
    html_text_put(g->f, p->name);
    fprintf(g->f, "</h1>\n<p class=\"lead\">%zu run%s in %zu cell%s on link <b>", p->run_count,
            p->run_count == 1 ? "" : "s", p->cell_count, p->cell_count == 1 ? "" : "s");
    html_text_put(g->f, p->link);
    fputs("</b>", g->f);
    if (*p->link_why) {
        fputs(" (", g->f);
        html_text_put(g->f, p->link_why);
        fputs(")", g->f);
    }
    fputs(". Rates count IP bytes; of the link, Ethernet bytes (IP packet + 14). 1 Mbit = 10<sup>6"
          "</sup> bit.</p>\n",
          g->f);
}

/* ---- expectations ---- */

static const char *verdict_of(const json_t *o)
{
    json_t *ok = json_object_get(o, "ok");

    return json_is_true(ok) ? "met" : json_is_false(ok) ? "NOT met" : "not judged";
}

static void put_expect_row(FILE *f, const char *name, const json_t *o)
{
    fputs("<tr><td class=\"l\">", f);
    html_text_put(f, name);
    fprintf(f, "</td><td class=\"l\">%s</td><td class=\"l\">", verdict_of(o));
    html_text_put(f, json_string_value(json_object_get(o, "detail")));
    fputs("</td></tr>\n", f);
}

static void put_expect_list(FILE *f, const json_t *list, const char *key)
{
    json_t *o;
    size_t i;

    fprintf(f,
            "<div class=\"scroll\"><table><tr><th>%s</th><th class=\"l\">verdict</th><th "
            "class=\"l\">found</th></tr>\n",
            strcmp(key, "name") == 0 ? "expectation" : "cell");
    json_array_foreach(list, i, o)
    {
        put_expect_row(f, json_string_value(json_object_get(o, key)), o);
    }
    fputs("</table></div>\n", f);
}

static void put_expect(struct page *g)
{
    json_t *list = json_object_get(g->summary, "expect"), *o;
    size_t unmet = 0, unjudged = 0, i;

    if (json_array_size(list) == 0) {
        return;
    }
    json_array_foreach(list, i, o)
    {
        unmet += json_is_false(json_object_get(o, "ok"));
        unjudged += json_is_null(json_object_get(o, "ok"));
    }
    fprintf(g->f, "<h2>Expectations</h2>\n<p class=\"%s\">", unmet ? "bad" : "ok");
    if (unmet) {
        fprintf(g->f, "%zu of the scenario's %zu expectations not met", unmet,
                json_array_size(list));
    } else {
        fputs("No expectation of the scenario failed", g->f);
    }
    if (unjudged) {
        fprintf(g->f, "; %zu of %zu not judged", unjudged, json_array_size(list));
    }
    fputs(".</p>\n", g->f);
    put_expect_list(g->f, list, "name");
    json_array_foreach(list, i, o)
    {
        if (json_array_size(json_object_get(o, "checks")) > 1) {
            fputs("<details><summary>", g->f);
            html_text_put(g->f, json_string_value(json_object_get(o, "name")));
            fputs(", cell by cell</summary>\n", g->f);
            put_expect_list(g->f, json_object_get(o, "checks"), "cell");
            fputs("</details>\n", g->f);
        }
    }
}

/* ---- overview of cells ---- */

static const struct {
    const char *head, *metric, *window;
} overview[] = {
    {"file time, s", "file_time_s", "whole"},
    {"over ideal", "file_time_ratio", "whole"},
    {"media before, Mbit/s", "media_throughput_bps", "before"},
    {"media during, Mbit/s", "media_throughput_bps", "during"},
    {"media after, Mbit/s", "media_throughput_bps", "after"},
    {"delay p50, ms", "media_owd_ms_p50", "during"},
    {"delay p95, ms", "media_owd_ms_p95", "during"},
    {"delay p99, ms", "media_owd_ms_p99", "during"},
    {"sender queue p95, ms", "media_sender_queue_ms_p95", "during"},
    {"link use, %", "link_utilisation_ratio", "during"},
    {"throughput, Mbit/s", "traffic_throughput_bps", "whole"},
    {"goodput, Mbit/s", "traffic_goodput_bps", "whole"},
    {"packet delay p50, ms", "traffic_owd_ms_p50", "whole"},
    {"packet delay p95, ms", "traffic_owd_ms_p95", "whole"},
    {"packets lost, %", "traffic_loss_ratio", "whole"},
};

#define OVERVIEW_COLUMNS (sizeof overview / sizeof *overview)

/* Cells without a transfer show the whole run instead of "during". */
static struct summary_value overview_value(const struct page *g, size_t cell, size_t column)
{
    const char *window = overview[column].window;

    if (strcmp(window, "during") == 0 &&
        summary_get(g->summary, cell, "link_utilisation_ratio", "during").n == 0) {
        window = "whole";
    }
    return summary_get(g->summary, cell, overview[column].metric, window);
}

/* A column that no cell has a value for is left out: what flows there are decides. */
static bool overview_has(const struct page *g, size_t column)
{
    for (size_t c = 0; c < g->p->cell_count; c++) {
        if (overview_value(g, c, column).n) {
            return true;
        }
    }
    return false;
}

static void put_overview(struct page *g)
{
    const struct plan_results *p = g->p;
    bool has[OVERVIEW_COLUMNS];

    fputs("<h2>Key numbers</h2>\n<div class=\"scroll\"><table "
          "class=\"wide\"><tr><th>cell</th><th>valid runs</th>",
          g->f);
    for (size_t k = 0; k < OVERVIEW_COLUMNS; k++) {
        has[k] = overview_has(g, k);
        if (has[k]) {
            fprintf(g->f, "<th>%s</th>", overview[k].head);
        }
    }
    fputs("</tr>\n", g->f);
    for (size_t c = 0; c < p->cell_count; c++) {
        fprintf(g->f, "<tr><td><a href=\"#cell-%zu\">", c);
        html_text_put(g->f, p->cells[c].label);
        fprintf(g->f, "</a></td><td>%zu of %zu</td>", p->cells[c].runs - p->cells[c].invalid,
                p->cells[c].runs);
        for (size_t k = 0; k < OVERVIEW_COLUMNS; k++) {
            if (!has[k]) {
                continue;
            }
            put_value(g->f, overview_value(g, c, k), catalogue_find(overview[k].metric));
        }
        fputs("</tr>\n", g->f);
    }
    fputs("</table></div>\n<p>Means over the valid repetitions, ± half the width of the "
          "95 % confidence interval (bootstrap) where there are at least two. Delay, sender queue "
          "and link use "
          "are those during the transfer; without one, of the whole run.</p>\n",
          g->f);
}

/* ---- figures ---- */

static void put_format(struct page *g, enum figure kind, size_t cell, const char *ending,
                       const char *label)
{
    char path[PATH_BYTES];

    figures_path(path, sizeof path, g->p, kind, cell, ending);
    fputs(", <a href=\"", g->f);
    html_text_put(g->f, path);
    fprintf(g->f, "\">%s</a>", label);
}

static void put_figure(struct page *g, enum figure kind, size_t cell, bool inside)
{
    char path[PATH_BYTES], full[2 * PATH_BYTES];

    if (!figures_wanted(g->p, g->summary, kind, cell)) {
        return;
    }
    figures_path(path, sizeof path, g->p, kind, cell, "svg");
    fprintf(g->f, "<figure><img alt=\"%s\" src=\"", figure_texts[kind].alt);
    if (inside) {
        snprintf(full, sizeof full, "%s/%s", g->p->dir, path);
        html_text_put_svg(g->f, full);
    } else {
        html_text_put(g->f, path);
    }
    fprintf(g->f, "\"%s/>\n<figcaption>%s (<a href=\"", inside ? "" : " loading=\"lazy\"",
            figure_texts[kind].caption);
    html_text_put(g->f, path);
    fputs("\">SVG</a>", g->f);
    put_format(g, kind, cell, "pdf", "PDF");
    put_format(g, kind, cell, "csv", "CSV");
    fputs(")</figcaption></figure>\n", g->f);
}

static bool figures_inside(const struct plan_results *p)
{
    return p->cell_count * FIGURE_CELL_KINDS <= FIGURES_INSIDE_MAX;
}

/* ---- one cell ---- */

static void put_metric_row(struct page *g, size_t cell, const char *metric)
{
    const struct catalogue_entry *e = catalogue_find(metric);
    bool any = false;

    for (int w = 0; w < WINDOWS; w++) {
        any |= summary_get(g->summary, cell, metric, window_names[w]).n > 0;
    }
    if (!e || !any) {
        return;
    }
    fprintf(g->f, "<tr><td class=\"l\" title=\"%s\">%s%s%s%s%s</td>", metric, e->label,
            statistic_of(metric, e), *e->unit ? " <span class=\"unit\">" : "", e->unit,
            *e->unit ? "</span>" : "");
    for (int w = 0; w < WINDOWS; w++) {
        put_value(g->f, summary_get(g->summary, cell, metric, window_names[w]), e);
    }
    fputs("</tr>\n", g->f);
}

static const char metric_table_head[] = "<div class=\"scroll\"><table><tr><th>metric</th><th>whole "
                                        "run</th><th>before</th><th>during</th><th>after</th></tr>"
                                        "\n";

static void put_all_metrics(struct page *g, size_t cell)
{
    json_t *c = json_array_get(json_object_get(g->summary, "cells"), cell), *windows;
    const char *metric;

    fprintf(g->f, "<details><summary>All metrics of this cell</summary>\n%s", metric_table_head);
    json_object_foreach(json_object_get(c, "metrics"), metric, windows)
    {
        const struct catalogue_entry *e = catalogue_find(metric);

        if (e) {
            put_metric_row(g, cell, metric);
        }
    }
    fputs("</table></div></details>\n", g->f);
}

/* Media's share, and from when on it was another. */
static void put_share(struct page *g, const json_t *doc)
{
    json_t *step;
    size_t i;

    fprintf(g->f, "; media's share meanwhile %g %%",
            json_number_value(json_object_get(doc, "share_ppm")) / 1e4);
    json_array_foreach(json_object_get(doc, "steps"), i, step)
    {
        const char *key = json_string_value(json_object_get(step, "key"));

        if (key && !strcmp(key, "share-ppm")) {
            fprintf(g->f, ", from %g s on %g %%",
                    json_number_value(json_object_get(step, "time_s")),
                    json_number_value(json_object_get(step, "value")) / 1e4);
        }
    }
}

/* "5 Mbit/s, from 30 s on 1 Mbit/s"; many steps by their number and bounds. */
static void put_rate(struct page *g, const json_t *doc, double first)
{
    json_t *steps = json_object_get(doc, "link_rate"), *step;
    double least = first, most = first;
    size_t i;

    fprintf(g->f, "%g Mbit/s", first / 1e6);
    json_array_foreach(steps, i, step)
    {
        double rate = json_number_value(json_object_get(step, "bps"));

        least = rate < least ? rate : least;
        most = rate > most ? rate : most;
        if (i > 0 && json_array_size(steps) <= STEPS_TOLD) {
            fprintf(g->f, ", from %g s on %g Mbit/s",
                    json_number_value(json_object_get(step, "time_s")), rate / 1e6);
        }
    }
    if (json_array_size(steps) > STEPS_TOLD) {
        fprintf(g->f, " at first, then %zu changes between %.3g and %.3g Mbit/s",
                json_array_size(steps) - 1, least / 1e6, most / 1e6);
    }
}

static void put_facts(struct page *g, const json_t *doc)
{
    json_t *path = json_object_get(doc, "path"), *flows = json_object_get(doc, "flows");
    json_t *data = json_object_get(flows, "data");
    const char *stack = json_string_value(json_object_get(doc, "stack"));
    const char *preset = json_string_value(json_object_get(doc, "preset"));
    double rate = json_number_value(json_object_get(path, "rate_bps"));
    double queue = json_number_value(json_object_get(path, "queue_bytes"));

    fputs("<p>Stack <b>", g->f);
    html_text_put(g->f, stack ? stack : "unknown");
    if (preset) {
        fputs("</b>, rate control <b>", g->f);
        html_text_put(g->f, preset);
    }
    fputs("</b>; path ", g->f);
    put_rate(g, doc, rate);
    fprintf(g->f, ", %g ms one way, queue %.0f bytes",
            json_number_value(json_object_get(path, "delay_ns")) / 1e6, queue);
    if (json_array_size(json_object_get(doc, "link_rate"))) {
        fputs(" at first", g->f);
    }
    if (rate > 0) {
        fprintf(g->f, " (%.0f ms)", queue * 8e3 / rate);
    }
    impairments_print(g->f, path);
    fputs(json_object_get(flows, "media") ? "; media" : "; no media", g->f);
    if (json_is_object(data)) {
        const char *kind = json_string_value(json_object_get(data, "kind"));

        fputs(", data: ", g->f);
        html_text_put(g->f, kind ? kind : "unknown");
        if (json_is_integer(json_object_get(data, "bytes"))) {
            fprintf(g->f, " of %g MB", json_number_value(json_object_get(data, "bytes")) / 1e6);
        }
        fprintf(g->f, " from %g s", json_number_value(json_object_get(data, "start_ns")) / 1e9);
        if (!stack || strcmp(stack, "webrtc") != 0) {
            put_share(g, doc);
        }
    }
    fputs(".</p>\n", g->f);
    if (plan_results_is_prototype(doc)) {
        fprintf(g->f, "<p>%s</p>\n", plan_results_prototype_note);
    }
}

static void put_cell(struct page *g, size_t cell)
{
    const struct plan_result_cell *c = &g->p->cells[cell];
    const struct plan_result_run *shown = &g->p->runs[c->shown];

    fprintf(g->f, "<h2 id=\"cell-%zu\">", cell);
    html_text_put(g->f, c->label);
    fputs("</h2>\n", g->f);
    put_facts(g, shown->doc);
    if (c->runs > c->invalid) {
        fputs(metric_table_head, g->f);
        for (size_t i = 0; i < sizeof key_metrics / sizeof *key_metrics; i++) {
            put_metric_row(g, cell, key_metrics[i]);
        }
        fputs("</table></div>\n", g->f);
        put_all_metrics(g, cell);
    } else {
        fputs("<p class=\"bad\">No valid run.</p>\n", g->f);
    }
    if (c->runs > 1) {
        fputs("<p>The plots show run <code>", g->f);
        html_text_put(g->f, shown->name);
        fputs(shown->valid ? "</code>.</p>\n" : "</code>, which is invalid.</p>\n", g->f);
    }
    for (enum figure k = 0; k < FIGURE_CELL_KINDS; k++) {
        put_figure(g, k, cell, figures_inside(g->p));
    }
}

/* ---- tail ---- */

static void put_definitions(struct page *g)
{
    fputs("<h2>What the numbers mean</h2>\n<p><b>Windows.</b> <i>Whole</i>: start to end of the "
          "run. <i>During</i>: first file byte sent to last file byte received. <i>Before</i> and "
          "<i>after</i>: the rest, when it lasts at least 1 s. Delays belong to the moment of "
          "sending, rates to the moment of arrival. Quantiles are exact, by nearest rank.</p>\n"
          "<dl>\n",
          g->f);
    for (size_t i = 0; i < catalogue_count; i++) {
        fprintf(g->f, "<dt>%s <code>%s</code></dt><dd>", catalogue[i].label, catalogue[i].metric);
        html_text_put(g->f, catalogue[i].definition);
        fputs("</dd>\n", g->f);
    }
    fputs("</dl>\n", g->f);
}

static void put_runs(struct page *g)
{
    fputs("<h2>Runs and files</h2>\n<table><tr><th>run</th><th class=\"l\">cell</th>"
          "<th>repetition</th><th>seed</th><th>valid</th><th class=\"l\">files</th></tr>\n",
          g->f);
    for (size_t i = 0; i < g->p->run_count; i++) {
        const struct plan_result_run *r = &g->p->runs[i];

        fputs("<tr><td><a href=\"", g->f);
        html_text_put(g->f, r->name);
        fputs("/\">", g->f);
        html_text_put(g->f, r->name);
        fputs("</a></td><td class=\"l\">", g->f);
        html_text_put(g->f, g->p->cells[r->cell].label);
        fprintf(g->f,
                "</td><td>%" JSON_INTEGER_FORMAT "</td><td>%" JSON_INTEGER_FORMAT
                "</td><td>%s</td><td class=\"l\">",
                json_integer_value(json_object_get(r->doc, "repetition")),
                json_integer_value(json_object_get(r->doc, "seed")), r->valid ? "yes" : "no");
        fputs("<a href=\"", g->f);
        html_text_put(g->f, r->name);
        fputs("/manifest.json\">manifest</a> <a href=\"", g->f);
        html_text_put(g->f, r->name);
        fputs("/metrics.json\">metrics</a></td></tr>\n", g->f);
    }
    fputs("</table>\n<p>Beside this page: <a href=\"summary.json\">summary.json</a>, <a "
          "href=\"summary.csv\">summary.csv</a> (every metric of every cell), <a "
          "href=\"plots/plots.gp\">plots/plots.gp</a> (draws the figures again). In each run's "
          "folder: the scenario as run, records (CSV), captures (pcap) and the series behind the "
          "plots.</p>\n",
          g->f);
}

static void put_versions(struct page *g)
{
    json_t *versions = json_object_get(g->p->runs[0].doc, "versions"), *v;
    bool first = true;
    const char *key;

    fputs("<p class=\"lead\">Versions: ", g->f);
    json_object_foreach(versions, key, v)
    {
        fputs(first ? "" : ", ", g->f);
        html_text_put(g->f, key);
        fputc(' ', g->f);
        html_text_put(g->f, json_is_string(v) ? json_string_value(v) : "?");
        first = false;
    }
    fputs(first ? "not recorded.</p>\n" : ".</p>\n", g->f);
}

static void put_pairs(struct page *g)
{
    for (size_t i = 0; i < g->p->pair_count; i++) {
        html_stacks_put(g->f, g->p, g->summary, i);
        for (enum figure k = FIGURE_PLAN_KINDS; k < FIGURE_KINDS; k++) {
            put_figure(g, k, i, figures_inside(g->p));
        }
    }
}

static void put_page(struct page *g)
{
    put_head(g);
    put_validity(g);
    certificates_put_html(g->f, g->p);
    put_pairs(g);
    put_expect(g);
    put_overview(g);
    html_outliers_put(g->f, g->p, g->summary);
    for (enum figure k = FIGURE_CELL_KINDS; k < FIGURE_PLAN_KINDS; k++) {
        put_figure(g, k, 0, true);
    }
    for (size_t c = 0; c < g->p->cell_count; c++) {
        put_cell(g, c);
    }
    put_definitions(g);
    put_runs(g);
    put_versions(g);
    fputs("</body>\n</html>\n", g->f);
}

int html_write(const struct plan_results *p, const json_t *summary, struct fault *f)
{
    struct page g = {.p = p, .summary = summary};
    char path[PATH_BYTES];
    int failed;

    snprintf(path, sizeof path, "%s/report.html", p->dir);
    g.f = fopen(path, "we");
    if (!g.f) {
        return fault_set(f, ERR_OS, "%s: %s", path, strerror(errno));
    }
    put_page(&g);
    failed = ferror(g.f);
    return fclose(g.f) || failed ? fault_set(f, ERR_OS, "%s: %s", path, strerror(errno)) : 0;
}
