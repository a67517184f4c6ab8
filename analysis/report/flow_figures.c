/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/flow_figures.h"

#include "agents/base/err.h"
#include "analysis/metrics/flow_series.h"
#include "analysis/report/figures_stale.h"
#include "analysis/report/html_text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 4096
#define NAME_BYTES 32
/* How many flows.gp has of each. */
#define CALL_STYLES 5
#define OTHER_STYLES 4

static const struct plan_result_run *shown(const struct plan_results *p, size_t cell)
{
    return &p->runs[p->cells[cell].shown];
}

static const char *text_in(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));

    return s ? s : "";
}

static json_t *table_of(const struct plan_results *p, size_t cell)
{
    return json_object_get(shown(p, cell)->doc, "flow_table");
}

static void path_of(char *out, size_t len, const struct plan_results *p, size_t cell,
                    const char *ending)
{
    snprintf(out, len, "plots/%s-flows.%s", shown(p, cell)->name, ending);
}

bool flow_figures_wanted(const struct plan_results *p, size_t cell)
{
    char path[PATH_BYTES];
    int len = snprintf(path, sizeof path, "%s/%s/series.flows.csv", p->dir, shown(p, cell)->name);

    return json_array_size(table_of(p, cell)) && len < (int)sizeof path &&
           access(path, R_OK) == 0 && (p->all_figures || p->cell_count <= FLOW_FIGURES_CELLS_MAX);
}

/* ---- data ---- */

/* A row of series.flows.csv as far as it is drawn. */
struct row {
    double time, received_bps, loss, delay_ms;
    char name[NAME_BYTES];
};

/* Empty fields are NAN. */
static bool parse(struct row *r, char *line)
{
    char *fields[8] = {NULL}, *rest = line;

    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        fields[i] = strsep(&rest, ",\n");
        if (!fields[i]) {
            return false;
        }
    }
    snprintf(r->name, sizeof r->name, "%s", fields[1]);
    r->time = strtod(fields[0], NULL);
    r->received_bps = strtod(fields[3], NULL);
    r->loss = *fields[5] ? strtod(fields[5], NULL) : NAN;
    r->delay_ms = *fields[6] ? strtod(fields[6], NULL) : NAN;
    return true;
}

/* A second of a flow. */
struct second {
    double rate, loss, delay;
    size_t rates, losses, delays; /* how many values there are of each */
};

static void put_number(FILE *f, double sum, size_t n, double scale)
{
    if (n) {
        fprintf(f, ",%.6g", sum / (double)n * scale);
    } else {
        fputc(',', f);
    }
}

/* Whether the flow was there in that second; who never sent anything was not. */
static bool was_there(const json_t *table, const char *name, double second)
{
    json_t *row;
    size_t i;

    json_array_foreach(table, i, row)
    {
        if (strcmp(text_in(row, "name"), name) == 0) {
            json_t *start = json_object_get(row, "start_s"), *stop = json_object_get(row, "stop_s");

            return json_is_number(start) && second >= floor(json_number_value(start)) &&
                   second <= json_number_value(stop);
        }
    }
    return false;
}

static void put_second(FILE *f, const struct second *s, const struct row *last, const json_t *table)
{
    bool there;

    if (s->rates < FLOW_SERIES_PER_SECOND) {
        return; /* cut off by the end of the run */
    }
    fprintf(f, "%s,%.1f", last->name, floor(last->time) + 0.5);
    there = was_there(table, last->name, floor(last->time));
    put_number(f, s->rate, there ? s->rates : 0, 1e-6);
    put_number(f, s->delay, there ? s->delays : 0, 1);
    put_number(f, s->loss, there ? s->losses : 0, 100);
    fputc('\n', f);
}

static void add(struct second *s, const struct row *r)
{
    s->rate += r->received_bps;
    s->rates++;
    if (isfinite(r->loss)) {
        s->loss += r->loss;
        s->losses++;
    }
    if (isfinite(r->delay_ms)) {
        s->delay += r->delay_ms;
        s->delays++;
    }
}

