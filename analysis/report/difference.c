/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/difference.h"

#include "agents/base/err.h"
#include "analysis/report/statistics.h"
#include "analysis/report/summary.h"

#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 160

const struct difference_row difference_rows[] = {
    {"file time", "file_time_s", "whole"},
    {"file time over ideal", "file_time_ratio", "whole"},
    {"media before", "media_throughput_bps", "before"},
    {"media during", "media_throughput_bps", "during"},
    {"media after", "media_throughput_bps", "after"},
    {"one-way delay before, mean", "media_owd_ms_mean", "before"},
    {"one-way delay during, mean", "media_owd_ms_mean", "during"},
    {"one-way delay during, p50", "media_owd_ms_p50", "during"},
    {"one-way delay during, p95", "media_owd_ms_p95", "during"},
    {"one-way delay during, p99", "media_owd_ms_p99", "during"},
    {"delay by application, p95", "media_app_owd_ms_p95", "during"},
    {"sender queue, p95", "media_sender_queue_ms_p95", "during"},
    {"jitter, mean", "media_jitter_ms_mean", "during"},
    {"media loss", "media_loss_ratio", "during"},
    {"frames late", "media_late_ratio", "during"},
    {"freezes", "media_freeze_s", "during"},
    {"link use", "link_utilisation_ratio", "during"},
};

const size_t difference_row_count = sizeof difference_rows / sizeof *difference_rows;

/* ---- reckoning ---- */

struct difference_value difference_of(const double *first, const double *second, size_t n,
                                      double *room, const char *name)
{
    struct difference_value v = {n, {NAN, NAN}, NAN, NAN, NAN, NAN, NAN};

    if (n == 0) {
        return v;
    }
    for (size_t i = 0; i < n; i++) {
        room[i] = second[i] - first[i];
    }
    v.means[0] = gsl_stats_mean(first, 1, n);
    v.means[1] = gsl_stats_mean(second, 1, n);
    v.mean = gsl_stats_mean(room, 1, n);
    statistics_interval(room, n, name, &v.ci_lo, &v.ci_hi);
    v.effect = statistics_effect(room, n);
    v.dominance = statistics_dominance(first, second, n);
    return v;
}

/* ---- of a plan ---- */

/* The metrics of two valid runs of equal seeds. */
struct twins {
    json_t *metrics[2];
};

struct twin_list {
    struct twins *twins;
    double *values; /* room for three of each */
    size_t count;
};

static const json_t *seed_of(const struct plan_result_run *r)
{
    return json_object_get(r->doc, "seed");
}

static const struct plan_result_run *twin_of(const struct plan_results *p,
                                             const struct plan_result_run *r, size_t cell)
{
    for (size_t i = 0; i < p->run_count; i++) {
        const struct plan_result_run *other = &p->runs[i];

        if (other->cell == cell && other->valid && json_equal(seed_of(r), seed_of(other))) {
            return other;
        }
    }
    return NULL;
}

static int twins_find(struct twin_list *t, const struct plan_results *p,
                      const struct plan_result_pair *pair)
{
    *t = (struct twin_list){.twins = calloc(p->run_count, sizeof *t->twins),
                            .values = calloc(3 * p->run_count, sizeof *t->values)};
    if (!t->twins || !t->values) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < p->run_count; i++) {
        const struct plan_result_run *r = &p->runs[i], *other;

        if (r->cell != pair->cells[0] || !r->valid) {
            continue;
        }
        other = twin_of(p, r, pair->cells[1]);
        if (other) {
            t->twins[t->count].metrics[0] = json_object_get(r->doc, "metrics");
            t->twins[t->count++].metrics[1] = json_object_get(other->doc, "metrics");
        }
    }
    return 0;
}

