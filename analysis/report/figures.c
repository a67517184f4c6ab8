/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/figures.h"

#include "agents/base/err.h"
#include "analysis/report/figure_csv.h"
#include "analysis/report/figure_grid.h"
#include "analysis/report/figures_stale.h"
#include "analysis/report/flow_figures.h"
#include "analysis/report/play_figures.h"
#include "analysis/report/summary.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH_BYTES 4096
#define LOG_LINE_BYTES 256
#define FIGURES_COMPARED_MAX 400 /* cells on one axis */
/* The path whose course over time the paper shows. */
#define EXAMPLE_RATE_BPS 5e6
#define EXAMPLE_DELAY_MS 10

extern char **environ;

static const char *const names[FIGURE_KINDS] = {
    [FIGURE_RATES] = "rates",
    [FIGURE_DELAY] = "delay",
    [FIGURE_CDF] = "cdf",
    [FIGURE_SENDER_QUEUE] = "sender_queue",
    [FIGURE_CONTROL] = "control",
    [FIGURE_RECOVERY] = "recovery",
    [FIGURE_COMPARE_MEDIA] = "compare_media",
    [FIGURE_COMPARE_DELAY] = "compare_delay",
    [FIGURE_COMPARE_FILE] = "compare_file",
    [FIGURE_GRID_MEDIA] = "grid_media",
    [FIGURE_GRID_DELAY] = "grid_delay",
    [FIGURE_GRID_FILE] = "grid_file",
    [FIGURE_GRID_RTT] = "grid_rtt",
    [FIGURE_HEAT_MEDIA] = "heat_media",
    [FIGURE_HEAT_DELAY] = "heat_delay",
    [FIGURE_STACKS_RATES] = "stacks_rates",
    [FIGURE_STACKS_DELAY] = "stacks_delay",
    [FIGURE_STACKS_CDF] = "stacks_cdf",
};

void figures_path(char *out, size_t len, const struct plan_results *p, enum figure kind,
                  size_t number, const char *ending)
{
    if (kind < FIGURE_CELL_KINDS) {
        snprintf(out, len, "plots/%s-%s.%s", p->runs[p->cells[number].shown].name, names[kind],
                 ending);
    } else if (kind >= FIGURE_PLAN_KINDS && p->pair_count > 1) {
        snprintf(out, len, "plots/%s-%zu.%s", names[kind], number + 1, ending);
    } else {
        snprintf(out, len, "plots/%s.%s", names[kind], ending);
    }
}

/* Whether the run that a cell shows has a series to plot from. */
static bool has_series(const struct plan_results *p, size_t cell, const char *series)
{
    char path[PATH_BYTES];
    int len = snprintf(path, sizeof path, "%s/%s/series.%s.csv", p->dir,
                       p->runs[p->cells[cell].shown].name, series);

    return len < (int)sizeof path && access(path, R_OK) == 0;
}

/* Whether that run has samples of a metric, and series: a plot without a single point would end
 * gnuplot. */
static bool shows(const struct plan_results *p, size_t cell, const char *metric)
{
    json_t *metrics = json_object_get(p->runs[p->cells[cell].shown].doc, "metrics");

    return json_object_get(json_object_get(metrics, metric), "whole") && has_series(p, cell, "cdf");
}

static bool any_cell_has(const struct plan_results *p, const json_t *summary, const char *metric,
                         const char *window)
{
    for (size_t c = 0; c < p->cell_count; c++) {
        if (summary_get(summary, c, metric, window).n) {
            return true;
        }
    }
    return false;
}

static bool both_show(const struct plan_results *p, size_t pair, const char *metric)
{
    return pair < p->pair_count && shows(p, p->pairs[pair].cells[0], metric) &&
           shows(p, p->pairs[pair].cells[1], metric);
}

/* How far a pair is from what the paper shows over time; what is not to be had counts most. */
static double distance(const struct plan_results *p, size_t pair)
{
    double sum = 0;

    for (int i = 0; i < 2; i++) {
        const struct plan_result_cell *c = &p->cells[p->pairs[pair].cells[i]];
        json_t *metrics = json_object_get(p->runs[c->shown].doc, "metrics");
        double rate = json_number_value(json_object_get(c->params, "rate_bps"));
        double delay = json_number_value(json_object_get(c->params, "delay_ms"));

        sum += p->runs[c->shown].valid ? 0 : 1e6;
        sum += json_object_get(metrics, "file_time_s") ? 0 : 1e4;
        sum += 10 * fabs(log2(fmax(rate, 1) / EXAMPLE_RATE_BPS));
        sum += fabs(log2(fmax(delay, 1) / EXAMPLE_DELAY_MS));
    }
    return sum;
}

