/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/html.h"

#include "agents/base/err.h"
#include "analysis/metrics/window.h"
#include "analysis/report/catalogue.h"
#include "analysis/report/certificates.h"
#include "analysis/report/figures.h"
#include "analysis/report/html_beside.h"
#include "analysis/report/html_cases.h"
#include "analysis/report/html_expect.h"
#include "analysis/report/html_figures.h"
#include "analysis/report/html_flows.h"
#include "analysis/report/html_outliers.h"
#include "analysis/report/html_play.h"
#include "analysis/report/html_setup.h"
#include "analysis/report/html_stacks.h"
#include "analysis/report/html_text.h"
#include "analysis/report/html_value.h"
#include "analysis/report/impairments.h"
#include "analysis/report/summary.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A link's rate that changes no more often than that is told in full. */
#define STEPS_TOLD 8
#define PATH_BYTES 4096
#define PAIRS_OPEN 2
#define ROWS_OPEN 12 /* of a table; longer ones are folded away */

struct page {
    FILE *f;
    const struct plan_results *p;
    const json_t *summary;
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
    const char *rest = catalogue_name(metric) + strlen(e->metric);

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
            "report.</p>\n%s<div class=\"scroll\"><table><tr><th>run</th><th "
            "class=\"l\">reason</th><th>count</th>"
            "<th class=\"l\">detail</th></tr>\n",
            p->invalid, p->run_count,
            p->invalid > ROWS_OPEN ? "<details><summary>Run by run</summary>\n" : "");
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
    fputs(p->invalid > ROWS_OPEN ? "</table></div></details>\n" : "</table></div>\n", g->f);
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
    fputs("</h1>\n<p class=\"lead\">", g->f);
    plan_results_put_count(g->f, p);
    fprintf(g->f, " in %zu cell%s on link <b>", p->cell_count, p->cell_count == 1 ? "" : "s");
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
        struct summary_value v = overview_value(g, c, column);

        if (summary_exists(&v)) {
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
            html_value_put(g->f, overview_value(g, c, k), catalogue_find(overview[k].metric));
        }
        fputs("</tr>\n", g->f);
    }
    fputs("</table></div>\n<p>Means over the valid repetitions, ± half the width of the "
          "95 % confidence interval (bootstrap) where there are at least two. Delay, sender queue "
          "and link use "
          "are those during the transfer; without one, of the whole run.</p>\n",
          g->f);
}

/* ---- one cell ---- */

