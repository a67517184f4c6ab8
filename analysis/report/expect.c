/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/expect.h"

#include "agents/base/err.h"
#include "analysis/report/catalogue.h"
#include "analysis/report/summary.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 4096
#define FILE_NAME "expect.json"
#define SCHEMA 1
#define DETAIL_BYTES 400
#define NAME_BYTES 160

/* Places in expect.json are told by the expectation's number, from 1. */
struct judge {
    const struct plan_results *p;
    json_t *cells;             /* name of a cell -> numbers of its runs */
    struct metric_time *a, *b; /* room for a value of each run */
    double *d;
    size_t number; /* of the expectation being judged */
    const char *metric, *window;
    char name[NAME_BYTES]; /* of both: chooses the random numbers of intervals */
    const struct catalogue_entry *entry;
    bool interval;
    size_t runs_needed;
    struct fault *fault;
};

/* One bound of one check, with what it was found to be. */
struct bound {
    bool given, is_min;
    double plus, times;
    const char *cell;            /* the other one; NULL: a number */
    double value;                /* times x the other's mean + plus */
    struct summary_value margin; /* on the good side above 0, repetition by repetition */
    size_t open;                 /* repetitions in which a time that never came hides the margin */
    struct summary_value other;  /* of the other cell, in the same repetitions */
};

struct verdict {
    bool judged, ok;
    double slack; /* how far from the bound, as a part of it: tells which cell to show */
    char detail[DETAIL_BYTES];
};

static int malformed(struct judge *j, const char *what)
{
    return fault_set(j->fault, ERR_MALFORMED, "%s/" FILE_NAME ": expectation %zu: %s", j->p->dir,
                     j->number, what);
}