size_t figures_example(const struct plan_results *p)
{
    size_t best = p->pair_count;
    double least = INFINITY;

    for (size_t i = 0; i < p->pair_count; i++) {
        double d = distance(p, i);

        if (d < least) {
            least = d;
            best = i;
        }
    }
    return best;
}

/* Whether a cell or pair is shown over time. */
static bool is_shown(const struct plan_results *p, enum figure kind, size_t number)
{
    size_t example;

    if (p->cell_count <= FIGURES_CELLS_MAX || p->all_figures) {
        return true;
    }
    example = figures_example(p);
    if (kind >= FIGURE_PLAN_KINDS) {
        return number == example;
    }
    if (example == p->pair_count) {
        return number == 0;
    }
    return number == p->pairs[example].cells[0] || number == p->pairs[example].cells[1];
}

static bool is_grid(const struct plan_results *p)
{
    struct figure_grid g;

    return figure_grid_init(&g, p);
}

/* The metric of a figure of the plan, of which some cell must have a value. */
static bool plan_wanted(const struct plan_results *p, const json_t *summary, enum figure kind)
{
    bool file = kind == FIGURE_COMPARE_FILE || kind == FIGURE_GRID_FILE;
    bool delay = kind == FIGURE_COMPARE_DELAY || kind == FIGURE_GRID_DELAY ||
                 kind == FIGURE_GRID_RTT || kind == FIGURE_HEAT_DELAY;
    const char *metric = file ? "file_time_s" : delay ? "media_owd_ms_p50" : "media_throughput_bps";

    if ((kind >= FIGURE_GRID_MEDIA) != is_grid(p) || p->cell_count > FIGURES_COMPARED_MAX) {
        return false;
    }
    return any_cell_has(p, summary, metric, "whole") &&
           (kind != FIGURE_GRID_RTT || any_cell_has(p, summary, "rtt_ms_mean", "whole"));
}

/* Music is neither media nor data: their rates over time would be nothing. */
static bool is_music(const struct plan_results *p, size_t cell)
{
    const json_t *doc = p->runs[p->cells[cell].shown].doc;

    return json_object_get(json_object_get(doc, "flows"), "play") != NULL;
}

bool figures_wanted(const struct plan_results *p, const json_t *summary, enum figure kind,
                    size_t number)
{
    if (kind >= FIGURE_CELL_KINDS && p->cell_count < 2) {
        return false;
    }
    if (kind >= FIGURE_CELL_KINDS && kind < FIGURE_PLAN_KINDS) {
        return plan_wanted(p, summary, kind);
    }
    if (!is_shown(p, kind, number)) {
        return false;
    }
    switch (kind) {
    case FIGURE_RATES: return shows(p, number, "feedback_overhead_ratio") && !is_music(p, number);
    case FIGURE_DELAY:
    case FIGURE_CDF:
        return shows(p, number, "media_owd_ms_mean") || shows(p, number, "traffic_owd_ms_mean");
    case FIGURE_SENDER_QUEUE: return shows(p, number, "media_owd_ms_mean");
    case FIGURE_CONTROL:
        return shows(p, number, "media_owd_ms_mean") && has_series(p, number, "control");
    case FIGURE_RECOVERY:
        return json_array_size(
                   json_object_get(p->runs[p->cells[number].shown].doc, "media_after_bps")) > 1;
    case FIGURE_STACKS_RATES: return both_show(p, number, "feedback_overhead_ratio");
    case FIGURE_STACKS_DELAY:
    case FIGURE_STACKS_CDF: return both_show(p, number, "media_owd_ms_mean");
    default: return false;
    }
}

/* ---- the script ---- */

/* A gnuplot string: single quotes, doubled inside. */
static void put_string(FILE *f, const char *name, const char *value)
{
    fprintf(f, "%s = '", name);
    for (; *value; value++) {
        if (*value == '\'') {
            fputc('\'', f);
        }
        fputc(*value == '\n' ? ' ' : *value, f);
    }
    fputs("'\n", f);
}

static void put_window(FILE *f, const json_t *doc, const char *window, const char *start,
                       const char *end)
{
    json_t *w = json_object_get(json_object_get(doc, "windows"), window);

    fprintf(f, "%s = %.6f\n%s = %.6f\n", start,
            w ? json_number_value(json_object_get(w, "start_s")) : -1, end,
            w ? json_number_value(json_object_get(w, "end_s")) : -1);
}

