/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/figure_csv.h"

#include "agents/base/err.h"
#include "analysis/report/summary.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES 4096
#define BPS_TO_MBPS 1e-6
#define SCALE_LEAST 1e-3

static void put_number(FILE *f, double v)
{
    if (isfinite(v)) {
        fprintf(f, ",%.6g", v);
    } else {
        fputc(',', f);
    }
}

/* A text as the last thing gnuplot reads as a word: what could end a cell becomes a blank, and so
 * does what it would typeset. */
static void put_word(FILE *f, const char *s)
{
    for (; *s; s++) {
        fputc(strchr(",\"\n_^@&~{}\\", *s) ? ' ' : *s, f);
    }
}

/* ---- of runs: their series ---- */

static const char *series_of(enum figure kind)
{
    switch (kind) {
    case FIGURE_RATES:
    case FIGURE_STACKS_RATES: return "rate";
    case FIGURE_CDF:
    case FIGURE_STACKS_CDF: return "cdf";
    default: return "delay";
    }
}

static int refuse_series(const struct plan_results *p, size_t cell, const char *series,
                         struct fault *f)
{
    return fault_set(f, ERR_OS, "%s/%s/series.%s.csv: %s", p->dir,
                     p->runs[p->cells[cell].shown].name, series, strerror(errno));
}

static FILE *open_series(const struct plan_results *p, size_t cell, const char *series,
                         struct fault *f)
{
    char path[PATH_BYTES];
    FILE *in;

    snprintf(path, sizeof path, "%s/%s/series.%s.csv", p->dir, p->runs[p->cells[cell].shown].name,
             series);
    in = fopen(path, "re");
    if (!in) {
        refuse_series(p, cell, series, f);
    }
    return in;
}

/* Closes what was read to its end, and fails if it was not. */
static int close_series(FILE *in, const struct plan_results *p, size_t cell, const char *series,
                        struct fault *f)
{
    int rc = ferror(in) ? refuse_series(p, cell, series, f) : 0;

    fclose(in);
    return rc;
}

/* Appends a cell's series; with a stack, that as the first column. */
static int put_series(FILE *out, const struct plan_results *p, size_t cell, enum figure kind,
                      const char *stack, bool names, struct fault *f)
{
    FILE *in = open_series(p, cell, series_of(kind), f);
    char *line = NULL;
    size_t room = 0;
    bool first = true;

    if (!in) {
        return ERR_OS;
    }
    while (getline(&line, &room, in) > 0) {
        if (!first || names) {
            fprintf(out, "%s%s%s", !stack ? "" : first ? "stack" : stack, stack ? "," : "", line);
        }
        first = false;
    }
    free(line);
    return close_series(in, p, cell, series_of(kind), f);
}

/* The queue_delay_p95_ms of a line of series.delay.csv, its last column but one. */
static const char *queue_of(char *line)
{
    char *last = strrchr(line, ','), *queue;

    if (!last) {
        return "";
    }
    *last = '\0';
    queue = strrchr(line, ',');
    return queue ? queue + 1 : "";
}

/* The series of the rate control, and beside each bin what packets waited in the path's queue: the
 * delays have the same bins. */
static int put_control(FILE *out, const struct plan_results *p, size_t cell, struct fault *f)
{
    char *line[2] = {NULL, NULL};
    size_t room[2] = {0, 0};
    FILE *control = open_series(p, cell, "control", f);
    FILE *delay = control ? open_series(p, cell, "delay", f) : NULL;
    int rc = delay ? 0 : ERR_OS;

    while (delay && getline(&line[0], &room[0], control) > 0 &&
           getline(&line[1], &room[1], delay) > 0) {
        line[0][strcspn(line[0], "\n")] = '\0';
        fprintf(out, "%s,%s\n", line[0], queue_of(line[1]));
    }
    free(line[0]);
    free(line[1]);
    if (control && close_series(control, p, cell, "control", f)) {
        rc = ERR_OS;
    }
    if (delay && close_series(delay, p, cell, "delay", f)) {
        rc = ERR_OS;
    }
    return rc;
}

static void put_recovery(FILE *out, const struct plan_results *p, size_t cell)
{
    json_t *v;
    size_t i;

    fputs("second,media_mbps\n", out);
    json_array_foreach(json_object_get(p->runs[p->cells[cell].shown].doc, "media_after_bps"), i, v)
    {
        fprintf(out, "%zu", i + 1);
        put_number(out, json_number_value(v) * BPS_TO_MBPS);
        fputc('\n', out);
    }
}

static int put_pair(FILE *out, const struct plan_results *p, size_t pair, enum figure kind,
                    struct fault *f)
{
    const size_t *cells = p->pairs[pair].cells;
    int rc = put_series(out, p, cells[0], kind, plan_results_stack(p, cells[0]), true, f);

    return rc ? rc : put_series(out, p, cells[1], kind, plan_results_stack(p, cells[1]), false, f);
}

