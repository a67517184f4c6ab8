/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/html_setup.h"

#include "agents/base/utf8.h"
#include "analysis/report/html_text.h"
#include "analysis/report/impairments.h"
#include "analysis/report/run_list.h"

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES 4096
#define COMMAND_BYTES 2000
#define QUEUE_ROUNDING_MS 0.5
#define DIFFERS "differs from cell to cell"
#define DESCRIPTION "description: "

/* ---- the question ---- */

/* A YAML scalar on one line as testbed writes it: plain, or in double quotes. In place. */
static char *unquoted(char *s)
{
    char *out = s, *in = s + 1;

    s[strcspn(s, "\n")] = '\0';
    if (*s != '"') {
        return s;
    }
    for (; *in && *in != '"'; in++) {
        in += *in == '\\' && in[1];
        *out++ = *in;
    }
    *out = '\0';
    return s;
}

/* The scenario of the first run; NULL: it is not there. */
static FILE *open_scenario(const struct plan_results *p)
{
    char path[PATH_BYTES];

    snprintf(path, sizeof path, "%s/%s/scenario.yaml", p->dir, p->runs[0].name);
    return fopen(path, "re");
}

static void put_question(FILE *f, const struct plan_results *p)
{
    FILE *in = open_scenario(p);
    char *line = NULL;
    size_t room = 0;

    while (in && getline(&line, &room, in) > 0) {
        char *text = line + strlen(DESCRIPTION);

        if (strncmp(line, DESCRIPTION, strlen(DESCRIPTION)) == 0 && *unquoted(text)) {
            utf8_repair(text);
            fputs("<p class=\"question\"><b>Question:</b> ", f);
            html_text_put(f, text);
            fputs(".</p>\n", f);
            break;
        }
    }
    free(line);
    if (in) {
        fclose(in);
    }
}

/* ---- the set-up ---- */

static void put_row(FILE *f, const char *name)
{
    fputs("<tr><td class=\"l\">", f);
    html_text_put(f, name);
    fputs("</td><td class=\"l\">", f);
}

static const char *varied(const struct plan_results *p, size_t cell, const char *key)
{
    const char *s = json_string_value(
        json_object_get(json_object_get(p->runs[p->cells[cell].shown].doc, "cell"), key));

    return s ? s : "";
}

/* The values of a key that varies, each once, in the order of the plan. */
static void put_values(FILE *f, const struct plan_results *p, const char *key)
{
    bool first = true;

    for (size_t c = 0; c < p->cell_count; c++) {
        const char *value = varied(p, c, key);
        size_t before = 0;

        while (before < c && strcmp(varied(p, before, key), value) != 0) {
            before++;
        }
        if (before == c && *value) {
            fputs(first ? "" : ", ", f);
            html_text_put(f, value);
            first = false;
        }
    }
}

/* Equal parameters of all cells, by the names of summary.json. */
static const json_t *same(const struct plan_results *p, const char *name)
{
    const json_t *first = json_object_get(p->cells[0].params, name);

    for (size_t c = 1; c < p->cell_count; c++) {
        if (!first || !json_equal(first, json_object_get(p->cells[c].params, name))) {
            return NULL;
        }
    }
    return first;
}

static void put_number(FILE *f, const struct plan_results *p, const char *param, const char *name,
                       double scale, const char *unit)
{
    const json_t *v = same(p, param);

    if (json_is_number(v) && json_number_value(v) > 0) {
        put_row(f, name);
        fprintf(f, "%g %s</td></tr>\n", json_number_value(v) * scale, unit);
    }
}

/* A number of the path; where cells differ in it, though not by its own key, that they do. */
static void put_path(FILE *f, const struct plan_results *p, const char *param, const char *key,
                     const char *name, double scale, const char *unit)
{
    if (same(p, param)) {
        put_number(f, p, param, name, scale, unit);
    } else if (json_object_get(p->cells[0].params, param) && !*varied(p, 0, key)) {
        put_row(f, name);
        fputs(DIFFERS "</td></tr>\n", f);
    }
}

/* In ms where that is the same everywhere, as scenarios give it, else in bytes. */
static void put_queue(FILE *f, const struct plan_results *p)
{
    double first = NAN;

    for (size_t c = 0; c < p->cell_count; c++) {
        const json_t *params = p->cells[c].params;
        double ms = json_number_value(json_object_get(params, "queue_bytes")) * 8e3 /
                    json_number_value(json_object_get(params, "rate_bps"));

        if (c > 0 && !(fabs(ms - first) < QUEUE_ROUNDING_MS)) {
            put_number(f, p, "queue_bytes", "queue of the bottleneck", 1, "bytes");
            return;
        }
        first = c ? first : ms;
    }
    if (isfinite(first)) {
        put_row(f, "queue of the bottleneck");
        fprintf(f, "%.0f ms</td></tr>\n", first);
    }
}

/* Loss, jitter and copies, and the way back where it is another: what rate, delay and queue leave
 * out. */
static void put_impairments(FILE *f, const struct plan_results *p)
{
    char *first = NULL;
    bool same_in_all = true;

    for (size_t c = 0; c < p->cell_count; c++) {
        char *text = NULL;
        size_t size;
        FILE *out = open_memstream(&text, &size);

        if (out) {
            impairments_print(out, json_object_get(p->runs[p->cells[c].shown].doc, "path"));
            fclose(out);
        }
        same_in_all &= c == 0 || strcmp(first ? first : "", text ? text : "") == 0;
        if (c == 0) {
            first = text;
        } else {
            free(text);
        }
    }
    if (!same_in_all || (first && *first)) {
        put_row(f, "loss, jitter, way back");
        html_text_put(f, same_in_all ? first + strspn(first, ", ") : DIFFERS);
        fputs("</td></tr>\n", f);
    }
    free(first);
}