static double value_of(const json_t *doc, const char *metric, const char *window)
{
    json_t *v = json_object_get(json_object_get(json_object_get(doc, "metrics"), metric), window);

    return json_is_number(v) ? json_number_value(v) : -1;
}

/* What changed in the run, as marks: a time and a few words without what gnuplot would typeset. */
static void put_steps(FILE *f, const json_t *doc)
{
    json_t *steps = json_object_get(doc, "steps"), *s;
    double last = -1;
    size_t i;

    fputs("$steps << END\ntime,what", f);
    json_array_foreach(steps, i, s)
    {
        const char *key = json_string_value(json_object_get(s, "key"));
        const char *dot = key ? strrchr(key, '.') : NULL;
        const char *leaf = dot ? dot + 1 : key ? key : "";
        double time = json_number_value(json_object_get(s, "time_s"));

        if (time > last) {
            fprintf(f, "\n%.6f,", time);
        }
        fprintf(f, "%s%.*s %g", time > last ? "" : "  ", (int)strcspn(leaf, "-"), leaf,
                json_number_value(json_object_get(s, "value")) / 1e6);
        last = time;
    }
    fprintf(f, "\nEND\nsteps = %zu\n", json_array_size(steps));
}

/* The link's rate over time as a table of steps, the end of the run as the last, and the highest.
 */
static void put_capacity(FILE *f, const json_t *doc)
{
    json_t *path = json_object_get(doc, "path"), *whole, *step;
    double rate = json_number_value(json_object_get(path, "rate_bps")) / 1e6, most = rate;
    size_t i;

    whole = json_object_get(json_object_get(doc, "windows"), "whole");
    fprintf(f, "$link << END\ntime,rate\n0,%.6f\n", rate);
    json_array_foreach(json_object_get(doc, "link_rate"), i, step)
    {
        if (i == 0) {
            continue;
        }
        rate = json_number_value(json_object_get(step, "bps")) / 1e6;
        most = rate > most ? rate : most;
        fprintf(f, "%.6f,%.6f\n", json_number_value(json_object_get(step, "time_s")), rate);
    }
    fprintf(f, "%.6f,%.6f\nEND\ncapacity = %.6f\nlink_steps = %zu\n",
            json_number_value(json_object_get(whole, "end_s")), rate, most,
            json_array_size(json_object_get(doc, "link_rate")));
}

static void put_run(FILE *f, const struct plan_results *p, size_t cell)
{
    const struct plan_result_run *r = &p->runs[p->cells[cell].shown];
    json_t *path = json_object_get(r->doc, "path");

    put_string(f, "run", r->name);
    put_string(f, "what", p->cells[cell].label);
    fprintf(f, "is_exec = %d\n", strcmp(plan_results_stack(p, cell), "exec") == 0);
    put_capacity(f, r->doc);
    fprintf(f, "propagation = %.6f\n", json_number_value(json_object_get(path, "delay_ns")) / 1e6);
    put_window(f, r->doc, "during", "during_start", "during_end");
    put_window(f, r->doc, "whole", "whole_start", "whole_end");
    fprintf(f, "has_before = %d\nhas_after = %d\n",
            json_object_get(json_object_get(r->doc, "windows"), "before") != NULL,
            json_object_get(json_object_get(r->doc, "windows"), "after") != NULL);
    fprintf(f, "media_before = %.6f\nmedia_during = %.6f\n",
            value_of(r->doc, "media_throughput_bps", "before") / 1e6,
            value_of(r->doc, "media_throughput_bps", "during") / 1e6);
    put_steps(f, r->doc);
}

/* The first of the two as every figure's run, the other's as what differs. */
static void put_pair(FILE *f, const struct plan_results *p, size_t pair)
{
    const size_t *cells = p->pairs[pair].cells;
    json_t *other = p->runs[p->cells[cells[1]].shown].doc;

    put_run(f, p, cells[0]);
    put_string(f, "other", p->runs[p->cells[cells[1]].shown].name);
    put_string(f, "stack", plan_results_stack(p, cells[0]));
    put_string(f, "other_stack", plan_results_stack(p, cells[1]));
    put_window(f, other, "during", "other_during_start", "other_during_end");
    put_window(f, other, "whole", "other_whole_start", "other_whole_end");
}

/* How far the axes of a grid's figure reach, and which rows have anything to show. */
static void put_extent(FILE *f, const struct plan_results *p, const json_t *summary,
                       enum figure kind)
{
    struct figure_extent e = figure_csv_extent(p, summary, kind);
    struct figure_grid g;
    size_t shown = 0;

