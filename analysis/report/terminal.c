/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/terminal.h"

#include "analysis/report/certificates.h"
#include "analysis/report/difference.h"
#include "analysis/report/statistics.h"
#include "analysis/report/summary.h"
#include "analysis/report/terminal_flows.h"
#include "analysis/report/terminal_play.h"
#include "analysis/report/terminal_traffic.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LABEL_MIN 4
#define LABEL_MAX 20 /* longer ones get a line of their own */
#define MISSING "-"
#define COLUMNS 100
#define VERDICT_WIDTH 8
#define TEXT_BYTES 600
#define PAIRS_MAX 4    /* more of them are left to the report */
#define RUNS_ENOUGH 10 /* for a bootstrap that is not too narrow */
#define ROW_LABEL_WIDTH 34

static void put(FILE *out, int width, double v, int decimals)
{
    if (isfinite(v)) {
        fprintf(out, "%*.*f", width, decimals, v);
    } else {
        fprintf(out, "%*s", width, MISSING);
    }
}

static double mean(const json_t *summary, size_t cell, const char *metric, const char *window)
{
    struct summary_value v = summary_get(summary, cell, metric, window);

    return v.n ? v.mean : NAN;
}

static int label_width(const struct plan_results *p)
{
    size_t width = LABEL_MIN;

    for (size_t i = 0; i < p->cell_count; i++) {
        size_t len = strlen(p->cells[i].label);

        width = len > width ? len : width;
    }
    return (int)(width > LABEL_MAX ? LABEL_MAX : width);
}

static void put_header(FILE *out, int width)
{
    fprintf(out, "%-*s%5s%16s%21s%18s%8s%6s%6s\n", width, "cell", "runs", "file time",
            "media Mbit/s", "one-way delay ms", "sender", "link", "loss");
    fprintf(out, "%-*s%5s%16s%7s%7s%7s%6s%6s%6s%8s%6s%6s\n", width, "", "", "s (x ideal)", "before",
            "during", "after", "p50", "p95", "p99", "p95 ms", "%", "%");
}

static void put_file_time(FILE *out, double seconds, double ratio)
{
    char text[32] = MISSING;

    if (isfinite(seconds) && isfinite(ratio)) {
        snprintf(text, sizeof text, "%.2f (%.2f)", seconds, ratio);
    } else if (isfinite(seconds)) {
        snprintf(text, sizeof text, "%.2f", seconds);
    }
    fprintf(out, "%16s", text);
}

/* Delays, link use and loss are those of the transfer; without one, of the whole run. */
static void put_cell(FILE *out, const struct plan_results *p, const json_t *s, size_t c, int width)
{
    const struct plan_result_cell *cell = &p->cells[c];
    bool during = summary_get(s, c, "link_utilisation_ratio", "during").n > 0;
    const char *w = during ? "during" : "whole";
    char runs[32];

    if (strlen(cell->label) > (size_t)width) {
        fprintf(out, "%s\n%*s", cell->label, width, "");
    } else {
        fprintf(out, "%-*s", width, cell->label);
    }
    snprintf(runs, sizeof runs, "%zu%s", cell->runs - cell->invalid, cell->invalid ? "!" : "");
    fprintf(out, "%5s", runs);
    put_file_time(out, mean(s, c, "file_time_s", "whole"), mean(s, c, "file_time_ratio", "whole"));
    put(out, 7, mean(s, c, "media_throughput_bps", "before") / 1e6, 2);
    put(out, 7, mean(s, c, "media_throughput_bps", w) / 1e6, 2);
    put(out, 7, mean(s, c, "media_throughput_bps", "after") / 1e6, 2);
    put(out, 6, mean(s, c, "media_owd_ms_p50", w), 1);
    put(out, 6, mean(s, c, "media_owd_ms_p95", w), 1);
    put(out, 6, mean(s, c, "media_owd_ms_p99", w), 1);
    put(out, 8, mean(s, c, "media_sender_queue_ms_p95", w), 1);
    put(out, 6, mean(s, c, "link_utilisation_ratio", w) * 100, 1);
    put(out, 6, mean(s, c, "media_loss_ratio", w) * 100, 2);
    fputc('\n', out);
}

/* Text behind what fills the first column of its lines, broken at spaces. */
static void put_wrapped(FILE *out, int indent, const char *text)
{
    int column = indent;

    while (*text) {
        int len = (int)strcspn(text, " ");

        if (column > indent && column + 1 + len > COLUMNS) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', out);
            column++;
        }
        fprintf(out, "%.*s", len, text);
        column += len;
        text += len + (text[len] == ' ');
    }
    fputc('\n', out);
}

/* ---- pairs of cells ---- */

/* The values a plan's cells have in common are not said again where they are all the plan has. */
static bool is_one_pair(const struct plan_results *p)
{
    return p->pair_count == 1 && p->cell_count == 2;
}

