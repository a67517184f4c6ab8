/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/summary.h"

#include "agents/base/err.h"
#include "analysis/report/difference.h"

#include <errno.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES 4096
#define CONFIDENCE_TWO_SIDED 0.975

static json_t *real_or_null(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

struct summary_value summary_statistics(const double *x, size_t n)
{
    struct summary_value v = {n, NAN, NAN, NAN, NAN, NAN, NAN};
    double half;

    if (n == 0) {
        return v;
    }
    v.mean = gsl_stats_mean(x, 1, n);
    v.min = gsl_stats_min(x, 1, n);
    v.max = gsl_stats_max(x, 1, n);
    if (n >= 2) {
        v.sd = gsl_stats_sd_m(x, 1, n, v.mean);
        half = gsl_cdf_tdist_Pinv(CONFIDENCE_TWO_SIDED, (double)(n - 1)) * v.sd / sqrt((double)n);
        v.ci_lo = v.mean - half;
        v.ci_hi = v.mean + half;
    }
    return v;
}

static json_t *value_json(const double *x, size_t n)
{
    struct summary_value v = summary_statistics(x, n);
    json_t *ci = n >= 2 ? json_pack("[f,f]", v.ci_lo, v.ci_hi) : json_null();

    return json_pack("{s:I,s:f,s:o,s:o,s:f,s:f}", "n", (json_int_t)n, "mean", v.mean, "sd",
                     real_or_null(v.sd), "ci95", ci, "min", v.min, "max", v.max);
}

/* The valid runs of one cell: the "metrics" of each, and room for a value of each. */
struct sample {
    json_t **runs;
    double *values;
    size_t count;
};

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
        json_t *v = json_object_get(json_object_get(s->runs[i], metric), window);

        if (json_is_number(v)) {
            s->values[n++] = json_number_value(v);
        }
    }
    return n && json_object_set_new(windows, window, value_json(s->values, n)) ? ERR_NOMEM : 0;
}

static int sample_init(struct sample *s, const struct plan_results *p, size_t cell)
{
    *s = (struct sample){.runs = calloc(p->run_count, sizeof *s->runs),
                         .values = calloc(p->run_count, sizeof *s->values)};
    if (!s->runs || !s->values) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < p->run_count; i++) {
        if (p->runs[i].cell == cell && p->runs[i].valid) {
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
    free(s.runs);
    free(s.values);
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
    json_t *ci = json_object_get(v, "ci95");

    return (struct summary_value){
        .n = (size_t)json_integer_value(json_object_get(v, "n")),
        .mean = number_or_nan(json_object_get(v, "mean")),
        .sd = number_or_nan(json_object_get(v, "sd")),
        .ci_lo = number_or_nan(json_array_get(ci, 0)),
        .ci_hi = number_or_nan(json_array_get(ci, 1)),
        .min = number_or_nan(json_object_get(v, "min")),
        .max = number_or_nan(json_object_get(v, "max")),
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
    fputs("metric,window,n,mean,sd,ci95_lo,ci95_hi,min,max\n", f);
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