    if (!figure_grid_init(&g, p)) {
        return;
    }
    fprintf(f, "array row_at[%zu]\n", g.row_count);
    for (size_t i = 0; i < g.row_count; i++) {
        if (e.rows[i]) {
            fprintf(f, "row_at[%zu] = %zu\n", ++shown, i + 1);
        }
    }
    fprintf(f, "shown = %zu\n", shown);
    fprintf(f, "array tops[%zu]\n", g.column_count);
    for (size_t i = 0; i < g.column_count; i++) {
        fprintf(f, "tops[%zu] = %.6g\n", i + 1, e.columns[i]);
    }
    fprintf(f, "top = %.6g\nacross = %.6g\n", e.all, e.across);
}

/* Once per format: the template sets the terminal (figure.gp). */
static void put_figure(FILE *f, const struct plan_results *p, enum figure kind, size_t number)
{
    static const char *const formats[] = {"svg", "pdf"};
    char path[PATH_BYTES];

    figures_path(path, sizeof path, p, kind, number, "csv");
    put_string(f, "csv", path);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        figures_path(path, sizeof path, p, kind, number, formats[i]);
        fprintf(f, "format = '%s'\n", formats[i]);
        put_string(f, "figure", path);
        fprintf(f, "load templates.'/%s.gp'\n", names[kind]);
    }
}

/* "name[1] = 'a'": gnuplot's arrays count from 1. */
static void put_words(FILE *f, const char *name, const struct figure_grid *g, bool rows)
{
    size_t n = rows ? g->row_count : g->series_count;
    char element[40];

    fprintf(f, "array %s[%zu]\n", name, n);
    for (size_t i = 0; i < n; i++) {
        snprintf(element, sizeof element, "%s[%zu]", name, i + 1);
        put_string(f, element, rows ? g->rows[i] : g->series[i]);
    }
}

/* The same stack looks the same in every figure: first webrtc, then quic, then others. */
static void put_styles(FILE *f, const struct figure_grid *g)
{
    size_t others = 0;

    fprintf(f, "array style_of[%zu]\n", g->series_count);
    for (size_t i = 0; i < g->series_count; i++) {
        size_t style = strcmp(g->series[i], "webrtc") == 0 ? 1
                       : strcmp(g->series[i], "quic") == 0 ? 2
                                                           : 3 + others++ % 2;

        fprintf(f, "style_of[%zu] = %zu\n", i + 1, style);
    }
}

/* The panels of a grid: what stands at their edges; the values are in the figures' CSV. */
static void put_grid(FILE *f, const struct plan_results *p)
{
    struct figure_grid g;

    if (!figure_grid_init(&g, p)) {
        return;
    }
    fprintf(f, "rows = %zu\ncolumns = %zu\nstacks = %zu\ndelays = %zu\n", g.row_count,
            g.column_count, g.series_count, g.x_count);
    put_words(f, "row_name", &g, true);
    put_words(f, "stack_name", &g, false);
    put_styles(f, &g);
    fprintf(f, "array column_mbps[%zu]\narray x_ms[%zu]\n", g.column_count, g.x_count);
    for (size_t i = 0; i < g.column_count; i++) {
        fprintf(f, "column_mbps[%zu] = %.6f\n", i + 1, g.columns[i] / 1e6);
    }
    for (size_t i = 0; i < g.x_count; i++) {
        fprintf(f, "x_ms[%zu] = %.6f\n", i + 1, g.xs[i]);
    }
}

/* From one kind up to another, that one excluded. */
struct kinds {
    enum figure from, to;
};

static void put_figures(FILE *f, const struct plan_results *p, const json_t *summary,
                        struct kinds kinds, size_t number)
{
    for (enum figure k = kinds.from; k < kinds.to; k++) {
        if (figures_wanted(p, summary, k, number)) {
            if (k >= FIGURE_GRID_MEDIA && k < FIGURE_PLAN_KINDS) {
                put_extent(f, p, summary, k);
            }
            put_figure(f, p, k, number);
        }
    }
}

