/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/plan.h"

#include "agents/base/err.h"
#include "agents/base/regular_file.h"
#include "agents/base/utf8.h"
#include "analysis/metrics/reduce.h"
#include "analysis/report/impairments.h"
#include "analysis/report/run_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 4096

/* ---- names of the runs ---- */

static int find_runs(struct plan_results *p, struct fault *f)
{
    struct run_list list;
    int rc = run_list_read(&list, p->dir, f);

    if (rc) {
        return rc;
    }
    p->planned = list.planned;
    p->runs = calloc(list.count, sizeof *p->runs);
    if (!p->runs) {
        run_list_fini(&list);
        return fault_set(f, ERR_NOMEM, "%s: out of memory", p->dir);
    }
    for (size_t i = 0; i < list.count; i++) {
        p->runs[p->run_count++].name = list.names[i];
        list.names[i] = NULL;
    }
    run_list_fini(&list);
    return 0;
}

/* ---- documents of the runs ---- */

/* NULL: it is none, or cannot be read. */
static json_t *load_object(const char *path)
{
    const char *why;
    FILE *f = regular_file_open(path, &why);
    json_t *doc = f ? json_loadf(f, 0, NULL) : NULL;

    if (f) {
        fclose(f);
    }
    return doc;
}

/* What can be said of a run that cannot be reduced. */
static json_t *unreduced(const char *dir, const char *name, const char *why)
{
    char path[PATH_BYTES + 16];
    json_t *doc, *reason;

    snprintf(path, sizeof path, "%s/manifest.json", dir);
    doc = load_object(path);
    if (!json_is_object(doc)) {
        json_decref(doc);
        doc = json_object();
    }
    reason = json_pack("[{s:s,s:i,s:s}]", "reason", "not-reduced", "count", 1, "detail", why);
    if (!json_object_get(doc, "name")) {
        json_object_set_new(doc, "name", json_string(name));
    }
    json_object_set_new(doc, "valid", json_false());
    json_object_set_new(doc, "metrics", json_object());
    if (json_object_set_new(doc, "invalid", reason)) {
        json_decref(doc);
        return NULL;
    }
    return doc;
}

static bool has_sources(const char *dir)
{
    char path[PATH_BYTES + 16];

    snprintf(path, sizeof path, "%s/sender.pcap", dir);
    return access(path, F_OK) == 0;
}

static int load_run(struct plan_results *p, struct plan_result_run *r, bool again)
{
    char dir[PATH_BYTES], path[PATH_BYTES + 16];
    struct fault f;

    snprintf(dir, sizeof dir, "%s/%s", p->dir, r->name);
    snprintf(path, sizeof path, "%s/metrics.json", dir);
    /* what a run was reduced from may be gone; its metrics then stand */
    if (!again || !has_sources(dir)) {
        r->doc = load_object(path);
    }
    if (!json_is_object(json_object_get(r->doc, "metrics"))) {
        json_decref(r->doc);
        r->doc = NULL;
        if (reduce_run(dir, &r->doc, &f)) {
            utf8_repair(f.text); /* it quotes a path, which may be in any encoding */
            r->doc = unreduced(dir, r->name, f.text);
        }
    }
    r->valid = json_is_true(json_object_get(r->doc, "valid"));
    p->invalid += !r->valid;
    return r->doc ? 0 : ERR_NOMEM;
}

/* ---- certificates ---- */

static bool is_certified(const json_t *doc)
{
    const char *state =
        json_string_value(json_object_get(json_object_get(doc, "certificate"), "state"));

    return state && strcmp(state, "none") != 0;
}

/* Runs with and without a certificate are not averaged together: those without are invalid, unless
 * no run of the plan has one. */
static int set_uncertified_apart(struct plan_results *p)
{
    size_t certified = 0;

    for (size_t i = 0; i < p->run_count; i++) {
        certified += is_certified(p->runs[i].doc);
    }
    p->uncertified = p->run_count - certified;
    for (size_t i = 0; i < p->run_count && certified; i++) {
        struct plan_result_run *r = &p->runs[i];

        if (is_certified(r->doc) || !r->valid) {
            continue;
        }
        r->valid = false;
        p->invalid++;
        if (json_object_set_new(r->doc, "valid", json_false()) ||
            json_object_set_new(r->doc, "invalid",
                                json_pack("[{s:s,s:i,s:s}]", "reason", "uncertified", "count", 1,
                                          "detail", "other runs of the plan are certified"))) {
            return ERR_NOMEM;
        }
    }
    return 0;
}