/* ---- of the plan: means of cells ---- */

/* The window a cell is compared in: "during" if it has one, else "whole". */
static const char *window_of(const json_t *summary, size_t cell)
{
    return summary_get(summary, cell, "link_utilisation_ratio", "during").n ? "during" : "whole";
}

/* The mean over runs of file time / ratio: how long the file would take alone on its part of the
 * link. */
static double ideal_s(const struct plan_results *p, size_t cell)
{
    double sum = 0;
    size_t n = 0;

    for (size_t i = 0; i < p->run_count; i++) {
        json_t *m = json_object_get(p->runs[i].doc, "metrics");
        double ratio =
            json_number_value(json_object_get(json_object_get(m, "file_time_ratio"), "whole"));

        if (p->runs[i].cell == cell && p->runs[i].valid && ratio > 0) {
            sum += json_number_value(json_object_get(json_object_get(m, "file_time_s"), "whole")) /
                   ratio;
            n++;
        }
    }
    return n ? sum / (double)n : NAN;
}

static void put_interval(FILE *f, struct summary_value v, double scale)
{
    put_number(f, v.n ? v.mean * scale : NAN);
    put_number(f, v.n ? (isfinite(v.ci_lo) ? v.ci_lo : v.mean) * scale : NAN);
    put_number(f, v.n ? (isfinite(v.ci_hi) ? v.ci_hi : v.mean) * scale : NAN);
}

static void put_comparison(FILE *f, const struct plan_results *p, const json_t *s, enum figure kind)
{
    fputs(kind == FIGURE_COMPARE_MEDIA
              ? "cell,before_mbps,before_lo,before_hi,during_mbps,during_lo,during_hi,after_mbps,"
                "after_lo,after_hi\n"
          : kind == FIGURE_COMPARE_DELAY
              ? "cell,p50_ms,p50_lo,p50_hi,p95_ms,p95_lo,p95_hi,p99_ms,p99_lo,p99_hi\n"
              : "cell,file_time_s,file_time_lo,file_time_hi,ideal_s\n",
          f);
    for (size_t c = 0; c < p->cell_count; c++) {
        const char *w = window_of(s, c);

        put_word(f, p->cells[c].label);
        if (kind == FIGURE_COMPARE_MEDIA) {
            put_interval(f, summary_get(s, c, "media_throughput_bps", "before"), BPS_TO_MBPS);
            put_interval(f, summary_get(s, c, "media_throughput_bps", w), BPS_TO_MBPS);
            put_interval(f, summary_get(s, c, "media_throughput_bps", "after"), BPS_TO_MBPS);
        } else if (kind == FIGURE_COMPARE_DELAY) {
            put_interval(f, summary_get(s, c, "media_owd_ms_p50", w), 1);
            put_interval(f, summary_get(s, c, "media_owd_ms_p95", w), 1);
            put_interval(f, summary_get(s, c, "media_owd_ms_p99", w), 1);
        } else {
            put_interval(f, summary_get(s, c, "file_time_s", "whole"), 1);
            put_number(f, ideal_s(p, c));
        }
        fputc('\n', f);
    }
}

/* ---- of the plan: a grid of paths ---- */

struct grid_value {
    double mean, low, high, extra;
};

static double mean_of(const json_t *s, size_t cell, const char *metric, const char *window)
{
    struct summary_value v = summary_get(s, cell, metric, window);

    return v.n ? v.mean : NAN;
}

static struct grid_value ranged(struct summary_value v, double scale, double extra)
{
    if (v.n == 0) {
        return (struct grid_value){NAN, NAN, NAN, NAN};
    }
    return (struct grid_value){v.mean * scale, v.min * scale, v.max * scale, extra};
}

static struct grid_value value_of(const struct plan_results *p, const json_t *s, size_t c,
                                  enum figure kind)
{
    double rate = json_number_value(json_object_get(p->cells[c].params, "rate_bps"));
    double delay = json_number_value(json_object_get(p->cells[c].params, "delay_ms"));
    const char *w = window_of(s, c);
    struct grid_value v = {NAN, NAN, NAN, NAN};

    switch (kind) {
    case FIGURE_GRID_MEDIA:
        return ranged(summary_get(s, c, "media_throughput_bps", w), BPS_TO_MBPS, NAN);
    case FIGURE_GRID_FILE:
        return ranged(summary_get(s, c, "file_time_s", "whole"), 1, ideal_s(p, c));
    case FIGURE_GRID_DELAY:
        v.mean = v.low = mean_of(s, c, "media_owd_ms_p50", w);
        v.high = mean_of(s, c, "media_owd_ms_p95", w);
        v.extra = mean_of(s, c, "media_owd_ms_p99", w);
        break;
    case FIGURE_GRID_RTT:
        v.mean = v.low = mean_of(s, c, "media_app_owd_ms_mean", w);
        v.high = mean_of(s, c, "media_app_owd_ms_p95", w);
        v.extra = mean_of(s, c, "rtt_ms_mean", w) - delay;
        break;
    case FIGURE_HEAT_MEDIA: v.mean = 100 * mean_of(s, c, "media_throughput_bps", w) / rate; break;
    case FIGURE_HEAT_DELAY: v.mean = mean_of(s, c, "media_owd_ms_p95", w); break;
    default: break;
    }
    return v;
}