static void say(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Appends to a detail, as far as it fits. */
static void say(char *text, const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;

    va_start(args, format);
    vsnprintf(text + used, DETAIL_BYTES - used, format, args);
    va_end(args);
}

/* ---- cells ---- */

/* The folder of a run is "<cell>-<repetition>". */
static size_t cell_len(const char *run)
{
    const char *dash = strrchr(run, '-');

    return dash ? (size_t)(dash - run) : strlen(run);
}

static json_t *index_cells(const struct plan_results *p)
{
    json_t *cells = json_object();

    for (size_t i = 0; i < p->run_count && cells; i++) {
        char name[PATH_BYTES];
        json_t *runs;

        snprintf(name, sizeof name, "%.*s", (int)cell_len(p->runs[i].name), p->runs[i].name);
        runs = json_object_get(cells, name);
        if (!runs) {
            runs = json_array();
            json_object_set_new(cells, name, runs);
        }
        if (json_array_append_new(runs, json_integer((json_int_t)i))) {
            json_decref(cells);
            return NULL;
        }
    }
    return cells;
}

/* The metric of a run; NAN for an invalid run or one without it. */
static struct metric_time value_of(const struct judge *j, const json_t *run)
{
    const struct plan_result_run *r = &j->p->runs[json_integer_value(run)];
    json_t *metrics = json_object_get(r->doc, "metrics");

    return metric_time_of(r->valid ? json_object_get(json_object_get(metrics, j->metric), j->window)
                                   : NULL);
}

static json_int_t repetition_of(const struct judge *j, const json_t *run)
{
    return json_integer_value(
        json_object_get(j->p->runs[json_integer_value(run)].doc, "repetition"));
}

static size_t values(const struct judge *j, const json_t *runs, struct metric_time *x)
{
    size_t n = 0, i;
    json_t *run;

    json_array_foreach(runs, i, run)
    {
        x[n] = value_of(j, run);
        n += isnan(x[n].s) ? 0 : 1;
    }
    return n;
}

/* Values of two cells, of the repetitions that have one in both. */
static size_t paired_values(const struct judge *j, const json_t *runs, const json_t *others)
{
    size_t n = 0, i, k;
    json_t *run, *other;

    json_array_foreach(runs, i, run)
    {
        json_array_foreach(others, k, other)
        {
            if (repetition_of(j, run) != repetition_of(j, other)) {
                continue;
            }
            j->a[n] = value_of(j, run);
            j->b[n] = value_of(j, other);
            n += isnan(j->a[n].s) || isnan(j->b[n].s) ? 0 : 1;
            break;
        }
    }
    return n;
}

/* ---- one bound ---- */

static int read_bound(struct judge *j, const json_t *check, const char *key, struct bound *b)
{
    json_t *v = json_object_get(check, key), *cell = json_object_get(v, "cell");

    *b = (struct bound){.given = v != NULL, .is_min = strcmp(key, "min") == 0};
    if (!v) {
        return 0;
    }
    if (!json_is_number(json_object_get(v, "plus")) ||
        (cell && (!json_is_string(cell) || !json_is_number(json_object_get(v, "times"))))) {
        return malformed(j, "a bound is no {plus} and no {times, cell, plus}");
    }
    b->plus = json_number_value(json_object_get(v, "plus"));
    b->times = json_number_value(json_object_get(v, "times"));
    b->cell = json_string_value(cell);
    return 0;
}

/* A time that never came is longer than what was waited for it: enough to show that it is long
 * enough, or that another is short enough; that it is short enough nothing shows. */
static bool is_open(const struct bound *b, struct metric_time value, struct metric_time other)
{
    return b->is_min ? b->cell && other.never : value.never;
}

/* Measures the runs of a cell against it. Returns how many values there were. */
static size_t measure(const struct judge *j, const json_t *runs, struct bound *b)
{
    size_t n = b->cell ? paired_values(j, runs, json_object_get(j->cells, b->cell))
                       : values(j, runs, j->a);
    double sum = 0;
    size_t known = 0;

    if (b->cell) {
        b->other = summary_times(j->b, n, j->d, j->name);
    }
    for (size_t i = 0; i < n; i++) {
        double limit = (b->cell ? b->times * j->b[i].s : 0) + b->plus;

        sum += limit;
        if (is_open(b, j->a[i], j->b[i])) {
            b->open++;
        } else {
            j->d[known++] = b->is_min ? j->a[i].s - limit : limit - j->a[i].s;
        }
    }
    b->value = n && !b->other.never ? sum / (double)n : NAN;
    b->margin = summary_statistics(j->d, known, j->name);
    return n;
}

static bool holds(const struct judge *j, const struct bound *b)
{
    return b->open == 0 && (j->interval ? b->margin.ci_lo >= 0 : b->margin.mean >= 0);
}

/* Appends a value, with half its confidence interval where there is one (else NAN). */
static void say_number(const struct judge *j, double v, double half, char *detail)
{
    const struct catalogue_entry *e = j->entry;

    say(detail, "%.*f", e->decimals, v * e->scale);
    if (isfinite(half)) {
        say(detail, " ± %.*f", e->decimals, half * e->scale);
    }
    say(detail, "%s%s", *e->unit ? " " : "", e->unit);
}

/* "not within 20.0 s in 2 of 3 runs". */
static void say_never(const struct judge *j, const struct summary_value *v, char *detail)
{
    size_t all = v->n + v->never;

    say(detail, "not within ");
    say_number(j, v->waited_s, NAN, detail);
    if (all == 1) {
        say(detail, " (1 run)");
    } else {
        say(detail, " in %zu of %zu runs", v->never, all);
    }
}

static void say_bound(const struct judge *j, const struct bound *b, char *detail)
{
    double by = fabs(b->margin.mean);

    say(detail, "%s ", b->is_min ? "at least" : "at most");
    if (isfinite(b->value)) {
        say_number(j, b->value, NAN, detail);
    }
    if (!b->cell) {
        return;
    }
    say(detail, "%s%g x %s", isfinite(b->value) ? " (" : "", b->times, b->cell);
    if (b->plus > 0) {
        say(detail, " + ");
        say_number(j, b->plus, NAN, detail);
    }
    say(detail, "%s", !isfinite(b->value) ? ", which was " : ")");
    if (b->other.never) {
        say_never(j, &b->other, detail);
    }
    if (b->open) {
        return;
    }
    say(detail, ", which it %s by ", b->margin.mean < 0 ? "misses" : "keeps");
    say(detail, "%s", b->other.never ? "at least " : "");
    say_number(j, by, summary_half(&b->margin), detail);
}

/* ---- one check: a cell and its bounds ---- */

static void say_value(const struct judge *j, struct summary_value v, char *detail)
{
    if (v.never) {
        say_never(j, &v, detail);
        if (isfinite(v.median)) {
            say(detail, ", median ");
            say_number(j, v.median, NAN, detail);
        }
        say(detail, "; expected ");
        return;
    }
    say_number(j, v.mean, summary_half(&v), detail);
    say(detail, v.n == 1 ? " (1 run); expected " : " (%zu runs); expected ", v.n);
}

static void check_bounds(const struct judge *j, const json_t *runs, struct bound *bounds,
                         struct verdict *v)
{
    bool first = true;

    for (int i = 0; i < 2; i++) {
        struct bound *b = &bounds[i];
        double slack;

        if (!b->given) {
            continue;
        }
        say(v->detail, "%s", first ? "" : bounds[0].cell ? ", and " : " and ");
        first = false;
        if (measure(j, runs, b) == 0) {
            say(v->detail, "a comparison with %s, which has no value of the same repetition",
                b->cell ? b->cell : "nothing");
            v->ok = false;
            v->slack = -INFINITY;
            continue;
        }
        say_bound(j, b, v->detail);
        if (j->interval && b->margin.n + b->open < 2) {
            say(v->detail, ", with confidence, which takes two valid runs");
        } else if (j->interval) {
            say(v->detail, ", with 95 %% confidence");
        }
        v->ok &= holds(j, b);
        slack = b->open ? -INFINITY : b->margin.mean / (b->value > 0 ? b->value : 1);
        v->slack = fmin(v->slack, holds(j, b) ? slack : slack - 1);
    }
}

static json_t *check_json(const char *cell, const struct bound *bounds, struct summary_value v,
                          const struct verdict *verdict)
{
    json_t *o =
        json_pack("{s:s,s:o,s:I,s:o,s:o,s:s}", "cell", cell, "ok",
                  verdict->judged ? json_boolean(verdict->ok) : json_null(), "n", (json_int_t)v.n,
                  "value", isfinite(v.mean) ? json_real(v.mean) : json_null(), "ci95",
                  isfinite(v.ci_lo) ? json_pack("[f,f]", v.ci_lo, v.ci_hi) : json_null(), "detail",
                  verdict->detail);

    if (v.never) {
        json_object_set_new(o, "never", json_integer((json_int_t)v.never));
        json_object_set_new(o, METRIC_NEVER, json_real(v.waited_s));
    }
    for (int i = 0; i < 2; i++) {
        const struct bound *b = &bounds[i];

        if (b->given && isfinite(b->value)) {
            json_object_set_new(o, b->is_min ? "min" : "max", json_real(b->value));
        }
        if (b->given && b->cell && !b->open && isfinite(b->margin.ci_lo)) {
            json_object_set_new(o, b->is_min ? "above_min" : "below_max",
                                json_pack("{s:f,s:[f,f]}", "mean", b->margin.mean, "ci95",
                                          b->margin.ci_lo, b->margin.ci_hi));
        }
    }
    return o;
}

/* The cell that one of the bounds is from, if no run of it is here; else NULL. */
static const char *not_run(const struct judge *j, const struct bound *bounds)
{
    for (int i = 0; i < 2; i++) {
        if (bounds[i].cell && !json_object_get(j->cells, bounds[i].cell)) {
            return bounds[i].cell;
        }
    }
    return NULL;
}

/* Judges one cell and appends what was found to checks. */
static int judge_check(struct judge *j, const json_t *check, json_t *checks, struct verdict *v)
{
    const char *cell = json_string_value(json_object_get(check, "cell"));
    json_t *runs = cell ? json_object_get(j->cells, cell) : NULL;
    struct summary_value found;
    struct bound bounds[2];

    *v = (struct verdict){.judged = runs != NULL, .ok = true, .slack = INFINITY};
    if (!cell || read_bound(j, check, "min", &bounds[0]) ||
        read_bound(j, check, "max", &bounds[1])) {
        return cell ? ERR_MALFORMED : malformed(j, "a check without a cell");
    }
    found = summary_times(j->a, values(j, runs, j->a), j->d, j->name);
    if (!runs) {
        say(v->detail, "not run");
    } else if (not_run(j, bounds)) {
        say(v->detail, "%s not run", not_run(j, bounds));
        v->judged = false;
    } else if (!summary_exists(&found)) {
        say(v->detail, "no valid run has %s (window %s)", j->metric, j->window);
        v->ok = false;
        v->slack = -INFINITY;
    } else {
        say_value(j, found, v->detail);
        check_bounds(j, runs, bounds, v);
        if (found.n + found.never < j->runs_needed) {
            say(v->detail, "; judged only from %zu valid runs on", j->runs_needed);
            v->judged = false;
        }
    }
    return json_array_append_new(checks, check_json(cell, bounds, found, v)) ? ERR_NOMEM : 0;
}

/* ---- one expectation ---- */

struct tally {
    size_t judged, failed, total;
    char worst_cell[PLAN_LABEL_MAX];
    struct verdict worst;
};

static void count(struct tally *t, const json_t *check, const struct verdict *v)
{
    bool first = t->total++ == 0;

    if (!v->judged && !first) {
        return;
    }
    t->failed += v->judged && !v->ok;
    t->judged += v->judged;
    if (first || (v->judged && (!t->worst.judged || v->slack < t->worst.slack))) {
        t->worst = *v;
        snprintf(t->worst_cell, sizeof t->worst_cell, "%s",
                 json_string_value(json_object_get(check, "cell")));
    }
}

static void say_tally(const struct tally *t, char *detail)
{
    if (t->total == 0) {
        say(detail, "not judged: options left no cell it speaks of");
    } else if (t->total == 1) {
        say(detail, "%s", t->worst.detail);
    } else if (t->judged == 0) {
        say(detail, "not judged in any of %zu cells; first %s: %s", t->total, t->worst_cell,
            t->worst.detail);
    } else {
        if (t->failed) {
            say(detail, "not so in %zu of %zu cell%s; worst", t->failed, t->judged,
                t->judged > 1 ? "s" : "");
        } else {
            say(detail, "so in %s%zu cell%s; nearest to its bound", t->judged > 1 ? "all " : "",
                t->judged, t->judged > 1 ? "s" : "");
        }
        say(detail, " %s: %s", t->worst_cell, t->worst.detail);
        if (t->judged < t->total) {
            say(detail, "; %zu cell%s not judged", t->total - t->judged,
                t->total - t->judged > 1 ? "s" : "");
        }
    }
}

/* How a metric is shown; the seconds after the transfer share one entry. */
static const struct catalogue_entry *entry_of(const char *metric)
{
    static const char after[] = "media_after_";

    return catalogue_find(strncmp(metric, after, sizeof after - 1) == 0 ? "media_after_1s_bps"
                                                                        : metric);
}

/* Reads what the checks have in common. */
static int read_expectation(struct judge *j, const json_t *e, const char **name)
{
    const char *judge = json_string_value(json_object_get(e, "judge"));

    *name = json_string_value(json_object_get(e, "name"));
    j->metric = json_string_value(json_object_get(e, "metric"));
    j->window = json_string_value(json_object_get(e, "window"));
    j->entry = j->metric ? entry_of(j->metric) : NULL;
    j->interval = judge && strcmp(judge, "interval") == 0;
    j->runs_needed = (size_t)json_integer_value(json_object_get(e, "runs"));
    if (!*name || !j->metric || !j->window || !judge || j->runs_needed == 0 ||
        !json_is_array(json_object_get(e, "checks"))) {
        return malformed(j, "name, metric, window, judge, runs or checks is missing");
    }
    snprintf(j->name, sizeof j->name, "%s %s", j->metric, j->window);
    return j->entry ? 0 : malformed(j, "its metric is unknown");
}

static int judge_one(struct judge *j, const json_t *e, json_t *out, size_t *unmet)
{
    json_t *checks = json_array(), *check;
    struct tally t = {0};
    char detail[DETAIL_BYTES] = "";
    const char *name;
    int rc = read_expectation(j, e, &name);
    size_t i;

    json_array_foreach(json_object_get(e, "checks"), i, check)
    {
        struct verdict v;

        if (rc) {
            break;
        }
        rc = judge_check(j, check, checks, &v);
        if (!rc) {
            count(&t, check, &v);
        }
    }
    if (rc) {
        json_decref(checks);
        return rc;
    }
    *unmet += t.failed > 0;
    say_tally(&t, detail);
    return json_array_append_new(
               out, json_pack("{s:s,s:o,s:s,s:s,s:s,s:s,s:o}", "name", name, "ok",
                              t.judged ? json_boolean(t.failed == 0) : json_null(), "detail",
                              detail, "metric", j->metric, "window", j->window, "judge",
                              j->interval ? "interval" : "mean", "checks", checks))
               ? ERR_NOMEM
               : 0;
}

static int judge_all(struct judge *j, const json_t *doc, json_t *out, size_t *unmet)
{
    json_t *list = json_object_get(doc, "expect"), *e;
    int rc = 0;
    size_t i;

    if (!json_is_array(list) || json_integer_value(json_object_get(doc, "schema")) != SCHEMA) {
        return fault_set(j->fault, ERR_MALFORMED, "%s/" FILE_NAME ": no list of schema %d",
                         j->p->dir, SCHEMA);
    }
    json_array_foreach(list, i, e)
    {
        j->number = i + 1;
        rc = judge_one(j, e, out, unmet);
        if (rc) {
            break;
        }
    }
    return rc;
}

int expect_judge(const struct plan_results *p, json_t *summary, size_t *unmet, struct fault *f)
{
    struct judge j = {.p = p, .fault = f};
    char path[PATH_BYTES];
    json_error_t e;
    json_t *doc;
    int rc;

    *unmet = 0;
    snprintf(path, sizeof path, "%s/" FILE_NAME, p->dir);
    if (access(path, F_OK)) {
        return 0;
    }
    doc = json_load_file(path, 0, &e);
    if (!doc) {
        return fault_set(f, ERR_MALFORMED, "%s:%d:%d: %s", path, e.line, e.column, e.text);
    }
    j.cells = index_cells(p);
    j.a = calloc(2 * p->run_count, sizeof *j.a);
    j.d = calloc(p->run_count, sizeof *j.d);
    if (j.cells && j.a && j.d) {
        j.b = j.a + p->run_count;
        rc = judge_all(&j, doc, json_object_get(summary, "expect"), unmet);
    } else {
        rc = ERR_NOMEM;
    }
    if (rc == ERR_NOMEM) {
        fault_set(f, rc, "%s: out of memory", path);
    }
    free(j.a);
    free(j.d);
    json_decref(j.cells);
    json_decref(doc);
    return rc;
}