/* ---- one plan ---- */

/* Means of what two plans left in one folder, or two kinds of link, would be of nothing. */
static int check_same(const struct plan_results *p, const char *key, const char *what,
                      struct fault *f)
{
    const char *first = NULL, *where = NULL;

    for (size_t i = 0; i < p->run_count; i++) {
        const char *its = json_string_value(json_object_get(p->runs[i].doc, key));

        if (its && !first) {
            first = its;
            where = p->runs[i].name;
        } else if (its && strcmp(its, first) != 0) {
            return fault_set(f, ERR_CONFIG,
                             "%s: run %.80s is of %s %.80s, run %.80s of %.80s; allowed: the runs "
                             "of one %s, so move the others to a folder of their own",
                             p->dir, where, what, first, p->runs[i].name, its, what);
        }
    }
    return 0;
}

/* ---- cells ---- */

static json_t *data_kind(const json_t *flows)
{
    json_t *kind = json_object_get(json_object_get(flows, "data"), "kind");

    return kind ? json_incref(kind) : json_string("none");
}

const char plan_results_prototype_note[] = "Rate control prototype: a source that sends less than "
                                           "it may drags the estimate down, since the "
                                           "estimate is held to 1.5 times what arrives and is "
                                           "never probed. Low rates with little data say "
                                           "nothing about the path.";

bool plan_results_is_prototype(const json_t *doc)
{
    const char *preset = json_string_value(json_object_get(doc, "preset"));

    return preset && !strcmp(preset, "prototype");
}

/* What a damaged run does not say is left out. Returns whether there was no memory. */
static bool copy(json_t *params, const char *key, json_t *value)
{
    return value && json_object_set(params, key, value);
}

static json_t *params_of(const json_t *doc)
{
    json_t *path = json_object_get(doc, "path"), *cell = json_object_get(doc, "cell"), *value;
    json_t *params = json_object();
    const char *key;
    int failed = !params;

    failed |= copy(params, "stack", json_object_get(doc, "stack"));
    failed |= copy(params, "preset", json_object_get(doc, "preset"));
    if (path) {
        failed |= copy(params, "rate_bps", json_object_get(path, "rate_bps"));
        failed |= json_object_set_new(
            params, "delay_ms",
            json_real(json_number_value(json_object_get(path, "delay_ns")) / 1e6));
        failed |= copy(params, "queue_bytes", json_object_get(path, "queue_bytes"));
        failed |= impairments_params(params, path);
        failed |= json_object_set_new(params, "data", data_kind(json_object_get(doc, "flows")));
        failed |= json_object_set_new(
            params, "share", json_real(json_number_value(json_object_get(doc, "share_ppm")) / 1e6));
    }
    json_object_foreach(cell, key, value)
    {
        if (!json_object_get(params, key)) {
            failed |= copy(params, key, value);
        }
    }
    if (failed) {
        json_decref(params);
        return NULL;
    }
    return params;
}

static void put_label(char *out, size_t *used, const char *key, const json_t *value)
{
    char *text = json_is_string(value) ? strdup(json_string_value(value))
                                       : json_dumps(value, JSON_ENCODE_ANY);
    int n = snprintf(out + *used, PLAN_LABEL_MAX - *used, "%s%s%s%s", *used ? " " : "",
                     key ? key : "", key ? "=" : "", text ? text : "?");

    free(text);
    *used += n < 0 ? 0 : (size_t)n;
}

/* "5", or "0.6-2.5" where the rate changes in the run; Mbit/s. */
static void print_rate(char *out, size_t len, const json_t *doc, double rate)
{
    double least = rate, most = rate;
    json_t *step;
    size_t i;

    json_array_foreach(json_object_get(doc, "link_rate"), i, step)
    {
        double v = json_number_value(json_object_get(step, "bps"));

        least = v < least ? v : least;
        most = v > most ? v : most;
    }
    if (least < most) {
        snprintf(out, len, "%.3g-%.3g", least / 1e6, most / 1e6);
    } else {
        snprintf(out, len, "%g", rate / 1e6);
    }
}