static void put_pair_head(FILE *out, const struct plan_results *p, const struct plan_result_pair *q)
{
    const char *first = plan_results_stack(p, q->cells[0]);
    const char *second = plan_results_stack(p, q->cells[1]);
    const struct plan_result_cell *a = &p->cells[q->cells[0]], *b = &p->cells[q->cells[1]];
    char title[DIFFERENCE_TEXT_BYTES];

    if (!is_one_pair(p) && *q->label) {
        fprintf(out, "%s\n", q->label);
    }
    snprintf(title, sizeof title, "%.12s - %.12s", second, first);
    fprintf(out, "%-*s%10.10s%10.10s%16s%22s\n", ROW_LABEL_WIDTH, "", first, second, title,
            "95 % interval");
    fprintf(out, "%-*s%10zu%10zu\n", ROW_LABEL_WIDTH, "valid runs", a->runs - a->invalid,
            b->runs - b->invalid);
}

static void put_pair(FILE *out, const struct plan_results *p, const json_t *summary, size_t pair)
{
    put_pair_head(out, p, &p->pairs[pair]);
    for (size_t i = 0; i < difference_row_count; i++) {
        const struct catalogue_entry *e = catalogue_find(difference_rows[i].metric);
        struct difference_value v = difference_row_get(summary, pair, i);
        char label[2 * ROW_LABEL_WIDTH], text[DIFFERENCE_TEXT_BYTES];

        if (!difference_has_any(&v)) {
            continue;
        }
        snprintf(label, sizeof label, "%s%s%s", difference_rows[i].label, *e->unit ? ", " : "",
                 e->unit);
        fprintf(out, "%-*s", ROW_LABEL_WIDTH, label);
        put(out, 10, v.means[0] * e->scale, e->decimals);
        put(out, 10, v.means[1] * e->scale, e->decimals);
        difference_text(text, v.mean, e);
        fprintf(out, "%16s", text);
        difference_interval_text(text, &v, e);
        fprintf(out, "%22s\n", text);
    }
}

static bool any_without_transfer(const struct plan_results *p, const json_t *summary)
{
    for (size_t c = 0; c < p->cell_count; c++) {
        if (p->cells[c].runs > p->cells[c].invalid &&
            summary_get(summary, c, "link_utilisation_ratio", "during").n == 0) {
            return true;
        }
    }
    return false;
}

/* What the pairs above are of; most: how many seeds the pair with the most of them compares. */
static void put_pairs_notes(FILE *out, const struct plan_results *p, const json_t *summary,
                            size_t most)
{
    char text[TEXT_BYTES];

    if (most == 0) {
        fputs("No seed has a valid run under both stacks to compare: each column shows the mean of "
              "its "
              "stack's\nvalid runs.\n\n",
              out);
        return;
    }
    snprintf(text, sizeof text,
             "Rows from \"one-way delay during\" on are of each stack's own transfer%s.",
             any_without_transfer(p, summary) ? " (else of the whole run)" : "");
    put_wrapped(out, 0, text);
    if (most < 2) {
        snprintf(text, sizeof text,
                 "A single run per stack: an interval takes two of equal seeds (--runs 10).");
    } else {
        snprintf(text, sizeof text,
                 "Differences: run by run on equal seeds; intervals: bootstrap of them, %d "
                 "resamples%s.",
                 STATISTICS_RESAMPLES,
                 most < RUNS_ENOUGH ? ", too narrow with fewer than ten runs" : "");
    }
    put_wrapped(out, 0, text);
    fputc('\n', out);
}

static void put_pairs(FILE *out, const struct plan_results *p, const json_t *summary)
{
    size_t most = 0;

    for (size_t i = 0; i < p->pair_count; i++) {
        size_t n = difference_get(summary, i, "link_utilisation_ratio", "whole").n;

        most = n > most ? n : most;
        if (p->pair_count <= PAIRS_MAX) {
            put_pair(out, p, summary, i);
            fputc('\n', out);
        }
    }
    if (p->pair_count > PAIRS_MAX) {
        fprintf(out, "%zu pairs of cells differ in the stack alone: see the report.\n\n",
                p->pair_count);
    } else if (p->pair_count) {
        put_pairs_notes(out, p, summary, most);
    }
}

static void put_invalid(FILE *out, const struct plan_results *p)
{
    for (size_t i = 0; i < p->run_count; i++) {
        json_t *invalid = json_object_get(p->runs[i].doc, "invalid"), *one;
        size_t k;

        if (p->runs[i].valid) {
            continue;
        }
        fprintf(out, "invalid: %s:", p->runs[i].name);
        json_array_foreach(invalid, k, one)
        {
            const char *reason = json_string_value(json_object_get(one, "reason"));
            const char *detail = json_string_value(json_object_get(one, "detail"));

            fprintf(out, "%s %s (%" JSON_INTEGER_FORMAT "; %s)", k ? "," : "",
                    reason ? reason : "unknown", json_integer_value(json_object_get(one, "count")),
                    detail ? detail : "");
        }
        fputc('\n', out);
    }
}

