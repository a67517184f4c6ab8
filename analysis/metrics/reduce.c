/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/reduce.h"

#include "agents/base/err.h"
#include "analysis/ingest/certificate_info.h"
#include "analysis/ingest/run_data.h"
#include "analysis/metrics/bottleneck.h"
#include "analysis/metrics/collect.h"
#include "analysis/metrics/fairness.h"
#include "analysis/metrics/flow_metrics.h"
#include "analysis/metrics/metric_set.h"
#include "analysis/metrics/play.h"
#include "analysis/metrics/run_flows.h"
#include "analysis/metrics/validity.h"
#include "analysis/metrics/window.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define PATH_BYTES 4096
#define METRIC_BYTES 128
#define STEP "step-" /* how events begin that change a key while the run is on */

/* What of the manifest is repeated, so that a reader of metrics.json needs nothing else. */
static const char *const kept[] = {
    "name",     "plan", "cell",  "repetition", "seed",  "stack",       "preset",   "link",
    "link_why", "path", "flows", "share_ppm",  "hosts", "duration_ns", "versions", "bottlenecks"};

struct reduction {
    struct run_data data;
    struct certificate_info certificate;
    struct windows windows;
    struct collect sums;
    struct metric_set metrics;
    struct run_flows flows; /* of a run of several; else empty */
    json_t *invalid;        /* of the calls in folders of their own */
};

static json_t *windows_json(const struct windows *w)
{
    json_t *o = json_object();

    for (enum window_id id = 0; o && id < WINDOWS; id++) {
        if (w->at[id].exists &&
            json_object_set_new(o, window_names[id],
                                json_pack("{s:f,s:f}", "start_s", ns_to_s(w->at[id].start), "end_s",
                                          ns_to_s(w->at[id].end)))) {
            json_decref(o);
            return NULL;
        }
    }
    return o;
}

/* The first seconds after the transfer as one array, for plotting. */
static json_t *after_json(const struct metric_set *m)
{
    json_t *a = json_array();
    char name[32];

    for (int s = 1; a && s <= RATES_AFTER_SECONDS; s++) {
        json_t *v;

        snprintf(name, sizeof name, "media_after_%ds_bps", s);
        v = json_object_get(json_object_get(m->root, name), window_names[WINDOW_AFTER]);
        if (v) {
            json_array_append(a, v);
        }
    }
    return a;
}

static json_t *counts_json(const struct reduction *r)
{
    const struct run_trace *forward = &r->data.forward, *reverse = &r->data.reverse;
    const struct media *m = &r->sums.media;

    return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "captured_packets",
                     (json_int_t)r->data.captured, "forward_sent", (json_int_t)forward->count,
                     "forward_arrived", (json_int_t)forward->arrived, "reverse_sent",
                     (json_int_t)reverse->count, "reverse_arrived", (json_int_t)reverse->arrived,
                     "unmatched_arrivals", (json_int_t)(forward->unsent + reverse->unsent),
                     "uncaptured_records",
                     (json_int_t)(r->data.sent.uncaptured + r->data.received.uncaptured),
                     "rtp_sent", (json_int_t)m->count, "rtp_received",
                     (json_int_t)m->received_count, "rtp_duplicates", (json_int_t)m->duplicates);
}

/* What was changed in the run: the sender's events that are called step-... */
static json_t *steps_json(const struct reduction *r)
{
    const struct table *t = &r->data.tables[RUN_SENDER][RECORD_EVENT];
    const int64_t *time = table_column(t, "time_ns"), *value = table_column(t, "value");
    json_t *a = json_array();

    for (size_t i = 0; a && i < t->rows; i++) {
        if (strncmp(t->names[i], STEP, strlen(STEP)) == 0 &&
            json_array_append_new(a, json_pack("{s:f,s:s,s:I}", "time_s", ns_to_s(time[i]), "key",
                                               t->names[i] + strlen(STEP), "value",
                                               (json_int_t)value[i]))) {
            json_decref(a);
            return NULL;
        }
    }
    return a;
}