/* The values of the grid's keys; without a grid the stack and the path. */
static void label_of(char *out, const json_t *doc, const json_t *params)
{
    json_t *cell = json_object_get(doc, "cell"), *value;
    const char *key;
    size_t used = 0;

    out[0] = '\0';
    json_object_foreach(cell, key, value)
    {
        put_label(out, &used, NULL, value);
        if (used >= PLAN_LABEL_MAX) {
            return;
        }
    }
    if (used == 0 && json_object_get(params, "stack")) {
        char rate[40];

        print_rate(rate, sizeof rate, doc, json_number_value(json_object_get(params, "rate_bps")));
        snprintf(out, PLAN_LABEL_MAX, "%s %s Mbit/s %g ms",
                 json_string_value(json_object_get(params, "stack")), rate,
                 json_number_value(json_object_get(params, "delay_ms")));
    } else if (used == 0) {
        snprintf(out, PLAN_LABEL_MAX, "unreadable");
    }
}

/* What both cells of a pair have of the grid, with its keys; empty where that is nothing. */
static void pair_label(char *out, const json_t *doc)
{
    json_t *value;
    const char *key;
    size_t used = 0;

    out[0] = '\0';
    json_object_foreach(json_object_get(doc, "cell"), key, value)
    {
        if (strcmp(key, "stack") && used < PLAN_LABEL_MAX) {
            put_label(out, &used, key, value);
        }
    }
}

/* Runs of one cell have equal parameters, and the same place in the grid. */
static bool belongs(const struct plan_results *p, const struct plan_result_cell *c,
                    const json_t *params, const json_t *doc)
{
    json_t *ours = json_object_get(p->runs[c->shown].doc, "cell");
    json_t *theirs = json_object_get(doc, "cell");

    return json_equal(c->params, params) && (ours == theirs || json_equal(ours, theirs));
}

static int join_cell(struct plan_results *p, size_t run)
{
    struct plan_result_run *r = &p->runs[run];
    json_t *params = params_of(r->doc);
    struct plan_result_cell *c, *more;
    size_t i = 0;

    if (!params) {
        return ERR_NOMEM;
    }
    while (i < p->cell_count && !belongs(p, &p->cells[i], params, r->doc)) {
        i++;
    }
    if (i == p->cell_count) {
        more = realloc(p->cells, (p->cell_count + 1) * sizeof *more);
        if (!more) {
            json_decref(params);
            return ERR_NOMEM;
        }
        p->cells = more;
        more[p->cell_count++] =
            (struct plan_result_cell){.params = json_incref(params), .shown = run};
        label_of(more[i].label, r->doc, params);
    }
    json_decref(params);
    c = &p->cells[i];
    c->runs++;
    c->invalid += !r->valid;
    if (r->valid && !p->runs[c->shown].valid) {
        c->shown = run;
    }
    r->cell = i;
    return 0;
}

/* ---- runs taken although they are invalid ---- */

static bool is_one_of(const char *const *names, const char *name)
{
    while (*names && strcmp(*names, name) != 0) {
        names++;
    }
    return *names;
}

static bool is_acceptable(const json_t *doc, const char *const *reasons)
{
    json_t *invalid = json_object_get(doc, "invalid"), *one;
    size_t i;

    json_array_foreach(invalid, i, one)
    {
        const char *name = json_string_value(json_object_get(one, "reason"));

        if (!name || !is_one_of(reasons, name)) {
            return false;
        }
    }
    return json_array_size(invalid) > 0;
}

void plan_results_accept(struct plan_results *p, const char *const *reasons)
{
    for (size_t i = 0; i < p->run_count; i++) {
        struct plan_result_run *r = &p->runs[i];
        struct plan_result_cell *c = &p->cells[r->cell];
        bool apart = p->uncertified < p->run_count && !is_certified(r->doc);

        if (!r->valid && !apart && is_acceptable(r->doc, reasons)) {
            r->valid = r->accepted = true;
            p->invalid--;
            p->accepted++;
            c->invalid--;
            c->accepted++;
        }
    }
}

/* ---- pairs ---- */

static bool equal_but_stack(json_t *a, json_t *b)
{
    const char *key;
    json_t *v;

    if (!a || json_object_size(a) != json_object_size(b) ||
        !json_object_get(a, "stack") != !json_object_get(b, "stack")) {
        return false;
    }
    json_object_foreach(a, key, v)
    {
        if (strcmp(key, "stack") && !json_equal(v, json_object_get(b, key))) {
            return false;
        }
    }
    return true;
}