static const char *grid_names(enum figure kind)
{
    switch (kind) {
    case FIGURE_GRID_MEDIA: return "media_mbps,min_mbps,max_mbps,none";
    case FIGURE_GRID_DELAY: return "owd_p50_ms,owd_low_ms,owd_p95_ms,owd_p99_ms";
    case FIGURE_GRID_FILE: return "file_time_s,min_s,max_s,ideal_s";
    case FIGURE_GRID_RTT: return "app_owd_mean_ms,app_owd_low_ms,app_owd_p95_ms,rtt_less_delay_ms";
    case FIGURE_HEAT_MEDIA: return "media_percent_of_link,none,none2,none3";
    default: return "owd_p95_ms,none,none2,none3";
    }
}

static void put_grid(FILE *f, const struct plan_results *p, const json_t *s, enum figure kind)
{
    struct figure_grid g;

    fprintf(f, "row,column,series,x,%s,setting,rate_bps,delay_ms,stack,valid_runs\n",
            grid_names(kind));
    if (!figure_grid_init(&g, p)) {
        return;
    }
    for (size_t c = 0; c < p->cell_count; c++) {
        struct figure_grid_place at = figure_grid_place(&g, p, c);
        struct grid_value v = value_of(p, s, c, kind);

        fprintf(f, "%zu,%zu,%zu,%zu", at.row + 1, at.column + 1, at.series + 1, at.x + 1);
        put_number(f, v.mean);
        put_number(f, v.low);
        put_number(f, v.high);
        put_number(f, v.extra);
        fputc(',', f);
        put_word(f, g.rows[at.row]);
        fprintf(f, ",%.0f,%g,%s,%zu\n", g.columns[at.column], g.xs[at.x], g.series[at.series],
                p->cells[c].runs - p->cells[c].invalid);
    }
}

static double most(double a, double b)
{
    return isfinite(b) && b > a ? b : a;
}

struct figure_extent figure_csv_extent(const struct plan_results *p, const json_t *summary,
                                       enum figure kind)
{
    struct figure_extent e = {.all = SCALE_LEAST, .across = SCALE_LEAST};
    struct figure_grid g;

    for (size_t i = 0; i < FIGURE_GRID_MAX; i++) {
        e.columns[i] = SCALE_LEAST;
    }
    if (!figure_grid_init(&g, p)) {
        return e;
    }
    for (size_t c = 0; c < p->cell_count; c++) {
        struct grid_value v = value_of(p, summary, c, kind);
        struct figure_grid_place at = figure_grid_place(&g, p, c);
        double *column = &e.columns[at.column];
        double high = most(most(0, v.mean), v.high);

        if (kind == FIGURE_GRID_RTT) {
            e.across = most(e.across, v.extra);
        } else {
            high = most(high, v.extra);
        }
        e.rows[at.row] |= isfinite(v.mean);
        *column = most(*column, high);
        e.all = most(e.all, high);
    }
    return e;
}

/* ---- which ---- */

static int put(FILE *out, const struct plan_results *p, const json_t *summary, enum figure kind,
               size_t number, struct fault *f)
{
    if (kind == FIGURE_RECOVERY) {
        put_recovery(out, p, number);
    } else if (kind == FIGURE_CONTROL) {
        return put_control(out, p, number, f);
    } else if (kind < FIGURE_CELL_KINDS) {
        return put_series(out, p, number, kind, NULL, true, f);
    } else if (kind >= FIGURE_PLAN_KINDS) {
        return put_pair(out, p, number, kind, f);
    } else if (kind >= FIGURE_GRID_MEDIA) {
        put_grid(out, p, summary, kind);
    } else {
        put_comparison(out, p, summary, kind);
    }
    return 0;
}

int figure_csv_write(const struct plan_results *p, const json_t *summary, enum figure kind,
                     size_t number, struct fault *f)
{
    char name[PATH_BYTES], path[2 * PATH_BYTES];
    int rc, failed;
    FILE *out;

    figures_path(name, sizeof name, p, kind, number, "csv");
    snprintf(path, sizeof path, "%s/%s", p->dir, name);
    out = fopen(path, "we");
    if (!out) {
        return fault_set(f, ERR_OS, "%s: %s", path, strerror(errno));
    }
    rc = put(out, p, summary, kind, number, f);
    failed = ferror(out);
    failed |= fclose(out) != 0;
    return rc ? rc : failed ? fault_set(f, ERR_OS, "%s: %s", path, strerror(errno)) : 0;
}