/* The link's rate where it changed in the run, else an empty list. */
static json_t *link_rate_json(const struct reduction *r)
{
    const struct rate_schedule *s = &r->data.link_rate.schedule;
    json_t *a = json_array();

    for (size_t i = 0; a && s->count > 1 && i < s->count; i++) {
        if (json_array_append_new(a, json_pack("{s:f,s:I}", "time_s", ns_to_s(s->steps[i].at),
                                               "bps", (json_int_t)s->steps[i].rate))) {
            json_decref(a);
            return NULL;
        }
    }
    return a;
}

/* The call's own reasons, then those of the others, which say whose they are. */
static json_t *invalid_json(const struct reduction *r)
{
    json_t *all =
        validity_reasons(&r->data, &r->sums.media, &r->windows, r->sums.shortfall.seconds);

    if (all && r->invalid && json_array_extend(all, r->invalid)) {
        json_decref(all);
        return NULL;
    }
    return all;
}

static json_t *document(const struct reduction *r)
{
    json_t *doc = json_object(), *invalid;
    int rc = !doc || json_object_set_new(doc, "schema", json_integer(REDUCE_SCHEMA));

    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        json_t *v = json_object_get(r->data.info.root, kept[i]);

        rc |= v && json_object_set(doc, kept[i], v);
    }
    rc |= r->certificate.root && json_object_set(doc, "certificate", r->certificate.root);
    invalid = invalid_json(r);
    rc |= json_object_set_new(doc, "valid", json_boolean(json_array_size(invalid) == 0));
    rc |= json_object_set_new(doc, "invalid", invalid);
    rc |= json_object_set_new(doc, "windows", windows_json(&r->windows));
    rc |= json_object_set_new(doc, "steps", steps_json(r));
    rc |= json_object_set_new(doc, "link_rate", link_rate_json(r));
    rc |= json_object_set_new(doc, "counts", counts_json(r));
    rc |= r->flows.table && run_flows_document(&r->flows, doc);
    rc |= json_object_set(doc, "metrics", r->metrics.root);
    rc |= play_here(&r->data) &&
          json_object_set_new(doc, "plays", play_document(&r->data, &r->windows));
    rc |= json_object_set_new(doc, "media_after_bps", after_json(&r->metrics));
    if (rc || r->metrics.failed) {
        json_decref(doc);
        return NULL;
    }
    return doc;
}

/* Written beside and renamed, so that a reader never meets half a file. */
static int write_document(const char *dir, json_t *doc, struct fault *f)
{
    char path[PATH_BYTES], fresh[PATH_BYTES + 8];

    snprintf(path, sizeof path, "%s/metrics.json", dir);
    snprintf(fresh, sizeof fresh, "%s.part", path);
    if (json_dump_file(doc, fresh, JSON_INDENT(1) | JSON_REAL_PRECISION(12)) ||
        rename(fresh, path)) {
        remove(fresh);
        return fault_set(f, ERR_OS, "%s: %s", path, strerror(errno));
    }
    return 0;
}

static int put(struct reduction *r)
{
    struct collect *c = &r->sums;
    int rc;

    rates_put(&c->rates, &r->metrics);
    delays_put(&c->delays, &r->windows, &r->metrics);
    metric_set_put(&r->metrics, "unloaded_owd_ms", WINDOW_WHOLE,
                   r->certificate.unloaded == NS_NEVER ? NAN : ns_to_ms(r->certificate.unloaded));
    bottleneck_put(&r->data, &r->metrics);
    quality_put(&c->quality, &r->metrics);
    transfer_put(&c->transfer, &r->metrics);
    play_put(&r->data, &r->windows, &r->metrics);
    traffic_put(&c->traffic, &r->windows, &r->metrics);
    rc = fairness_put(&c->traffic, &r->data, &r->metrics);
    return rc ? rc : audio_put(&c->audio, &r->metrics);
}

static void reduction_fini(struct reduction *r)
{
    json_decref(r->invalid);
    run_flows_fini(&r->flows);
    metric_set_fini(&r->metrics);
    collect_fini(&r->sums);
    certificate_info_fini(&r->certificate);
    run_data_fini(&r->data);
}

