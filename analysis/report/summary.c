/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/summary.h"

#include "agents/base/err.h"
#include "analysis/report/difference.h"
#include "analysis/report/statistics.h"

#include <errno.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES 4096
#define NAME_BYTES 160

static json_t *real_or_null(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

static json_t *pair_or_null(double lo, double hi)
{
    return isfinite(lo) ? json_pack("[f,f]", lo, hi) : json_null();
}

struct summary_value summary_statistics(double *x, size_t n, const char *name)
{
    struct summary_value v = {n, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, 0, NAN};

    if (n == 0) {
        return v;
    }
    gsl_sort(x, 1, n);
    v.mean = gsl_stats_mean(x, 1, n);
    v.min = gsl_stats_min(x, 1, n);
    v.max = gsl_stats_max(x, 1, n);
    if (n >= 2) {
        v.sd = gsl_stats_sd_m(x, 1, n, v.mean);
    }
    statistics_interval(x, n, name, &v.ci_lo, &v.ci_hi);
    v.median = statistics_median(x, n);
    statistics_fences(x, n, &v.fence_lo, &v.fence_hi);
    return v;
}

/* Of all runs, those in which it never came being the last. */
static double median_of_all(const double *sorted, size_t n, size_t never)
{
    size_t all = n + never;

    return all && all / 2 < n ? (sorted[(all - 1) / 2] + sorted[all / 2]) / 2 : NAN;
}

struct summary_value summary_times(const struct metric_time *t, size_t n, double *room,
                                   const char *name)
{
    struct summary_value v;
    size_t came = 0, never = 0;
    double waited_s = INFINITY;

    for (size_t i = 0; i < n; i++) {
        if (t[i].never) {
            never++;
            waited_s = fmin(waited_s, t[i].s);
        } else {
            room[came++] = t[i].s;
        }
    }
    v = summary_statistics(room, came, name);
    if (never) {
        v.mean = v.sd = v.ci_lo = v.ci_hi = v.max = v.fence_lo = v.fence_hi = NAN;
        v.median = median_of_all(room, came, never);
        v.never = never;
        v.waited_s = waited_s;
    }
    return v;
}

bool summary_exists(const struct summary_value *v)
{
    return v->n + v->never > 0;
}

double summary_half(const struct summary_value *v)
{
    return (v->ci_hi - v->ci_lo) / 2;
}

/* The valid runs of one cell: the documents and the "metrics" of each, and room for a value of
 * each, twice. */
struct sample {
    json_t **docs, **runs;
    struct metric_time *values;
    double *room;
    size_t count;
};

/* The repetitions that lie beyond the fences. */
static json_t *outliers_json(const struct sample *s, const struct summary_value *v,
                             const char *metric, const char *window)
{
    json_t *list = json_array();

    for (size_t i = 0; i < s->count; i++) {
        json_t *x = json_object_get(json_object_get(s->runs[i], metric), window);
        json_t *repetition = json_object_get(s->docs[i], "repetition");

        if (json_is_number(x) &&
            (json_number_value(x) < v->fence_lo || json_number_value(x) > v->fence_hi) &&
            json_array_append_new(list,
                                  json_pack("{s:O?,s:O}", "repetition", repetition, "value", x))) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *value_json(const struct sample *s, size_t n, const char *metric, const char *window)
{
    struct summary_value v;
    char name[NAME_BYTES];
    json_t *o;

    snprintf(name, sizeof name, "%s %s", metric, window);
    v = summary_times(s->values, n, s->room, name);
    o = json_pack("{s:I,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "n", (json_int_t)v.n, "mean",
                  real_or_null(v.mean), "sd", real_or_null(v.sd), "ci95",
                  pair_or_null(v.ci_lo, v.ci_hi), "min", real_or_null(v.min), "max",
                  real_or_null(v.max), "median", real_or_null(v.median), "fences",
                  v.n >= 2 ? pair_or_null(v.fence_lo, v.fence_hi) : json_null(), "outliers",
                  outliers_json(s, &v, metric, window));
    if (v.never && (json_object_set_new(o, "never", json_integer((json_int_t)v.never)) ||
                    json_object_set_new(o, METRIC_NEVER, json_real(v.waited_s)))) {
        json_decref(o);
        return NULL;
    }
    return o;
}

/* Adds metric in window unless it is there. */
static int add_value(json_t *metrics, const struct sample *s, const char *metric,
                     const char *window)
{
    json_t *windows = json_object_get(metrics, metric);
    size_t n = 0;

    if (json_object_get(windows, window)) {
        return 0;
    }
    if (!windows) {
        windows = json_object();
        if (json_object_set_new(metrics, metric, windows)) {
            return ERR_NOMEM;
        }
    }
    for (size_t i = 0; i < s->count; i++) {
        s->values[n] = metric_time_of(json_object_get(json_object_get(s->runs[i], metric), window));
        n += isfinite(s->values[n].s);
    }
    return n && json_object_set_new(windows, window, value_json(s, n, metric, window)) ? ERR_NOMEM
                                                                                       : 0;
}

static int sample_init(struct sample *s, const struct plan_results *p, size_t cell)
{
    *s = (struct sample){.docs = calloc(p->run_count, sizeof *s->docs),
                         .runs = calloc(p->run_count, sizeof *s->runs),
                         .values = calloc(p->run_count, sizeof *s->values),
                         .room = calloc(p->run_count, sizeof *s->room)};
    if (!s->docs || !s->runs || !s->values || !s->room) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < p->run_count; i++) {
        if (p->runs[i].cell == cell && p->runs[i].valid) {
            s->docs[s->count] = p->runs[i].doc;
            s->runs[s->count++] = json_object_get(p->runs[i].doc, "metrics");
        }
    }
    return 0;
}

static json_t *cell_metrics(const struct plan_results *p, size_t cell)
{
    json_t *metrics = json_object(), *windows, *v;
    const char *metric, *window;
    struct sample s;
    int rc = sample_init(&s, p, cell);

    for (size_t i = 0; i < s.count && !rc; i++) {
        json_object_foreach(s.runs[i], metric, windows)
        {
            json_object_foreach(windows, window, v)
            {
                rc |= add_value(metrics, &s, metric, window);
            }
        }
    }
    free(s.docs);
    free(s.runs);
    free(s.values);
    free(s.room);
    if (rc) {
        json_decref(metrics);
        return NULL;
    }
    return metrics;
}

json_t *summary_new(const struct plan_results *p)
{
    json_t *cells = json_array(), *differences = difference_all(p);

    for (size_t c = 0; c < p->cell_count; c++) {
        if (json_array_append_new(
                cells, json_pack("{s:O,s:I,s:I,s:o}", "params", p->cells[c].params, "runs",
                                 (json_int_t)p->cells[c].runs, "invalid",
                                 (json_int_t)p->cells[c].invalid, "metrics", cell_metrics(p, c)))) {
            json_decref(cells);
            json_decref(differences);
            return NULL;
        }
    }
    return json_pack("{s:i,s:s,s:s,s:o,s:o,s:[]}", "schema", SUMMARY_SCHEMA, "plan", p->name,
                     "link", p->link, "cells", cells, "differences", differences, "expect");
}

static double number_or_nan(const json_t *v)
{
    return json_is_number(v) ? json_number_value(v) : NAN;
}

static struct summary_value value_of(const json_t *v)
{
    json_t *ci = json_object_get(v, "ci95"), *fences = json_object_get(v, "fences");

    return (struct summary_value){
        .n = (size_t)json_integer_value(json_object_get(v, "n")),
        .mean = number_or_nan(json_object_get(v, "mean")),
        .sd = number_or_nan(json_object_get(v, "sd")),
        .ci_lo = number_or_nan(json_array_get(ci, 0)),
        .ci_hi = number_or_nan(json_array_get(ci, 1)),
        .min = number_or_nan(json_object_get(v, "min")),
        .max = number_or_nan(json_object_get(v, "max")),
        .median = number_or_nan(json_object_get(v, "median")),
        .fence_lo = number_or_nan(json_array_get(fences, 0)),
        .fence_hi = number_or_nan(json_array_get(fences, 1)),
        .never = (size_t)json_integer_value(json_object_get(v, "never")),
        .waited_s = number_or_nan(json_object_get(v, METRIC_NEVER)),
    };
}

struct summary_value summary_get(const json_t *summary, size_t cell, const char *metric,
                                 const char *window)
{
    json_t *c = json_array_get(json_object_get(summary, "cells"), cell);
    json_t *windows = json_object_get(json_object_get(c, "metrics"), metric);

    return value_of(json_object_get(windows, window));
}

/* ---- summary.csv ---- */

static void put_text(FILE *f, const char *s)
{
    if (!strpbrk(s, ",\"\n")) {
        fputs(s, f);
        return;
    }
    fputc('"', f);
    for (; *s; s++) {
        if (*s == '"') {
            fputc('"', f);
        }
        fputc(*s, f);
    }
    fputc('"', f);
}

static void put_json(FILE *f, const json_t *v)
{
    if (json_is_string(v)) {
        put_text(f, json_string_value(v));
    } else if (json_is_number(v)) {
        fprintf(f, "%.12g", json_number_value(v));
    }
}

static void put_number(FILE *f, double v)
{
    fputc(',', f);
    if (isfinite(v)) {
        fprintf(f, "%.12g", v);
    }
}

/* The union of all cells' parameters, in order of appearance. */
static json_t *param_keys(const json_t *cells)
{
    json_t *keys = json_object(), *cell, *v;
    const char *key;
    size_t i;

    json_array_foreach(cells, i, cell)
    {
        json_object_foreach(json_object_get(cell, "params"), key, v)
        {
            json_object_set_new(keys, key, json_true());
        }
    }
    return keys;
}

/* Their repetitions, with spaces between. */
static void put_outliers(FILE *f, const json_t *outliers)
{
    json_t *o;
    size_t i;

    fputc(',', f);
    json_array_foreach(outliers, i, o)
    {
        fprintf(f, "%s%" JSON_INTEGER_FORMAT, i ? " " : "",
                json_integer_value(json_object_get(o, "repetition")));
    }
}

static void write_cell(FILE *f, json_t *cell, json_t *keys)
{
    json_t *params = json_object_get(cell, "params"), *windows, *v, *unused;
    const char *metric, *window, *key;

    json_object_foreach(json_object_get(cell, "metrics"), metric, windows)
    {
        json_object_foreach(windows, window, v)
        {
            struct summary_value s = value_of(v);

            json_object_foreach(keys, key, unused)
            {
                put_json(f, json_object_get(params, key));
                fputc(',', f);
            }
            fprintf(f, "%s,%s,%zu", metric, window, s.n);
            put_number(f, s.mean);
            put_number(f, s.sd);
            put_number(f, s.ci_lo);
            put_number(f, s.ci_hi);
            put_number(f, s.min);
            put_number(f, s.max);
            put_number(f, s.median);
            put_outliers(f, json_object_get(v, "outliers"));
            fprintf(f, ",%zu", s.never);
            put_number(f, s.waited_s);
            fputc('\n', f);
        }
    }
}

static int write_csv(const json_t *summary, const char *path)
{
    json_t *cells = json_object_get(summary, "cells"), *keys, *cell, *unused;
    FILE *f = fopen(path, "we");
    const char *key;
    int failed;
    size_t i;

    if (!f) {
        return ERR_OS;
    }
    keys = param_keys(cells);
    json_object_foreach(keys, key, unused)
    {
        put_text(f, key);
        fputc(',', f);
    }
    fputs("metric,window,n,mean,sd,ci95_lo,ci95_hi,min,max,median,outliers,never," METRIC_NEVER
          "\n",
          f);
    json_array_foreach(cells, i, cell)
    {
        write_cell(f, cell, keys);
    }
    json_decref(keys);
    failed = ferror(f);
    return fclose(f) || failed ? ERR_OS : 0;
}

int summary_write(const json_t *summary, const char *dir, struct fault *f)
{
    char path[PATH_BYTES];

    snprintf(path, sizeof path, "%s/summary.json", dir);
    if (json_dump_file(summary, path, JSON_INDENT(1) | JSON_REAL_PRECISION(12))) {
        return fault_set(f, ERR_OS, "%s: %s", path, strerror(errno));
    }
    snprintf(path, sizeof path, "%s/summary.csv", dir);
    return write_csv(summary, path) ? fault_set(f, ERR_OS, "%s: %s", path, strerror(errno)) : 0;
}