/* Flow by flow, second by second; false: the file is not what it should be. */
static bool aggregate(FILE *out, FILE *in, const json_t *table)
{
    struct second s = {0};
    struct row r, last = {.time = -1};
    char *line = NULL;
    size_t room = 0;
    bool head = true, good = true;

    fputs("flow,t_s,rate_mbps,delay_ms,loss_percent\n", out);
    while (good && getline(&line, &room, in) > 0) {
        if (head) {
            head = false;
            continue;
        }
        good = parse(&r, line);
        if (good && last.time >= 0 &&
            (strcmp(r.name, last.name) != 0 || floor(r.time) != floor(last.time))) {
            put_second(out, &s, &last, table);
            s = (struct second){0};
        }
        if (good) {
            add(&s, &r);
            last = r;
        }
    }
    if (last.time >= 0) {
        put_second(out, &s, &last, table);
    }
    free(line);
    return good;
}

static int write_one(const struct plan_results *p, size_t cell, struct fault *fault)
{
    char from[PATH_BYTES], name[PATH_BYTES], to[2 * PATH_BYTES];
    FILE *in, *out;
    bool good;
    int failed;

    snprintf(from, sizeof from, "%s/%s/series.flows.csv", p->dir, shown(p, cell)->name);
    in = fopen(from, "re");
    if (!in) {
        return fault_set(fault, ERR_OS, "%s: %s", from, strerror(errno));
    }
    path_of(name, sizeof name, p, cell, "csv");
    snprintf(to, sizeof to, "%s/%s", p->dir, name);
    out = fopen(to, "we");
    if (!out) {
        fclose(in);
        return fault_set(fault, ERR_OS, "%s: %s", to, strerror(errno));
    }
    good = aggregate(out, in, table_of(p, cell));
    fclose(in);
    failed = ferror(out);
    failed |= fclose(out) != 0;
    return failed  ? fault_set(fault, ERR_OS, "%s: %s", to, strerror(errno))
           : !good ? fault_set(fault, ERR_MALFORMED, "%s: a row has too few fields", from)
                   : 0;
}

int flow_figures_write(const struct plan_results *p, struct fault *fault)
{
    static const char *const name[] = {"flows"};
    int rc = 0;

    figures_stale_remove(p->dir, name, 1);
    for (size_t c = 0; c < p->cell_count && !rc; c++) {
        rc = flow_figures_wanted(p, c) ? write_one(p, c, fault) : 0;
    }
    return rc;
}

/* ---- the script ---- */

/* What stands in the key: "call2 webrtc", "tcp reno", "udp"; calls look like calls. */
static void put_flow(FILE *f, size_t i, const json_t *row, size_t style)
{
    const char *control = text_in(row, "congestion_control"), *stack = text_in(row, "stack");
    bool backward = strcmp(text_in(row, "direction"), "backward") == 0;
    const char *what = *stack ? stack : control;

    fprintf(f, "flow_name[%zu] = '%s'\nflow_title[%zu] = '%s%s%s'\n", i + 1, text_in(row, "name"),
            i + 1, text_in(row, "name"), *what ? " " : "", what);
    fprintf(f, "flow_back[%zu] = %d\nflow_style[%zu] = %zu\n", i + 1, backward, i + 1, style);
}

/* Styles are numbered from 1 (flows.gp). */
static void put_flows(FILE *f, const json_t *table)
{
    size_t calls = 0, others = 0, i;
    json_t *row;

    json_array_foreach(table, i, row)
    {
        bool call = strcmp(text_in(row, "kind"), "call") == 0;

        put_flow(f, i, row,
                 call ? 1 + calls++ % CALL_STYLES : 1 + CALL_STYLES + others++ % OTHER_STYLES);
    }
}