static int write_series(struct reduction *r, const char *dir, struct fault *f)
{
    struct collect *c = &r->sums;
    /* without media the delay to draw is that of every packet */
    const struct dist *owd = c->traffic.count ? &c->traffic.all.owd : &c->delays.owd;
    int rc = series_write(&c->series, dir, &c->delays, owd);

    rc = rc ? rc : control_series_write(&c->control, dir);
    rc = rc ? rc : traffic_write(&c->traffic, &r->data, dir);
    rc = rc || !play_here(&r->data) ? rc : play_write_series(dir, &r->data);
    return rc ? fault_set(f, rc, "%s: %s", dir, rc == ERR_OS ? strerror(errno) : err_text(rc)) : 0;
}

/* Of the bottleneck behind so many others what its certificate tells, or without one what it was
 * set to (the run's list). */
static ns_t further_delay(const struct run_info *info, const json_t *certificate,
                          const json_t *further, size_t behind)
{
    const json_t *its = json_array_get(json_object_get(certificate, "bottlenecks"), behind - 1);
    const json_t *way = json_object_get(its, info->backward ? "backward" : "forward");
    const json_t *median = json_object_get(json_object_get(way, "measured"), "delay_p50_ns");

    return json_integer_value(
        json_is_integer(median) ? median
                                : json_object_get(json_array_get(further, behind - 1), "delay_ns"));
}

/* The empty path of a call: what each bottleneck that it crosses takes, and what the call has for
 * itself. */
static ns_t unloaded_of(const struct run_info *info, const struct certificate_info *certificate,
                        const json_t *further)
{
    ns_t certified = certificate->unloaded;
    const json_t *segments = json_object_get(info->root, "segments");
    json_int_t first = json_integer_value(json_object_get(segments, "first"));
    json_int_t last = json_integer_value(json_object_get(segments, "last"));
    ns_t sum = json_integer_value(json_object_get(info->root, "extra_delay_ns"));

    for (json_int_t i = first; i <= last && i < FLOW_SET_SEGMENTS; i++) {
        sum += i > 0 ? further_delay(info, certificate->root, further, (size_t)i) : certified;
    }
    return certified == NS_NEVER ? NS_NEVER : sum;
}

static int read_certificate(struct reduction *r, const char *dir, const json_t *further,
                            struct fault *f)
{
    const struct run_info *info = &r->data.info;
    char place[PATH_BYTES];
    int rc;

    if (run_info_place(place, sizeof place, dir, info->testbed, ".")) {
        return fault_set(f, ERR_LIMIT, "%s: the path is too long", dir);
    }
    rc = certificate_info_read(&r->certificate, info->testbed ? place : dir,
                               info->backward ? "backward" : "forward", f);
    if (!rc) {
        r->certificate.unloaded = unloaded_of(
            info, &r->certificate, further ? further : json_object_get(info->root, "bottlenecks"));
    }
    return rc;
}

static int load(struct reduction *r, const char *dir, struct fault *f)
{
    const struct run_visitor nobody = {0};
    int rc = run_data_load(&r->data, dir, f);

    if (!rc && r->data.info.duration == 0) { /* the captures tell how long it was */
        rc = run_stream(&r->data, dir, &nobody, f);
    }
    return rc;
}

/* Where a folder stands among several. */
struct place {
    const char *dir;
    const json_t *further;   /* the bottlenecks behind the first, of which a call's own folder does
                              * not tell; NULL: the run's */
    struct run_flows *flows; /* NULL: it is alone */
    const char *name;        /* in the set of flows */
};

static int read_folder(struct reduction *r, const struct place *p, struct fault *f)
{
    int rc = collect_init(&r->sums, &r->data, &r->windows, r->certificate.unloaded,
                          p->flows ? &p->flows->set : NULL, p->name);

    rc = rc ? rc : metric_set_init(&r->metrics);
    if (rc) {
        return fault_set(f, rc, "%s: %s", p->dir, err_text(rc));
    }
    rc = collect_read(&r->sums, p->dir, f);
    if (!rc && (rc = put(r))) {
        fault_set(f, rc, "%s: %s", p->dir, err_text(rc));
    }
    rc = rc ? rc : write_series(r, p->dir, f);
    if (!rc && p->flows) {
        rc = run_flows_add_call(p->flows, &r->sums.flow, &r->sums.rates, &r->sums.quality,
                                &r->metrics);
        rc = rc ? fault_set(f, rc, "%s: %s", p->dir, err_text(rc)) : 0;
    }
    return rc;
}

