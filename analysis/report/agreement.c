/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/agreement_private.h"

#include "agents/base/err.h"
#include "agents/record/reason.h"
#include "analysis/metrics/metric_set.h"
#include "analysis/report/catalogue.h"
#include "analysis/report/html_text.h"
#include "analysis/report/plan.h"

#include <errno.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define RATE_BAND 0.03
#define OWD_BAND_MS 2.0
#define TAIL_BAND_MS 5.0
#define TAIL_BAND 0.15
#define LOSS_BAND_LEAST 0.001
#define LOSS_BAND 0.25

const char *const agreement_verdicts[] = {"", "", "open", "OUTSIDE"};

/* The values of a metric over a cell's runs. */
struct sample {
    double *v;
    size_t n;
};

static const char *const windows[] = {"whole", "before", "during", "after"};

#define WINDOWS (sizeof windows / sizeof *windows)

const char *agreement_acceptable(size_t i)
{
    return reason_lateness_at(i);
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), len = strlen(end);

    return n >= len && strcmp(text + n - len, end) == 0;
}

double agreement_band(const char *metric, double value)
{
    const struct catalogue_entry *e = catalogue_find(metric);
    bool delay = e && e->distribution && strcmp(e->unit, "ms") == 0;
    const char *name = catalogue_name(metric), *dot = strchr(metric, '.');

    if (name != (dot ? dot + 1 : metric)) { /* of a step of the capacity: some seconds */
        return -1;
    }
    if (delay && ends_with(metric, "_p50")) {
        return strncmp(name, "rtt_ms", 6) == 0 ? 2 * OWD_BAND_MS : OWD_BAND_MS;
    }
    if (delay && (ends_with(metric, "_p95") || ends_with(metric, "_p99"))) {
        return fmax(TAIL_BAND_MS, TAIL_BAND * fabs(value));
    }
    if (strncmp(metric, "media_after_", 12) == 0) { /* single seconds */
        return -1;
    }
    if (ends_with(metric, "_bps") || ends_with(metric, "_bps_mean") ||
        strcmp(metric, "file_time_s") == 0 || strcmp(metric, "file_time_ratio") == 0 ||
        strcmp(metric, "link_utilisation_ratio") == 0) {
        return RATE_BAND * fabs(value);
    }
    if (ends_with(metric, "_loss_ratio")) {
        return fmax(LOSS_BAND_LEAST, LOSS_BAND * fabs(value));
    }
    return -1;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static json_t *value_of(const struct plan_result_run *r, const struct agreement_row *row)
{
    return json_object_get(json_object_get(json_object_get(r->doc, "metrics"), row->metric),
                           row->window);
}

/* Of a cell's valid runs, in order of size; s->v has the room. None where a time never came in one
 * of them: a median of those that remain would be of the runs that went well. */
static void collect(struct sample *s, const struct plan_results *p, size_t cell,
                    const struct agreement_row *row)
{
    for (size_t i = 0; i < p->run_count; i++) {
        struct metric_time v = metric_time_of(
            p->runs[i].valid && p->runs[i].cell == cell ? value_of(&p->runs[i], row) : NULL);

        if (v.never) {
            s->n = 0;
            return;
        }
        if (isfinite(v.s)) {
            s->v[s->n++] = v.s;
        }
    }
    qsort(s->v, s->n, sizeof *s->v, by_value);
}

/* NAN when there is nothing. */
static double median(const struct sample *s)
{
    return s->n ? (s->v[(s->n - 1) / 2] + s->v[s->n / 2]) / 2 : NAN;
}

static double noise(const struct sample *a, const struct sample *b)
{
    double square;

    if (a->n < 2 || b->n < 2) {
        return INFINITY;
    }
    square = gsl_stats_variance(a->v, 1, a->n) / (double)a->n +
             gsl_stats_variance(b->v, 1, b->n) / (double)b->n;
    return gsl_cdf_tdist_Pinv(0.975, (double)(a->n + b->n - 2)) * sqrt(square);
}

static bool wanted(const struct agreement *a, const struct agreement_row *row)
{
    char text[AGREEMENT_METRIC_MAX + 16];

    if (!a->opt->only) {
        return true;
    }
    snprintf(text, sizeof text, "%s:%s", row->metric, row->window);
    for (const char *const *o = a->opt->only; *o; o++) {
        if (strcmp(*o, text) == 0) {
            return true;
        }
    }
    return false;
}

enum agreement_verdict agreement_judge(const struct agreement_row *r, bool strict)
{
    double distance = fabs(r->medians[1] - r->medians[0]);

    if (r->band < 0) {
        return AGREEMENT_UNJUDGED;
    }
    if (distance <= r->band) {
        return AGREEMENT_INSIDE;
    }
    return !strict && distance <= r->band + r->noise ? AGREEMENT_OPEN : AGREEMENT_OUTSIDE;
}

static int add_row(struct agreement *a, const struct agreement_row *from)
{
    struct agreement_row *more, row = *from;
    size_t runs = a->plans[0].run_count + a->plans[1].run_count;
    double *room = calloc(2 * runs, sizeof *room);
    struct sample samples[2] = {{.v = room}, {.v = room ? room + runs : NULL}};

    if (!room) {
        return ERR_NOMEM;
    }
    for (int i = 0; i < 2; i++) {
        collect(&samples[i], &a->plans[i], i ? agreement_other(a, row.cell) : row.cell, &row);
        row.medians[i] = median(&samples[i]);
    }
    row.noise = noise(&samples[0], &samples[1]);
    free(room);
    if (isnan(row.medians[0]) && isnan(row.medians[1])) {
        return 0;
    }
    if (a->opt->lenient && (isnan(row.medians[0]) || isnan(row.medians[1]))) {
        return 0; /* too few valid runs on one side */
    }
    row.band = agreement_band(row.metric, isnan(row.medians[0]) ? 0 : row.medians[0]);
    a->unjudged += row.band < 0;
    if (row.band < 0 && !a->opt->all) {
        return 0;
    }
    more = realloc(a->rows, (a->count + 1) * sizeof *more);
    if (!more) {
        return ERR_NOMEM;
    }
    a->rows = more;
    a->rows[a->count++] = row;
    a->outside += agreement_judge(&row, a->opt->strict) == AGREEMENT_OUTSIDE;
    a->open += agreement_judge(&row, a->opt->strict) == AGREEMENT_OPEN;
    return 0;
}

/* The metrics of a cell in the order of the catalogue, statistics of one side by side. */
static int add_cell(struct agreement *a, size_t cell)
{
    static const char *const statistics[] = {"", "_mean", "_sd", "_p50", "_p95", "_p99", "_max"};

    for (size_t m = 0; m < catalogue_count; m++) {
        size_t first = catalogue[m].distribution ? 1 : 0, end = catalogue[m].distribution ? 7 : 1;

        for (size_t s = first; s < end; s++) {
            for (size_t w = 0; w < WINDOWS; w++) {
                struct agreement_row row = {.cell = cell, .window = windows[w]};
                int rc;

                snprintf(row.metric, sizeof row.metric, "%s%s", catalogue[m].metric, statistics[s]);
                rc = wanted(a, &row) ? add_row(a, &row) : 0;
                if (rc) {
                    return rc;
                }
            }
        }
    }
    return 0;
}

/* ---- what must be so before anything is compared ---- */

/* The number of the cell with that label; SIZE_MAX: there is none. */
static size_t cell_called(const struct plan_results *p, const char *label)
{
    size_t c = 0;

    while (c < p->cell_count && strcmp(p->cells[c].label, label) != 0) {
        c++;
    }
    return c < p->cell_count ? c : SIZE_MAX;
}

size_t agreement_other(const struct agreement *a, size_t cell)
{
    return cell_called(&a->plans[1], a->plans[0].cells[cell].label);
}

/* A part of a plan may lie beside the whole, but not beside something else. */
static int check_any_common(const struct plan_results *first, const struct plan_results *second,
                            struct fault *f)
{
    for (size_t c = 0; c < first->cell_count; c++) {
        if (cell_called(second, first->cells[c].label) != SIZE_MAX) {
            return 0;
        }
    }
    return fault_set(f, ERR_CONFIG,
                     "the cells differ: %.80s of %s is none of %s; allowed: a plan of the same "
                     "scenario, which has %.80s",
                     first->cells[0].label, first->dir, second->dir, second->cells[0].label);
}

int agreement_check(const char *first, const struct plan_results *second, struct fault *f)
{
    struct plan_results p;
    int rc = plan_results_load(&p, first, false, f);

    if (rc) {
        return rc;
    }
    rc = check_any_common(&p, second, f);
    plan_results_fini(&p);
    return rc;
}

static int check_cells(const struct agreement *a, struct fault *f)
{
    const struct plan_results *p = a->plans;

    if (a->opt->lenient) {
        return check_any_common(&p[0], &p[1], f);
    }
    if (p[0].cell_count != p[1].cell_count) {
        return fault_set(f, ERR_CONFIG, "%s has %zu cells, %s %zu", p[0].dir, p[0].cell_count,
                         p[1].dir, p[1].cell_count);
    }
    for (size_t c = 0; c < p[0].cell_count; c++) {
        if (strcmp(p[0].cells[c].label, p[1].cells[c].label) != 0) {
            return fault_set(f, ERR_CONFIG, "the cells differ: %.80s and %.80s",
                             p[0].cells[c].label, p[1].cells[c].label);
        }
        for (int i = 0; i < 2; i++) {
            size_t valid = p[i].cells[c].runs - p[i].cells[c].invalid;

            if (valid < a->opt->runs_min) {
                return fault_set(f, ERR_LIMIT, "%s: %.80s has %zu valid runs, fewer than %zu",
                                 p[i].dir, p[i].cells[c].label, valid, a->opt->runs_min);
            }
        }
    }
    return 0;
}

/* Whoever asks for a metric must get it, in every cell. */
static int check_only(const struct agreement *a, struct fault *f)
{
    size_t asked = 0;

    while (a->opt->only && a->opt->only[asked]) {
        asked++;
    }
    if (asked && a->count != asked * a->plans[0].cell_count) {
        return fault_set(f, ERR_CONFIG,
                         "of %zu metrics asked for in %zu cells %zu are there and have a band",
                         asked, a->plans[0].cell_count, a->count);
    }
    return 0;
}

/* ---- what is said ---- */

static void print_value(FILE *out, const struct catalogue_entry *e, double v)
{
    if (isfinite(v)) {
        fprintf(out, " %11.*f", e->decimals + 1, v * e->scale);
    } else {
        fprintf(out, " %11s", "-");
    }
}

static void print_row(const struct agreement *a, FILE *out, const struct agreement_row *r)
{
    const struct catalogue_entry *e = catalogue_find(r->metric);
    const char *verdict = agreement_verdicts[agreement_judge(r, a->opt->strict)];

    fprintf(out, "  %-28s %-7s", r->metric, r->window);
    print_value(out, e, r->medians[0]);
    print_value(out, e, r->medians[1]);
    print_value(out, e, r->medians[1] - r->medians[0]);
    if (r->band >= 0) {
        print_value(out, e, r->band);
    }
    fprintf(out, " %s%s%s\n", e->unit, *verdict ? "  " : "", verdict);
}

/* What was accepted, and of how many runs that made valid ones. */
static void put_accepted(const struct agreement *a, FILE *out)
{
    const struct plan_results *p = a->plans;

    fputs("accepted although invalid for nothing but", out);
    for (const char *const *r = a->opt->accept; *r; r++) {
        fprintf(out, "%s %s", r == a->opt->accept ? "" : ",", *r);
    }
    for (int i = 0; i < 2; i++) {
        fprintf(out, "%s %zu of %zu runs of %s", i ? "," : ":", p[i].accepted, p[i].run_count,
                p[i].link);
    }
}

static void print_table(const struct agreement *a, FILE *out)
{
    const struct plan_results *p = a->plans;
    size_t last = p[0].cell_count;

    fprintf(out, "%s: %s (%zu valid runs) and %s (%zu), medians\n", p[0].name, p[0].link,
            p[0].run_count - p[0].invalid, p[1].link, p[1].run_count - p[1].invalid);
    if (a->opt->accept) {
        put_accepted(a, out);
        fputc('\n', out);
    }
    for (size_t i = 0; i < a->count; i++) {
        if (a->opt->brief && !*agreement_verdicts[agreement_judge(&a->rows[i], a->opt->strict)]) {
            continue;
        }
        if (a->rows[i].cell != last) {
            last = a->rows[i].cell;
            fprintf(out, "%s\n  %-28s %-7s %11s %11s %11s %11s\n", p[0].cells[last].label, "metric",
                    "window", p[0].link, p[1].link, "difference", "band");
        }
        print_row(a, out, &a->rows[i]);
    }
    fprintf(out, "%zu of %zu metrics outside their bands, %zu open: they scatter too much to tell",
            a->outside, a->count, a->open);
    if (a->unjudged && !a->opt->all && !a->opt->only && !a->opt->brief) {
        fprintf(out, "; %zu without a band are not shown (--all)", a->unjudged);
    }
    fputc('\n', out);
}

static void put_case(FILE *f, const struct agreement *a, const struct agreement_row *r)
{
    fputs("  <testcase classname=\"", f);
    html_text_put(f, a->plans[0].cells[r->cell].label);
    fprintf(f, "\" name=\"%s %s\">", r->metric, r->window);
    if (agreement_judge(r, a->opt->strict) == AGREEMENT_OUTSIDE) {
        fprintf(f, "<failure message=\"%s %.6g, %s %.6g, band %.6g\"/>", a->plans[0].link,
                r->medians[0], a->plans[1].link, r->medians[1], r->band);
    } else if (agreement_judge(r, a->opt->strict) == AGREEMENT_OPEN) {
        fputs("<skipped message=\"repetitions scatter too much to tell\"/>", f);
    }
    fputs("</testcase>\n", f);
}

static int write_junit(const struct agreement *a, struct fault *f)
{
    FILE *out = fopen(a->opt->junit, "we");
    size_t judged = 0;
    int failed;

    if (!out) {
        return fault_set(f, ERR_OS, "%s: %s", a->opt->junit, strerror(errno));
    }
    for (size_t i = 0; i < a->count; i++) {
        judged += a->rows[i].band >= 0;
    }
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"", out);
    html_text_put(out, a->opt->name ? a->opt->name : a->plans[0].name);
    fprintf(out, "\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"%zu\">\n", judged,
            a->outside, a->open);
    if (a->opt->accept) {
        fputs("  <properties><property name=\"accepted\" value=\"", out);
        put_accepted(a, out);
        fputs("\"/></properties>\n", out);
    }
    for (size_t i = 0; i < a->count; i++) {
        if (a->rows[i].band >= 0) {
            put_case(out, a, &a->rows[i]);
        }
    }
    fputs("</testsuite>\n", out);
    failed = ferror(out);
    return fclose(out) || failed ? fault_set(f, ERR_OS, "%s: %s", a->opt->junit, strerror(errno))
                                 : 0;
}