static void put_metric_row(struct page *g, size_t cell, const char *metric)
{
    const struct catalogue_entry *e = catalogue_find(metric);
    char whose[CATALOGUE_WHOSE_MAX];
    bool any = false;

    for (int w = 0; w < WINDOWS; w++) {
        struct summary_value v = summary_get(g->summary, cell, metric, window_names[w]);

        any |= summary_exists(&v);
    }
    if (!e || !any) {
        return;
    }
    fprintf(g->f, "<tr><td class=\"l\" title=\"%s\">%s%s%s%s%s%s</td>", metric,
            catalogue_whose(whose, metric), e->label, statistic_of(metric, e),
            *e->unit ? " <span class=\"unit\">" : "", e->unit, *e->unit ? "</span>" : "");
    for (int w = 0; w < WINDOWS; w++) {
        html_value_put(g->f, summary_get(g->summary, cell, metric, window_names[w]), e);
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

/* Of the queue, where it is not one that only drops at its end. */
static void put_discipline(struct page *g, const json_t *path)
{
    json_t *aqm = json_object_get(path, "aqm");
    const char *kind = json_string_value(json_object_get(aqm, "kind"));

    if (kind) {
        fputs(" under ", g->f);
        html_text_put(g->f, kind);
        fputs(json_is_true(json_object_get(aqm, "ecn")) ? ", which marks" : "", g->f);
    }
}

/* Those behind the first, in line. */
static void put_bottlenecks(struct page *g, const json_t *list)
{
    json_t *one;
    size_t i;

    json_array_foreach(list, i, one)
    {
        fprintf(g->f, ", behind it one of %g Mbit/s and %g ms",
                json_number_value(json_object_get(one, "rate_bps")) / 1e6,
                json_number_value(json_object_get(one, "delay_ns")) / 1e6);
    }
}

/* Whether there is media, or music in its place. */
static void put_media(struct page *g, const json_t *flows)
{
    json_t *play = json_object_get(flows, "play");
    json_int_t players = json_integer_value(json_object_get(play, "players"));

    if (play) {
        fprintf(g->f, "; %" JSON_INTEGER_FORMAT " music player%s", players,
                players == 1 ? "" : "s");
    } else {
        fputs(json_object_get(flows, "media") ? "; media" : "; no media", g->f);
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
    put_discipline(g, path);
    put_bottlenecks(g, json_object_get(doc, "bottlenecks"));
    impairments_print(g->f, path);
    put_media(g, flows);
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
    html_figures_put(g->f, g->p, g->summary, 0, FIGURE_CELL_KINDS, cell);
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
    bool folded = g->p->run_count > ROWS_OPEN;

    fprintf(g->f, "<h2>Runs and files</h2>\n%s",
            folded ? "<details><summary>Run by run</summary>\n" : "");
    fputs("<div class=\"scroll\"><table><tr><th>run</th><th class=\"l\">cell</th>"
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
    fputs(folded ? "</table></div></details>\n" : "</table></div>\n", g->f);
    fputs("<p>Beside this page: <a href=\"summary.json\">summary.json</a>, <a "
          "href=\"summary.csv\">summary.csv</a> (every metric of every cell), <a "
          "href=\"plots/plots.gp\">plots/plots.gp</a> (draws the figures again). In each run's "
          "folder: the scenario as run, the series behind the plots and, as far as "
          "<code>--keep</code> left them, records (CSV) and captures (pcap).</p>\n",
          g->f);
}

/* A pair of a plan with many is folded away, but for the one that is the example. */
static void put_pair(struct page *g, size_t pair, bool folded)
{
    if (folded) {
        fputs("<details><summary>", g->f);
        html_text_put(g->f, g->p->pairs[pair].label);
        fputs("</summary>\n", g->f);
    }
    html_stacks_put(g->f, g->p, g->summary, pair);
    html_figures_put(g->f, g->p, g->summary, FIGURE_PLAN_KINDS, FIGURE_KINDS, pair);
    fputs(folded ? "</details>\n" : "", g->f);
}

static void put_pairs(struct page *g)
{
    size_t example = figures_example(g->p);

    if (g->p->pair_count <= PAIRS_OPEN) {
        for (size_t i = 0; i < g->p->pair_count; i++) {
            put_pair(g, i, false);
        }
        return;
    }
    put_pair(g, example, false);
    fprintf(g->f, "<h2>The other pairs of stacks</h2>\n");
    for (size_t i = 0; i < g->p->pair_count; i++) {
        if (i != example) {
            put_pair(g, i, true);
        }
    }
}

static void put_cells(struct page *g)
{
    bool folded = g->p->cell_count > FIGURES_CELLS_MAX;

    if (folded) {
        fprintf(g->f, "<h2>Cell by cell</h2>\n<details><summary>All %zu cells</summary>\n",
                g->p->cell_count);
    }
    for (size_t c = 0; c < g->p->cell_count; c++) {
        put_cell(g, c);
    }
    fputs(folded ? "</details>\n" : "", g->f);
}

static void put_page(struct page *g)
{
    put_head(g);
    html_setup_put(g->f, g->p);
    put_validity(g);
    certificates_put_html(g->f, g->p);
    html_cases_put(g->f, g->p, g->summary);
    html_expect_put(g->f, g->summary);
    html_beside_put(g->f, g->p);
    html_flows_put(g->f, g->p, g->summary);
    html_play_put(g->f, g->p, g->summary);
    if (figures_wanted(g->p, g->summary, FIGURE_GRID_MEDIA, 0)) {
        fputs("<h2>All paths</h2>\n", g->f);
    }
    html_figures_put(g->f, g->p, g->summary, FIGURE_GRID_MEDIA, FIGURE_PLAN_KINDS, 0);
    put_pairs(g);
    put_overview(g);
    html_outliers_put(g->f, g->p, g->summary);
    html_figures_put(g->f, g->p, g->summary, FIGURE_CELL_KINDS, FIGURE_GRID_MEDIA, 0);
    put_cells(g);
    put_definitions(g);
    put_runs(g);
    html_setup_put_again(g->f, g->p);
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