static int write_reduced(const struct reduction *r, const char *dir, json_t **out, struct fault *f)
{
    json_t *doc = document(r);
    int rc = doc ? write_document(dir, doc, f) : fault_set(f, ERR_NOMEM, "%s: out of memory", dir);

    if (!rc && out) {
        *out = json_incref(doc);
    }
    json_decref(doc);
    return rc;
}

/* ---- further calls ---- */

/* Puts what is told of a call under its name. */
static int merge(struct reduction *r, const char *name, const json_t *doc)
{
    json_t *windows, *one;
    const char *metric;
    int rc = 0;
    size_t i;

    json_object_foreach(json_object_get(doc, "metrics"), metric, windows)
    {
        char full[METRIC_BYTES];

        snprintf(full, sizeof full, "%s.%s", name, metric);
        rc |= json_object_set(r->metrics.root, full, windows);
    }
    json_array_foreach(json_object_get(doc, "invalid"), i, one)
    {
        const char *detail = json_string_value(json_object_get(one, "detail"));
        json_t *copy = json_copy(one);

        rc |=
            json_object_set_new(copy, "detail", json_sprintf("%s: %s", name, detail ? detail : ""));
        rc |= json_array_append_new(r->invalid, copy);
    }
    return rc ? ERR_NOMEM : 0;
}

static int reduce_call(struct reduction *r, const char *dir, const char *name, struct fault *f)
{
    struct reduction call = {0};
    struct place p = {.further = json_object_get(r->data.info.root, "bottlenecks"),
                      .flows = &r->flows,
                      .name = name};
    char folder[PATH_BYTES];
    json_t *doc = NULL;
    int rc;

    if (run_info_place(folder, sizeof folder, dir, NULL, name)) {
        return fault_set(f, ERR_LIMIT, "%s: the path is too long", dir);
    }
    p.dir = folder;
    rc = load(&call, folder, f);
    rc = rc ? rc : read_certificate(&call, folder, p.further, f);
    if (!rc) {
        windows_init(&call.windows, &call.data);
        rc = read_folder(&call, &p, f);
    }
    rc = rc ? rc : write_reduced(&call, folder, &doc, f);
    if (!rc && merge(r, name, doc)) {
        rc = fault_set(f, ERR_NOMEM, "%s: out of memory", folder);
    }
    json_decref(doc);
    reduction_fini(&call);
    return rc;
}

static int reduce_others(struct reduction *r, const char *dir, struct fault *f)
{
    json_t *one;
    size_t i;
    int rc = 0;

    json_array_foreach(run_info_calls(&r->data.info), i, one)
    {
        rc = rc ? rc : reduce_call(r, dir, json_string_value(one), f);
    }
    return rc ? rc : run_flows_finish(&r->flows, dir, &r->data.info, &r->metrics, f);
}

static int reduce(struct reduction *r, const char *dir, struct fault *f)
{
    struct place p = {.dir = dir, .name = FLOW_METRICS_FIRST};
    int rc = load(r, dir, f);
    bool wanted = false;

    rc = rc ? rc : read_certificate(r, dir, NULL, f);
    if (rc) {
        return rc;
    }
    windows_init(&r->windows, &r->data);
    if (run_flows_wanted(&r->data)) {
        wanted = true;
        p.flows = run_info_is_exec(&r->data.info) ? NULL : &r->flows; /* it has no call */
        r->invalid = json_array();
        rc = r->invalid ? run_flows_init(&r->flows, &r->data, f)
                        : fault_set(f, ERR_NOMEM, "%s: out of memory", dir);
    }
    rc = rc ? rc : read_folder(r, &p, f);
    return rc || !wanted ? rc : reduce_others(r, dir, f);
}

int reduce_run(const char *dir, json_t **out, struct fault *f)
{
    struct reduction r = {0};
    int rc = reduce(&r, dir, f);

    rc = rc ? rc : write_reduced(&r, dir, out, f);
    reduction_fini(&r);
    return rc;
}