static void put_rate_control(FILE *f, const struct plan_results *p)
{
    const char *preset = json_string_value(same(p, "preset"));

    if (preset) {
        put_row(f, "rate control of the calls");
        html_text_put(f, preset);
        fputs("</td></tr>\n", f);
    }
}

/* All keys of a run, for those who want to know exactly. */
static void put_scenario(FILE *f, const struct plan_results *p)
{
    FILE *in = open_scenario(p);
    char *line = NULL;
    size_t room = 0;

    if (!in) {
        return;
    }
    fputs("<details><summary>Every key, as run in ", f);
    html_text_put(f, p->runs[0].name);
    fputs("</summary>\n<pre>", f);
    while (getline(&line, &room, in) > 0) {
        utf8_repair(line);
        html_text_put(f, line);
    }
    fputs("</pre></details>\n", f);
    free(line);
    fclose(in);
}

static void put_data(FILE *f, const struct plan_results *p)
{
    json_t *data = json_object_get(json_object_get(p->runs[0].doc, "flows"), "data");
    const char *kind = json_string_value(same(p, "data"));

    if (!kind || strcmp(kind, "none") == 0) {
        return;
    }
    put_row(f, "data beside the media");
    html_text_put(f, kind);
    if (json_is_integer(json_object_get(data, "bytes"))) {
        fprintf(f, " of %g MB", json_number_value(json_object_get(data, "bytes")) / 1e6);
    }
    if (json_is_object(data)) {
        fprintf(f, ", from %g s on", json_number_value(json_object_get(data, "start_ns")) / 1e9);
    }
    fputs("</td></tr>\n", f);
    put_number(f, p, "share", "media's share beside data (stack quic)", 100, "%");
}

static void put_repetitions(FILE *f, const struct plan_results *p)
{
    size_t least = p->cells[0].runs, most = least;

    for (size_t c = 1; c < p->cell_count; c++) {
        least = p->cells[c].runs < least ? p->cells[c].runs : least;
        most = p->cells[c].runs > most ? p->cells[c].runs : most;
    }
    put_row(f, "repetitions of each cell");
    if (least < most) {
        fprintf(f, "%zu to %zu, each with its own seed</td></tr>\n", least, most);
    } else {
        fprintf(f, "%zu%s</td></tr>\n", least, least > 1 ? ", each with its own seed" : "");
    }
}

static void put_varied(FILE *f, const struct plan_results *p)
{
    const char *key;
    json_t *v;

    json_object_foreach(json_object_get(p->runs[0].doc, "cell"), key, v)
    {
        put_row(f, key);
        put_values(f, p, key);
        fputs(" <span class=\"unit\">varies</span></td></tr>\n", f);
    }
}

void html_setup_put(FILE *f, const struct plan_results *p)
{
    put_question(f, p);
    fputs("<h2>Set-up</h2>\n<div class=\"scroll\"><table>\n", f);
    put_varied(f, p);
    put_path(f, p, "rate_bps", "path.rate", "link rate", 1e-6,
             json_array_size(json_object_get(p->runs[0].doc, "link_rate"))
                 ? "Mbit/s at first, then others"
                 : "Mbit/s");
    put_path(f, p, "delay_ms", "path.delay", "one-way propagation delay", 1, "ms");
    put_queue(f, p);
    put_impairments(f, p);
    put_rate_control(f, p);
    put_data(f, p);
    put_repetitions(f, p);
    put_row(f, "bottleneck made by");
    fputs("link ", f);
    html_text_put(f, p->link);
    fputs("</td></tr>\n</table></div>\n", f);
    put_scenario(f, p);
}

/* ---- again ---- */

static void put_versions(FILE *f, const struct plan_results *p)
{
    json_t *versions = json_object_get(p->runs[0].doc, "versions"), *v;
    size_t others = 0;
    bool first = true;
    const char *key;

    for (size_t i = 1; i < p->run_count; i++) {
        others += !json_equal(json_object_get(p->runs[i].doc, "versions"), versions);
    }
    fputs("<p>Versions: ", f);
    json_object_foreach(versions, key, v)
    {
        fputs(first ? "" : ", ", f);
        html_text_put(f, key);
        fputc(' ', f);
        html_text_put(f, json_is_string(v) ? json_string_value(v) : "?");
        first = false;
    }
    fputs(first ? "not recorded.</p>\n" : ".</p>\n", f);
    if (others) {
        fprintf(f,
                "<p class=\"bad\">%zu of %zu runs were made with other versions; their "
                "manifests tell.</p>\n",
                others, p->run_count);
    }
}

void html_setup_put_again(FILE *f, const struct plan_results *p)
{
    char command[COMMAND_BYTES];

    fputs("<h2>How to make it again</h2>\n<p>In a checkout of the commit below:</p>\n<pre>", f);
    if (run_list_command(p->dir, command, sizeof command)) {
        utf8_repair(command);
        html_text_put(f, command);
        fputs("\n", f);
    }
    fputs("./run-scenario --link ", f);
    html_text_put(f, p->link);
    fputs(" DIR/", f);
    html_text_put(f, p->runs[0].name);
    fputs(
        "/scenario.yaml      # one run; DIR is this page's folder\n./run-scenario report DIR      "
        "# this page\nbuild/analyze report --figures all DIR      # every cell over time</pre>\n",
        f);
    put_versions(f, p);
}
