/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/play_pool.h"

#include "analysis/report/play_sample.h"
#include "analysis/report/statistics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WINDOWS 4

static const char *const windows[WINDOWS] = {"whole", "before", "during", "after"};

const struct play_pool_metric play_pool_metrics[] = {
    {"playback_latency_ms_p50", "playback latency, median"},
    {"playback_latency_ms_p90", "playback latency, p90"},
    {"playback_latency_ms_p99", "playback latency, p99"},
    {"stutters_per_track", "stutters per track"},
    {"stutter_time_s", "stutter time per track"},
    {"download_bandwidth_bps_p50", "download bandwidth, median"},
    {"download_bandwidth_bps_p10", "download bandwidth, p10"},
    {"download_bandwidth_bps_p01", "download bandwidth, p01"},
};

const size_t play_pool_metric_count = PLAY_SAMPLE_METRICS;

/* ---- documents ---- */

static json_t *real_or_null(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

static json_t *interval_json(double lo, double hi)
{
    return isfinite(lo) ? json_pack("[f,f]", lo, hi) : json_null();
}

/* Adds the plays of an arm: how many, and how many of them failed or were cut. */
static int put_counts(json_t *o, const struct play_sample *a)
{
    struct play_sums s = {0};

    for (size_t i = 0; i < a->count; i++) {
        s.plays += a->runs[i].plays;
        s.failed += a->runs[i].failed;
        s.cut += a->runs[i].cut;
    }
    return json_object_set_new(o, "plays", json_integer((json_int_t)s.plays)) ||
           json_object_set_new(o, "failed", json_integer((json_int_t)s.failed)) ||
           json_object_set_new(o, "cut", json_integer((json_int_t)s.cut));
}

static json_t *cell_window(json_t *const *docs, size_t n, const char *window)
{
    struct play_strata one = {&n, 1};
    struct play_estimate e;
    json_t *o = json_object(), *metrics = json_object();
    struct play_sample a;
    int rc = !o || !metrics || !play_sample_init(&a, docs, n, window);

    if (!rc) {
        rc = put_counts(o, &a) || !play_sample_estimate(&e, &a, NULL, &one, window);
        for (int m = 0; m < PLAY_SAMPLE_METRICS && !rc; m++) {
            rc = isfinite(e.a[m]) &&
                 json_object_set_new(metrics, play_pool_metrics[m].name,
                                     json_pack("{s:f,s:o}", "value", e.a[m], "ci95",
                                               interval_json(e.lo[m], e.hi[m])));
        }
        play_sample_fini(&a);
    }
    if (rc || json_object_set(o, "metrics", metrics)) {
        json_decref(o);
        o = NULL;
    }
    json_decref(metrics);
    return o;
}

static bool has_window(json_t *const *docs, size_t n, const char *window)
{
    for (size_t i = 0; i < n; i++) {
        if (json_integer_value(json_object_get(play_sample_share(docs[i], window), "on")) > 0) {
            return true;
        }
    }
    return false;
}

/* The two arms of a comparison: documents of equal seeds at equal places, stratum by stratum. */
struct pairing {
    json_t **a, **b;
    size_t count;
    size_t *sizes;
    size_t strata;
};

static json_t *change_json(const struct play_estimate *e, int m)
{
    return json_pack("{s:o,s:o,s:o,s:o}", "a", real_or_null(e->a[m]), "b", real_or_null(e->b[m]),
                     "change", real_or_null(e->change[m]), "ci95",
                     interval_json(e->lo[m], e->hi[m]));
}

static json_t *compare_window(const struct pairing *p, const char *window, const char *label)
{
    struct play_strata s = {p->sizes, p->strata};
    json_t *o = NULL, *metrics = json_object();
    char name[PLAY_POOL_LABEL_MAX + 20];
    struct play_sample a = {0}, b = {0};
    struct play_estimate e;
    int rc = !metrics || !play_sample_init(&a, p->a, p->count, window) ||
             !play_sample_init(&b, p->b, p->count, window);

    snprintf(name, sizeof name, "%s %s", label, window);
    rc = rc || !play_sample_estimate(&e, &a, &b, &s, name);
    for (int m = 0; m < PLAY_SAMPLE_METRICS && !rc; m++) {
        rc = isfinite(e.a[m]) &&
             json_object_set_new(metrics, play_pool_metrics[m].name, change_json(&e, m));
    }
    if (!rc) {
        o = json_pack("{s:O,s:{s:o,s:o}}", "metrics", metrics, "slow_gain", "value",
                      real_or_null(e.change[PLAY_SAMPLE_METRICS]), "ci95",
                      interval_json(e.lo[PLAY_SAMPLE_METRICS], e.hi[PLAY_SAMPLE_METRICS]));
    }
    play_sample_fini(&a);
    play_sample_fini(&b);
    json_decref(metrics);
    return o;
}

static json_t *compare(const struct pairing *p, const char *label)
{
    json_t *o = json_object();

    for (int w = 0; o && w < WINDOWS; w++) {
        if (has_window(p->a, p->count, windows[w]) && has_window(p->b, p->count, windows[w]) &&
            json_object_set_new(o, windows[w], compare_window(p, windows[w], label))) {
            json_decref(o);
            return NULL;
        }
    }
    return o;
}

/* ---- cells and pairs of them ---- */

/* The valid runs of a cell that have plays; out has room for all runs. */
static size_t docs_of(const struct plan_results *p, size_t cell, json_t **out)
{
    size_t n = 0;

    for (size_t i = 0; i < p->run_count; i++) {
        const struct plan_result_run *r = &p->runs[i];

        if (r->cell == cell && r->valid && json_object_get(r->doc, "plays")) {
            out[n++] = r->doc;
        }
    }
    return n;
}

static json_t *cell_json(const struct plan_results *p, size_t cell, json_t **room)
{
    size_t n = docs_of(p, cell, room);
    json_t *o = json_object();

    for (int w = 0; o && w < WINDOWS; w++) {
        if (has_window(room, n, windows[w]) &&
            json_object_set_new(o, windows[w], cell_window(room, n, windows[w]))) {
            json_decref(o);
            return NULL;
        }
    }
    return json_pack("{s:I,s:I,s:o}", "cell", (json_int_t)cell, "runs", (json_int_t)n, "windows",
                     o);
}

static const char *param(const struct plan_results *p, size_t cell, const char *key)
{
    const char *s = json_string_value(json_object_get(p->cells[cell].params, key));

    return s ? s : "";
}

static bool equal_but_preset(json_t *a, json_t *b)
{
    const char *key;
    json_t *v;

    if (json_object_size(a) != json_object_size(b)) {
        return false;
    }
    json_object_foreach(a, key, v)
    {
        if (strcmp(key, "preset") != 0 && !json_equal(v, json_object_get(b, key))) {
            return false;
        }
    }
    return true;
}

static bool are_a_pair(const struct plan_results *p, size_t a, size_t b)
{
    json_t *in_grid = json_object_get(p->runs[p->cells[a].shown].doc, "cell");

    return strcmp(param(p, a, "preset"), "cubic") == 0 &&
           strcmp(param(p, b, "preset"), "bbr") == 0 &&
           equal_but_preset(p->cells[a].params, p->cells[b].params) &&
           equal_but_preset(in_grid, json_object_get(p->runs[p->cells[b].shown].doc, "cell"));
}

/* What both cells have of the grid: the values alone. */
static void label_of(const struct plan_results *p, size_t cell, char out[PLAY_POOL_LABEL_MAX])
{
    size_t used = 0;
    const char *key;
    json_t *v;

    snprintf(out, PLAY_POOL_LABEL_MAX, "%s", param(p, cell, "stack"));
    json_object_foreach(json_object_get(p->runs[p->cells[cell].shown].doc, "cell"), key, v)
    {
        if (strcmp(key, "preset") != 0 && json_is_string(v) && used < PLAY_POOL_LABEL_MAX) {
            used += (size_t)snprintf(out + used, PLAY_POOL_LABEL_MAX - used, "%s%s",
                                     used ? " " : "", json_string_value(v));
        }
    }
}

static json_int_t seed_of(const json_t *doc)
{
    return json_integer_value(json_object_get(doc, "seed"));
}

/* Adds the runs of equal seeds of two cells as one stratum. room is for the runs of both. */
static void add_stratum(struct pairing *g, const struct plan_results *p, size_t a, size_t b,
                        json_t **room)
{
    size_t of_a = docs_of(p, a, room), of_b = docs_of(p, b, room + of_a), before = g->count;

    for (size_t i = 0; i < of_a; i++) {
        for (size_t k = 0; k < of_b; k++) {
            if (seed_of(room[i]) == seed_of(room[of_a + k])) {
                g->a[g->count] = room[i];
                g->b[g->count++] = room[of_a + k];
                break;
            }
        }
    }
    if (g->count > before) {
        g->sizes[g->strata++] = g->count - before;
    }
}

static json_t *comparison_json(const struct plan_results *p, const struct pairing *g, size_t a,
                               size_t b, bool all)
{
    char label[PLAY_POOL_LABEL_MAX] = "all together";
    json_t *o;

    if (!all) {
        label_of(p, a, label);
    }
    o = json_pack("{s:s,s:s,s:s,s:s,s:I,s:o}", "a", "cubic", "b", "bbr", "label", label, "stack",
                  param(p, a, "stack"), "runs", (json_int_t)g->count, "windows", compare(g, label));
    if (o && !all &&
        json_object_set_new(o, "cells", json_pack("[I,I]", (json_int_t)a, (json_int_t)b))) {
        json_decref(o);
        return NULL;
    }
    return o;
}

struct work {
    const struct plan_results *p;
    json_t **room, *list;
    struct pairing one, all;
    size_t pairs; /* of the stack that is being done */
};

/* Compares a and b, and notes them for all together. Returns whether all was well. */
static bool do_pair(struct work *w, size_t a, size_t b)
{
    w->one.count = w->one.strata = 0;
    add_stratum(&w->one, w->p, a, b, w->room);
    add_stratum(&w->all, w->p, a, b, w->room);
    w->pairs++;
    return json_array_append_new(w->list, comparison_json(w->p, &w->one, a, b, false)) == 0;
}

/* All pairs of one stack, that of cell first; then all of them together. */
static bool do_stack(struct work *w, size_t first)
{
    const struct plan_results *p = w->p;
    bool good = true;

    w->all.count = w->all.strata = w->pairs = 0;
    for (size_t a = first; a < p->cell_count && good; a++) {
        for (size_t b = 0; b < p->cell_count && good; b++) {
            if (strcmp(param(p, a, "stack"), param(p, first, "stack")) == 0 &&
                are_a_pair(p, a, b)) {
                good = do_pair(w, a, b);
            }
        }
    }
    return good && (w->pairs < 2 || json_array_append_new(
                                        w->list, comparison_json(p, &w->all, first, 0, true)) == 0);
}

static bool stack_is_new(const struct plan_results *p, size_t cell)
{
    for (size_t i = 0; i < cell; i++) {
        if (strcmp(param(p, i, "stack"), param(p, cell, "stack")) == 0) {
            return false;
        }
    }
    return true;
}

static bool pairing_init(struct pairing *g, const struct plan_results *p)
{
    *g = (struct pairing){.a = calloc(p->run_count + 1, sizeof *g->a),
                          .b = calloc(p->run_count + 1, sizeof *g->b),
                          .sizes = calloc(p->cell_count + 1, sizeof *g->sizes)};
    return g->a && g->b && g->sizes;
}

static void pairing_fini(struct pairing *g)
{
    free(g->a);
    free(g->b);
    free(g->sizes);
}

static json_t *comparisons_json(const struct plan_results *p, json_t **room)
{
    struct work w = {.p = p, .room = room, .list = json_array()};
    bool good = w.list != NULL, first = pairing_init(&w.one, p), second = pairing_init(&w.all, p);

    good = good && first && second;
    for (size_t c = 0; c < p->cell_count && good; c++) {
        good = !stack_is_new(p, c) || do_stack(&w, c);
    }
    pairing_fini(&w.one);
    pairing_fini(&w.all);
    if (!good) {
        json_decref(w.list);
        return NULL;
    }
    return w.list;
}

json_t *play_pool_new(const struct plan_results *p)
{
    json_t **room = calloc(2 * p->run_count + 1, sizeof *room), *cells = json_array(), *o = NULL;
    bool good = room && cells;
    size_t with = 0;

    for (size_t c = 0; c < p->cell_count && good; c++) {
        if (docs_of(p, c, room)) {
            with++;
            good = json_array_append_new(cells, cell_json(p, c, room)) == 0;
        }
    }
    if (good && !with) {
        o = json_null();
    } else if (good) {
        o = json_pack("{s:i,s:O,s:o}", "resamples", STATISTICS_RESAMPLES, "cells", cells,
                      "comparisons", comparisons_json(p, room));
    }
    json_decref(cells);
    free(room);
    return o;
}

static double number_or_nan(const json_t *v)
{
    return json_is_number(v) ? json_number_value(v) : NAN;
}

struct play_pool_change play_pool_get(const json_t *comparison, const char *window,
                                      const char *metric)
{
    json_t *w = json_object_get(json_object_get(comparison, "windows"), window);
    json_t *v = json_object_get(json_object_get(w, "metrics"), metric);
    json_t *ci = json_object_get(v, "ci95");

    return (struct play_pool_change){.a = number_or_nan(json_object_get(v, "a")),
                                     .b = number_or_nan(json_object_get(v, "b")),
                                     .change = number_or_nan(json_object_get(v, "change")),
                                     .lo = number_or_nan(json_array_get(ci, 0)),
                                     .hi = number_or_nan(json_array_get(ci, 1))};
}