static void put_script(FILE *f, const struct plan_results *p, const json_t *summary,
                       const char *templates)
{
    fputs("# Draws the figures of this report: gnuplot plots/plots.gp, in the folder above.\n", f);
    put_string(f, "templates", templates);
    put_string(f, "plan", p->name);
    fputs("load templates.'/style.gp'\n", f);
    for (size_t c = 0; c < p->cell_count; c++) {
        if (is_shown(p, FIGURE_RATES, c)) {
            put_run(f, p, c);
            put_figures(f, p, summary, (struct kinds){0, FIGURE_CELL_KINDS}, c);
        }
    }
    for (size_t i = 0; i < p->pair_count; i++) {
        if (is_shown(p, FIGURE_STACKS_RATES, i)) {
            put_pair(f, p, i);
            put_figures(f, p, summary, (struct kinds){FIGURE_PLAN_KINDS, FIGURE_KINDS}, i);
        }
    }
    fprintf(f, "cells = %zu\n", p->cell_count);
    put_grid(f, p);
    put_figures(f, p, summary, (struct kinds){FIGURE_CELL_KINDS, FIGURE_PLAN_KINDS}, 0);
    flow_figures_put_script(f, p);
    play_figures_put_script(f, p, summary);
    fputs("unset output\n", f);
}

static int write_script(const struct plan_results *p, const json_t *summary, const char *templates,
                        struct fault *f)
{
    char path[PATH_BYTES], absolute[PATH_MAX];
    int failed;
    FILE *out;

    /* gnuplot runs in the plan's folder. */
    if (!realpath(templates, absolute)) {
        return fault_set(f, ERR_OS, "%s: %s", templates, strerror(errno));
    }
    snprintf(path, sizeof path, "%s/plots", p->dir);
    if (mkdir(path, 0777) && errno != EEXIST) {
        return fault_set(f, ERR_OS, "%s: %s", path, strerror(errno));
    }
    snprintf(path, sizeof path, "%s/plots/plots.gp", p->dir);
    out = fopen(path, "we");
    if (!out) {
        return fault_set(f, ERR_OS, "%s: %s", path, strerror(errno));
    }
    put_script(out, p, summary, absolute);
    failed = ferror(out);
    return fclose(out) || failed ? fault_set(f, ERR_OS, "%s: %s", path, strerror(errno)) : 0;
}

/* The data of all figures. */
static int write_data(const struct plan_results *p, const json_t *summary, struct fault *f)
{
    int rc = 0;

    for (enum figure k = 0; k < FIGURE_KINDS && !rc; k++) {
        size_t n = k < FIGURE_CELL_KINDS    ? p->cell_count
                   : k >= FIGURE_PLAN_KINDS ? p->pair_count
                                            : 1;

        for (size_t i = 0; i < n && !rc; i++) {
            rc = figures_wanted(p, summary, k, i) ? figure_csv_write(p, summary, k, i, f) : 0;
        }
    }
    rc = rc ? rc : flow_figures_write(p, f);
    return rc ? rc : play_figures_write(p, summary, f);
}

/* ---- gnuplot ---- */

/* The first line of the log that says what went wrong. */
static void read_complaint(char *out, size_t len, const char *path)
{
    FILE *f = fopen(path, "re");

    snprintf(out, len, "no message");
    while (f && fgets(out, (int)len, f)) {
        out[strcspn(out, "\n")] = '\0';
        if (out[strspn(out, " \t^")] && !strstr(out, "warning: ")) {
            break;
        }
    }
    if (f) {
        fclose(f);
    }
}

static int spawn_gnuplot(pid_t *pid, const char *dir, const char *log)
{
    char program[] = "gnuplot", script[] = "plots/plots.gp";
    char *const argv[] = {program, script, NULL};
    posix_spawn_file_actions_t actions;
    int error;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    posix_spawn_file_actions_addchdir_np(&actions, dir);
    error = posix_spawnp(pid, program, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

int figures_draw(const struct plan_results *p, const json_t *summary, const char *templates,
                 struct fault *f)
{
    char log[PATH_BYTES], complaint[LOG_LINE_BYTES];
    int rc, error, status;
    pid_t pid;

    figures_stale_remove(p->dir, names, FIGURE_KINDS);
    rc = write_script(p, summary, templates, f);
    rc = rc ? rc : write_data(p, summary, f);
    if (rc) {
        return rc;
    }
    snprintf(log, sizeof log, "%s/plots/gnuplot.log", p->dir);
    error = spawn_gnuplot(&pid, p->dir, log);
    if (error) {
        return fault_set(f, error == ENOENT ? ERR_HOST : ERR_OS,
                         "gnuplot: %s; the report lacks its figures, `run-scenario report` draws "
                         "them once it is there",
                         strerror(error));
    }
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) {
            return fault_set(f, ERR_OS, "gnuplot: %s", strerror(errno));
        }
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status)) {
        read_complaint(complaint, sizeof complaint, log);
        return fault_set(f, ERR_OS, "%s: gnuplot failed: %s", log, complaint);
    }
    unlink(log);
    return 0;
}