/* Has none of the cells that an expectation speaks of been run? */
static bool none_run(const json_t *e)
{
    json_t *checks = json_object_get(e, "checks"), *one;
    size_t i;

    json_array_foreach(checks, i, one)
    {
        const char *detail = json_string_value(json_object_get(one, "detail"));

        if (!detail || strcmp(detail, "not run") != 0) {
            return false;
        }
    }
    return json_array_size(checks) > 0;
}

/* Expectations of cells that options have taken away or left out are counted only. */
static void put_expect(FILE *out, const struct plan_results *p, const json_t *summary)
{
    json_t *list = json_object_get(summary, "expect"), *e;
    size_t i, without_cell = 0, left_out = 0;

    if (p->invalid == p->run_count && json_array_size(list) > 0) {
        fprintf(out, "%-*snone of %zu expectations can hold: no run is valid\n\n", VERDICT_WIDTH,
                "FAILED", json_array_size(list));
        return;
    }
    json_array_foreach(list, i, e)
    {
        json_t *ok = json_object_get(e, "ok");
        char text[TEXT_BYTES];

        if (json_array_size(json_object_get(e, "checks")) == 0) {
            without_cell++;
            continue;
        }
        if (none_run(e)) {
            left_out++;
            continue;
        }
        fprintf(out, "%-*s", VERDICT_WIDTH,
                json_is_true(ok)    ? "ok"
                : json_is_false(ok) ? "FAILED"
                                    : "-");
        snprintf(text, sizeof text, "%s: %s", json_string_value(json_object_get(e, "name")),
                 json_string_value(json_object_get(e, "detail")));
        put_wrapped(out, VERDICT_WIDTH, text);
    }
    if (without_cell > 0) {
        fprintf(out, "%-*s%zu of %zu not judged: options left no cell they speak of\n",
                VERDICT_WIDTH, "-", without_cell, json_array_size(list));
    }
    if (left_out > 0) {
        fprintf(out, "%-*s%zu of %zu not judged: none of their cells was run\n", VERDICT_WIDTH, "-",
                left_out, json_array_size(list));
    }
    if (json_array_size(list) > 0) {
        fputc('\n', out);
    }
}

static bool any_prototype(const struct plan_results *p)
{
    for (size_t c = 0; c < p->cell_count; c++) {
        if (plan_results_is_prototype(p->runs[p->cells[c].shown].doc)) {
            return true;
        }
    }
    return false;
}

static bool is_exec(const struct plan_results *p, size_t cell)
{
    return strcmp(plan_results_stack(p, cell), "exec") == 0;
}

static void put_cells(FILE *out, const struct plan_results *p, const json_t *summary)
{
    int width = label_width(p);
    bool any = p->cell_count == 0;

    for (size_t c = 0; c < p->cell_count; c++) {
        any |= !is_exec(p, c);
    }
    if (!any) {
        return;
    }
    put_header(out, width);
    for (size_t c = 0; c < p->cell_count; c++) {
        if (!is_exec(p, c)) {
            put_cell(out, p, summary, c, width);
        }
    }
    fputs("\nDelay, sender queue, link use and loss are those during the transfer", out);
    fputs(any_without_transfer(p, summary) ? " (else of the whole run).\n\n" : ".\n\n", out);
}

static void put_certificates(FILE *out, const struct plan_results *p)
{
    struct certificates c;
    char text[TEXT_BYTES];

    certificates_sum(&c, p);
    certificates_line(&c, text, sizeof text);
    put_wrapped(out, 0, text);
}

/* Are there music players in every cell? Then none has what the general table shows. */
static bool all_play(const struct plan_results *p, const json_t *summary)
{
    json_t *plays = json_object_get(summary, "plays");

    return json_array_size(json_object_get(plays, "cells")) == p->cell_count;
}

void terminal_print(FILE *out, const struct plan_results *p, const json_t *summary)
{
    fprintf(out, "%s: ", p->name);
    plan_results_put_count(out, p);
    fprintf(out, " on link %s", p->link);
    if (p->invalid) {
        fprintf(out, ", %zu invalid (not in the means)", p->invalid);
    }
    fputs("\n\n", out);
    if (!is_one_pair(p) && !all_play(p, summary)) {
        put_cells(out, p, summary);
    }
    terminal_flows_print(out, p, summary);
    terminal_traffic_print(out, p, summary);
    terminal_play_print(out, p, summary);
    put_pairs(out, p, summary);
    if (any_prototype(p)) {
        put_wrapped(out, 0, plan_results_prototype_note);
        fputc('\n', out);
    }
    put_expect(out, p, summary);
    put_invalid(out, p);
    put_certificates(out, p);
    fprintf(out, "Report: %s/report.html\n", p->dir);
}