static json_t *real_or_null(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

static json_t *value_json(const struct difference_value *v)
{
    return json_pack("{s:I,s:[f,f],s:f,s:o,s:o,s:f}", "n", (json_int_t)v->n, "means", v->means[0],
                     v->means[1], "difference", v->mean, "ci95",
                     v->n >= 2 ? json_pack("[f,f]", v->ci_lo, v->ci_hi) : json_null(), "cohens_dz",
                     real_or_null(v->effect), "cliffs_delta", v->dominance);
}

/* Adds metric in window, unless it is there or no twins both have it. A time that never came in one
 * of them has no difference, and the others have none that stands for all. */
static int add_value(json_t *out, const struct twin_list *t, const char *metric, const char *window)
{
    json_t *windows = json_object_get(out, metric);
    double *first = t->values, *second = first + t->count;
    struct difference_value v;
    char name[NAME_BYTES];
    size_t n = 0;

    if (json_object_get(windows, window)) {
        return 0;
    }
    for (size_t i = 0; i < t->count; i++) {
        json_t *a = json_object_get(json_object_get(t->twins[i].metrics[0], metric), window);
        json_t *b = json_object_get(json_object_get(t->twins[i].metrics[1], metric), window);

        if (metric_time_of(a).never || metric_time_of(b).never) {
            return 0;
        }
        if (json_is_number(a) && json_is_number(b)) {
            first[n] = json_number_value(a);
            second[n++] = json_number_value(b);
        }
    }
    if (n == 0) {
        return 0;
    }
    if (!windows && json_object_set_new(out, metric, json_object())) {
        return ERR_NOMEM;
    }
    snprintf(name, sizeof name, "%s %s", metric, window);
    v = difference_of(first, second, n, second + t->count, name);
    return json_object_set_new(json_object_get(out, metric), window, value_json(&v)) ? ERR_NOMEM
                                                                                     : 0;
}

static json_t *metrics_json(const struct plan_results *p, const struct plan_result_pair *pair)
{
    json_t *out = json_object(), *windows, *unused;
    const char *metric, *window;
    struct twin_list t;
    int rc = twins_find(&t, p, pair);

    for (size_t i = 0; i < t.count && !rc; i++) {
        json_object_foreach(t.twins[i].metrics[0], metric, windows)
        {
            json_object_foreach(windows, window, unused)
            {
                rc |= add_value(out, &t, metric, window);
            }
        }
    }
    free(t.twins);
    free(t.values);
    if (rc) {
        json_decref(out);
        return NULL;
    }
    return out;
}

/* What both cells are: their parameters without the stack. */
static json_t *params_json(const struct plan_results *p, const struct plan_result_pair *pair)
{
    json_t *params = json_copy(p->cells[pair->cells[0]].params);

    json_object_del(params, "stack");
    return params;
}

json_t *difference_all(const struct plan_results *p)
{
    json_t *all = json_array();

    for (size_t i = 0; i < p->pair_count; i++) {
        const struct plan_result_pair *pair = &p->pairs[i];

        if (json_array_append_new(
                all, json_pack("{s:[s,s],s:[I,I],s:o,s:i,s:o}", "stacks",
                               plan_results_stack(p, pair->cells[0]),
                               plan_results_stack(p, pair->cells[1]), "cells",
                               (json_int_t)pair->cells[0], (json_int_t)pair->cells[1], "params",
                               params_json(p, pair), "resamples", STATISTICS_RESAMPLES, "metrics",
                               metrics_json(p, pair)))) {
            json_decref(all);
            return NULL;
        }
    }
    return all;
}

/* ---- reading and showing ---- */

static double number_or_nan(const json_t *v)
{
    return json_is_number(v) ? json_number_value(v) : NAN;
}

struct difference_value difference_get(const json_t *summary, size_t pair, const char *metric,
                                       const char *window)
{
    json_t *d = json_array_get(json_object_get(summary, "differences"), pair);
    json_t *v = json_object_get(json_object_get(json_object_get(d, "metrics"), metric), window);
    json_t *means = json_object_get(v, "means"), *ci = json_object_get(v, "ci95");

    return (struct difference_value){
        .n = (size_t)json_integer_value(json_object_get(v, "n")),
        .means = {number_or_nan(json_array_get(means, 0)), number_or_nan(json_array_get(means, 1))},
        .mean = number_or_nan(json_object_get(v, "difference")),
        .ci_lo = number_or_nan(json_array_get(ci, 0)),
        .ci_hi = number_or_nan(json_array_get(ci, 1)),
        .effect = number_or_nan(json_object_get(v, "cohens_dz")),
        .dominance = number_or_nan(json_object_get(v, "cliffs_delta")),
    };
}

/* The mean over the valid runs of one cell of the pair. */
static double own_mean(const json_t *summary, size_t pair, size_t which,
                       const struct difference_row *r)
{
    json_t *d = json_array_get(json_object_get(summary, "differences"), pair);
    json_t *index = json_array_get(json_object_get(d, "cells"), which);
    size_t cell = (size_t)json_integer_value(index);
    const char *window = r->window;
    struct summary_value v;

    if (strcmp(window, "during") == 0 &&
        summary_get(summary, cell, "link_utilisation_ratio", "during").n == 0) {
        window = "whole";
    }
    v = summary_get(summary, cell, r->metric, window);
    return v.n ? v.mean : NAN;
}

bool difference_has_any(const struct difference_value *v)
{
    return v->n > 0 || isfinite(v->means[0]) || isfinite(v->means[1]);
}

static bool has_twins(const json_t *summary, size_t pair)
{
    return difference_get(summary, pair, "link_utilisation_ratio", "whole").n > 0;
}

struct difference_value difference_row_get(const json_t *summary, size_t pair, size_t row)
{
    const struct difference_row *r = &difference_rows[row];
    const char *window = r->window;

    struct difference_value v;

    if (strcmp(window, "during") == 0 &&
        difference_get(summary, pair, "link_utilisation_ratio", "during").n == 0) {
        window = "whole";
    }
    v = difference_get(summary, pair, r->metric, window);
    if (v.n == 0 && !has_twins(summary, pair)) {
        v.means[0] = own_mean(summary, pair, 0, r);
        v.means[1] = own_mean(summary, pair, 1, r);
    }
    return v;
}

/* What is shown as zero has no sign of its own. */
static double shown(double v, const struct catalogue_entry *e)
{
    double scaled = v * e->scale;

    return fabs(scaled) < 0.5 * pow(10, -e->decimals) ? 0 : scaled;
}

void difference_text(char out[DIFFERENCE_TEXT_BYTES], double v, const struct catalogue_entry *e)
{
    if (isfinite(v)) {
        snprintf(out, DIFFERENCE_TEXT_BYTES, "%+.*f", e->decimals, shown(v, e));
    } else {
        snprintf(out, DIFFERENCE_TEXT_BYTES, "-");
    }
}

void difference_interval_text(char out[DIFFERENCE_TEXT_BYTES], const struct difference_value *v,
                              const struct catalogue_entry *e)
{
    if (isfinite(v->ci_lo)) {
        snprintf(out, DIFFERENCE_TEXT_BYTES, "%+.*f to %+.*f", e->decimals, shown(v->ci_lo, e),
                 e->decimals, shown(v->ci_hi, e));
    } else {
        snprintf(out, DIFFERENCE_TEXT_BYTES, "-");
    }
}