/* A table of steps, the end of the run as the last. */
static void put_capacity(FILE *f, const json_t *doc, const char *direction, const char *name)
{
    json_t *list = json_object_get(json_object_get(doc, "capacity"), direction), *step;
    json_t *whole = json_object_get(json_object_get(doc, "windows"), "whole");
    double last = NAN;
    size_t i;

    fprintf(f, "$%s << END\ntime,rate\n", name);
    json_array_foreach(list, i, step)
    {
        last = json_number_value(json_object_get(step, "bps")) / 1e6;
        fprintf(f, "%.6f,%.6f\n", json_number_value(json_object_get(step, "time_s")), last);
    }
    if (isfinite(last)) {
        fprintf(f, "%.6f,%.6f\n", json_number_value(json_object_get(whole, "end_s")), last);
    }
    fputs("END\n", f);
}

static size_t count_of(const json_t *table, const char *direction)
{
    size_t n = 0, i;
    json_t *row;

    json_array_foreach(table, i, row)
    {
        n += strcmp(text_in(row, "direction"), direction) == 0;
    }
    return n;
}

static void put_figure(FILE *f, const struct plan_results *p, size_t cell)
{
    static const char *const formats[] = {"svg", "pdf"};
    json_t *doc = shown(p, cell)->doc, *table = table_of(p, cell);
    json_t *whole = json_object_get(json_object_get(doc, "windows"), "whole");
    char path[PATH_BYTES];

    fprintf(f, "flows = %zu\narray flow_name[%zu]\narray flow_title[%zu]\n", json_array_size(table),
            json_array_size(table), json_array_size(table));
    fprintf(f, "array flow_back[%zu]\narray flow_style[%zu]\n", json_array_size(table),
            json_array_size(table));
    put_flows(f, table);
    put_capacity(f, doc, "forward", "capacity_forward");
    put_capacity(f, doc, "backward", "capacity_backward");
    fprintf(f, "forward_flows = %zu\nbackward_flows = %zu\nwhole_end = %.6f\n",
            count_of(table, "forward"), count_of(table, "backward"),
            json_number_value(json_object_get(whole, "end_s")));
    path_of(path, sizeof path, p, cell, "csv");
    fprintf(f, "csv = '%s'\n", path);
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++) {
        path_of(path, sizeof path, p, cell, formats[k]);
        fprintf(f, "format = '%s'\nfigure = '%s'\nload templates.'/flows.gp'\n", formats[k], path);
    }
}

void flow_figures_put_script(FILE *f, const struct plan_results *p)
{
    for (size_t c = 0; c < p->cell_count; c++) {
        if (flow_figures_wanted(p, c)) {
            put_figure(f, p, c);
        }
    }
}

/* ---- the page ---- */

void flow_figures_put_html(FILE *f, const struct plan_results *p, size_t cell)
{
    static const char *const endings[] = {"svg", "pdf", "csv"}, *const labels[] = {"SVG", "PDF",
                                                                                   "CSV"};
    char path[PATH_BYTES], full[2 * PATH_BYTES];
    bool inside = p->cell_count <= FLOW_FIGURES_INSIDE_MAX;

    if (!flow_figures_wanted(p, cell)) {
        return;
    }
    path_of(path, sizeof path, p, cell, "svg");
    fprintf(f, "<figure><img alt=\"Rates, delay and loss of all flows over time\"%s src=\"",
            inside ? "" : " loading=\"lazy\"");
    if (inside) {
        snprintf(full, sizeof full, "%s/%s", p->dir, path);
        html_text_put_svg(f, full);
    } else {
        html_text_put(f, path);
    }
    fputs("\"/>\n<figcaption>All flows over time, a point per second: IP bytes that arrived, with "
          "the "
          "capacity left to flows that adapt (Ethernet bytes); mean one-way delay, capture to "
          "capture; packets lost. Run <code>",
          f);
    html_text_put(f, shown(p, cell)->name);
    fputs("</code> (", f);
    for (size_t i = 0; i < 3; i++) {
        path_of(path, sizeof path, p, cell, endings[i]);
        fprintf(f, "%s<a href=\"", i ? ", " : "");
        html_text_put(f, path);
        fprintf(f, "\">%s</a>", labels[i]);
    }
    fputs(")</figcaption></figure>\n", f);
}