static int compare(struct agreement *a, FILE *out, struct fault *f)
{
    int rc;

    for (int i = 0; i < 2 && a->opt->accept; i++) {
        plan_results_accept(&a->plans[i], a->opt->accept);
    }
    rc = check_cells(a, f);
    for (size_t c = 0; c < a->plans[0].cell_count && !rc; c++) {
        rc = add_cell(a, c);
        if (rc) {
            return fault_set(f, rc, "out of memory");
        }
    }
    rc = rc ? rc : check_only(a, f);
    if (!rc && a->opt->html) {
        agreement_put_html(a, a->opt->html);
    }
    if (!rc && !a->opt->quiet) {
        print_table(a, out);
    }
    return rc || !a->opt->junit ? rc : write_junit(a, f);
}

int agreement_make(const char *first, const char *second, const struct agreement_options *opt,
                   FILE *out, struct fault *f)
{
    struct agreement a = {.opt = opt};
    int rc = plan_results_load(&a.plans[0], first, false, f);

    if (rc) {
        return rc;
    }
    rc = plan_results_load(&a.plans[1], second, false, f);
    if (!rc) {
        rc = compare(&a, out, f);
        plan_results_fini(&a.plans[1]);
    }
    plan_results_fini(&a.plans[0]);
    free(a.rows);
    return rc ? rc : (int)a.outside;
}