static bool are_a_pair(const struct plan_results *p, size_t a, size_t b)
{
    const struct plan_result_cell *x = &p->cells[a], *y = &p->cells[b];

    return json_object_get(x->params, "stack") && json_object_get(y->params, "stack") &&
           strcmp(plan_results_stack(p, a), plan_results_stack(p, b)) &&
           equal_but_stack(x->params, y->params) &&
           equal_but_stack(json_object_get(p->runs[x->shown].doc, "cell"),
                           json_object_get(p->runs[y->shown].doc, "cell"));
}

static int add_pair(struct plan_results *p, size_t a, size_t b)
{
    bool turned = strcmp(plan_results_stack(p, a), "quic") == 0;
    struct plan_result_pair *more = realloc(p->pairs, (p->pair_count + 1) * sizeof *more);

    if (!more) {
        return ERR_NOMEM;
    }
    p->pairs = more;
    more[p->pair_count] = (struct plan_result_pair){.cells = {turned ? b : a, turned ? a : b}};
    pair_label(more[p->pair_count++].label, p->runs[p->cells[a].shown].doc);
    return 0;
}

static int find_pairs(struct plan_results *p)
{
    int rc = 0;

    for (size_t a = 0; a < p->cell_count; a++) {
        for (size_t b = a + 1; b < p->cell_count && !rc; b++) {
            rc = are_a_pair(p, a, b) ? add_pair(p, a, b) : 0;
        }
    }
    return rc;
}

static const char *text_of(const json_t *doc, const char *key, const char *otherwise)
{
    const char *s = json_string_value(json_object_get(doc, key));

    return s ? s : otherwise;
}

void plan_results_put_count(FILE *out, const struct plan_results *p)
{
    if (p->planned > p->run_count) {
        fprintf(out, "%zu of %zu planned runs", p->run_count, p->planned);
    } else {
        fprintf(out, "%zu run%s", p->run_count, p->run_count == 1 ? "" : "s");
    }
}

const char *plan_results_stack(const struct plan_results *p, size_t cell)
{
    return text_of(p->cells[cell].params, "stack", "unknown");
}

/* The runs of a plan say the same, but a damaged one may say nothing. */
static const char *text_of_runs(const struct plan_results *p, const char *key, const char *none)
{
    const char *text = NULL;

    for (size_t i = 0; i < p->run_count && !text; i++) {
        text = text_of(p->runs[i].doc, key, NULL);
    }
    return text ? text : none;
}

int plan_results_load(struct plan_results *p, const char *dir, bool again, struct fault *f)
{
    int rc;

    *p = (struct plan_results){.dir = strdup(dir)};
    if (!p->dir) {
        return fault_set(f, ERR_NOMEM, "%s: out of memory", dir);
    }
    for (size_t len = strlen(p->dir); len > 1 && p->dir[len - 1] == '/'; len--) {
        p->dir[len - 1] = '\0';
    }
    rc = find_runs(p, f);
    for (size_t i = 0; i < p->run_count && !rc; i++) {
        rc = load_run(p, &p->runs[i], again);
        if (rc) {
            fault_set(f, rc, "%s: %s", dir, err_text(rc));
        }
    }
    rc = rc ? rc : check_same(p, "plan", "plan", f);
    rc = rc ? rc : check_same(p, "link", "link kind", f);
    rc = rc ? rc : set_uncertified_apart(p);
    for (size_t i = 0; i < p->run_count && !rc; i++) {
        rc = join_cell(p, i);
        if (rc) {
            fault_set(f, rc, "%s: %s", dir, err_text(rc));
        }
    }
    if (!rc && find_pairs(p)) {
        rc = fault_set(f, ERR_NOMEM, "%s: out of memory", dir);
    }
    if (rc) {
        plan_results_fini(p);
        return rc;
    }
    p->name = text_of_runs(p, "plan", "unnamed");
    p->link = text_of_runs(p, "link", "unknown");
    p->link_why = text_of_runs(p, "link_why", "");
    return 0;
}

void plan_results_fini(struct plan_results *p)
{
    for (size_t i = 0; i < p->run_count; i++) {
        free(p->runs[i].name);
        json_decref(p->runs[i].doc);
    }
    for (size_t i = 0; i < p->cell_count; i++) {
        json_decref(p->cells[i].params);
    }
    free(p->runs);
    free(p->cells);
    free(p->pairs);
    free(p->dir);
    *p = (struct plan_results){0};
}
