/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/play.h"

#include "agents/base/err.h"
#include "analysis/metrics/csv_file.h"

#include <gsl/gsl_sort.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Values of the column outcome (agents/record/record.c). */
enum { OUTCOME_FAILED = 2, OUTCOME_CUT = 3 };

/* The plays of one window. */
struct share {
    size_t plays, failed, cut; /* that were clicked in it */
    size_t on;                 /* that were on at any time of it */
    size_t stutters;
    ns_t stutter_time;
    double *latency_ms, *bandwidth_bps; /* ascending */
    size_t latency_count, bandwidth_count;
};

static const struct table *plays_of(const struct run_data *d)
{
    return &d->tables[RUN_RECEIVER][RECORD_PLAY];
}

bool play_here(const struct run_data *d)
{
    return plays_of(d)->rows > 0;
}

static void share_fini(struct share *s)
{
    free(s->latency_ms);
    free(s->bandwidth_bps);
}

static void add_clicked(struct share *s, const struct table *t, size_t i)
{
    int64_t start = table_column(t, "start_ns")[i], click = table_column(t, "click_ns")[i];
    int64_t bytes = table_column(t, "bytes")[i], time = table_column(t, "download_ns")[i];

    s->plays++;
    s->failed += table_column(t, "outcome")[i] == OUTCOME_FAILED;
    if (start != RECORD_NONE) {
        s->latency_ms[s->latency_count++] = ns_to_ms(start - click);
    }
    if (bytes > 0 && time > 0) {
        s->bandwidth_bps[s->bandwidth_count++] = 8 * (double)bytes / ns_to_s(time);
    }
}

/* Whether the run's end cut a play: then it is its player's last. */
static bool is_cut(const struct table *plays, int64_t player, int64_t play)
{
    const int64_t *whose = table_column(plays, "player"), *which = table_column(plays, "play");

    for (size_t i = plays->rows; i-- > 0;) {
        if (whose[i] == player) {
            return which[i] == play && table_column(plays, "outcome")[i] == OUTCOME_CUT;
        }
    }
    return false;
}

static void add_stutters(struct share *s, const struct run_data *d, const struct window *w)
{
    const struct table *t = &d->tables[RUN_RECEIVER][RECORD_STUTTER];
    const int64_t *time = table_column(t, "time_ns"), *duration = table_column(t, "duration_ns");
    const int64_t *player = table_column(t, "player"), *play = table_column(t, "play");

    for (size_t i = 0; i < t->rows; i++) {
        if (time[i] >= w->start && time[i] < w->end && !is_cut(plays_of(d), player[i], play[i])) {
            s->stutters++;
            s->stutter_time += duration[i];
        }
    }
}

/* Returns 0 or ERR_NOMEM. */
static int share_init(struct share *s, const struct run_data *d, const struct window *w)
{
    const struct table *t = plays_of(d);
    const int64_t *click = table_column(t, "click_ns"), *end = table_column(t, "time_ns");
    const int64_t *outcome = table_column(t, "outcome");

    *s = (struct share){.latency_ms = calloc(t->rows + 1, sizeof *s->latency_ms),
                        .bandwidth_bps = calloc(t->rows + 1, sizeof *s->bandwidth_bps)};
    if (!s->latency_ms || !s->bandwidth_bps) {
        share_fini(s);
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < t->rows; i++) {
        bool clicked = click[i] >= w->start && click[i] < w->end;

        if (outcome[i] == OUTCOME_CUT) {
            s->cut += clicked;
            continue;
        }
        s->on += click[i] < w->end && end[i] >= w->start;
        if (clicked) {
            add_clicked(s, t, i);
        }
    }
    add_stutters(s, d, w);
    gsl_sort(s->latency_ms, 1, s->latency_count);
    gsl_sort(s->bandwidth_bps, 1, s->bandwidth_count);
    return 0;
}

/* By nearest rank, as everywhere (dist.h). */
static double quantile(const double *sorted, size_t n, double p)
{
    size_t rank = (size_t)ceil(p * (double)n);

    return n ? sorted[rank ? rank - 1 : 0] : NAN;
}

static void put(const struct share *s, enum window_id id, struct metric_set *out)
{
    static const struct {
        const char *name;
        double p;
    } latencies[] = {{"playback_latency_ms_p50", 0.5},
                     {"playback_latency_ms_p90", 0.9},
                     {"playback_latency_ms_p99", 0.99}},
      bandwidths[] = {{"download_bandwidth_bps_p50", 0.5},
                      {"download_bandwidth_bps_p10", 0.1},
                      {"download_bandwidth_bps_p01", 0.01}};
    double on = s->on ? (double)s->on : NAN;

    for (int i = 0; i < 3; i++) {
        metric_set_put(out, latencies[i].name, id,
                       quantile(s->latency_ms, s->latency_count, latencies[i].p));
        metric_set_put(out, bandwidths[i].name, id,
                       quantile(s->bandwidth_bps, s->bandwidth_count, bandwidths[i].p));
    }
    metric_set_put(out, "stutters_per_track", id, (double)s->stutters / on);
    metric_set_put(out, "stutter_time_s", id, ns_to_s(s->stutter_time) / on);
    metric_set_put(out, "plays_failed_ratio", id,
                   s->plays ? (double)s->failed / (double)s->plays : NAN);
}

void play_put(const struct run_data *d, const struct windows *w, struct metric_set *out)
{
    for (enum window_id id = 0; id < WINDOWS && play_here(d); id++) {
        struct share s;

        if (!w->at[id].exists) {
            continue;
        }
        if (share_init(&s, d, &w->at[id])) {
            out->failed = true;
            return;
        }
        put(&s, id, out);
        share_fini(&s);
    }
}

/* ---- for several runs together ---- */

static json_t *numbers(const double *x, size_t n)
{
    json_t *a = json_array();

    for (size_t i = 0; a && i < n; i++) {
        if (json_array_append_new(a, json_real(x[i]))) {
            json_decref(a);
            return NULL;
        }
    }
    return a;
}

static json_t *share_json(const struct share *s)
{
    return json_pack("{s:I,s:I,s:I,s:I,s:I,s:f,s:o,s:o}", "plays", (json_int_t)s->plays, "failed",
                     (json_int_t)s->failed, "cut", (json_int_t)s->cut, "on", (json_int_t)s->on,
                     "stutters", (json_int_t)s->stutters, "stutter_s", ns_to_s(s->stutter_time),
                     "latency_ms", numbers(s->latency_ms, s->latency_count), "bandwidth_bps",
                     numbers(s->bandwidth_bps, s->bandwidth_count));
}

static json_t *windows_json(const struct run_data *d, const struct windows *w)
{
    json_t *o = json_object();
    int failed = !o;

    for (enum window_id id = 0; id < WINDOWS && !failed; id++) {
        struct share s;

        if (!w->at[id].exists) {
            continue;
        }
        failed = share_init(&s, d, &w->at[id]);
        if (!failed) {
            failed = json_object_set_new(o, window_names[id], share_json(&s));
            share_fini(&s);
        }
    }
    if (failed) {
        json_decref(o);
        return NULL;
    }
    return o;
}

/* Sums per bin: 1 or a column, at the time of another column. */
struct bins {
    double *sums;
    size_t count;
};

static void bin_add(struct bins *b, ns_t time, double value)
{
    size_t at = time < 0 ? b->count : (size_t)(time / PLAY_BIN);

    if (at < b->count) {
        b->sums[at] += value;
    }
}

static json_t *bins_json(const struct run_data *d, const struct windows *w)
{
    const struct table *stutters = &d->tables[RUN_RECEIVER][RECORD_STUTTER];
    const struct table *fetches = &d->tables[RUN_RECEIVER][RECORD_FETCH];
    const int64_t *begun = table_column(stutters, "time_ns");
    const int64_t *done = table_column(fetches, "time_ns");
    const int64_t *asked = table_column(fetches, "asked_ns"), *n = table_column(fetches, "bytes");
    size_t count = (size_t)(w->at[WINDOW_WHOLE].end / PLAY_BIN) + 1;
    struct bins b[3] = {{calloc(count, sizeof(double)), count},
                        {calloc(count, sizeof(double)), count},
                        {calloc(count, sizeof(double)), count}};
    json_t *o = NULL;

    if (b[0].sums && b[1].sums && b[2].sums) {
        for (size_t i = 0; i < stutters->rows; i++) {
            bin_add(&b[0], begun[i], 1);
        }
        for (size_t i = 0; i < fetches->rows; i++) {
            bin_add(&b[1], done[i], (double)n[i]);
            bin_add(&b[2], done[i], ns_to_s(done[i] - asked[i]));
        }
        o = json_pack("{s:f,s:o,s:o,s:o}", "width_s", ns_to_s(PLAY_BIN), "stutters",
                      numbers(b[0].sums, count), "bytes", numbers(b[1].sums, count), "download_s",
                      numbers(b[2].sums, count));
    }
    for (int i = 0; i < 3; i++) {
        free(b[i].sums);
    }
    return o;
}

json_t *play_document(const struct run_data *d, const struct windows *w)
{
    return json_pack("{s:o,s:o}", "windows", windows_json(d, w), "bins", bins_json(d, w));
}

/* ---- for validity ---- */

static json_t *asked_for(const struct run_data *d)
{
    return json_object_get(json_object_get(d->info.root, "flows"), "play");
}

bool play_missing(const struct run_data *d)
{
    const struct table *t = plays_of(d);
    const int64_t *start = table_column(t, "start_ns");

    for (size_t i = 0; i < t->rows; i++) {
        if (start[i] != RECORD_NONE) {
            return false;
        }
    }
    return asked_for(d) != NULL;
}

size_t play_unfinished(const struct run_data *d)
{
    const struct table *t = plays_of(d);
    const int64_t *outcome = table_column(t, "outcome");
    size_t cut = 0;

    for (size_t i = 0; i < t->rows; i++) {
        cut += outcome[i] == OUTCOME_CUT;
    }
    return json_is_null(json_object_get(asked_for(d), "duration_ns")) ? cut : 0;
}

/* ---- for drawing ---- */

int play_write_series(const char *dir, const struct run_data *d)
{
    const struct table *t = &d->tables[RUN_RECEIVER][RECORD_BUFFER];
    const int64_t *time = table_column(t, "time_ns"), *player = table_column(t, "player");
    const int64_t *play = table_column(t, "play"), *ready = table_column(t, "ready_ns");
    FILE *f = csv_file_create(dir, "series.buffer.csv");

    if (!f) {
        return ERR_OS;
    }
    fputs("time_s,player,play,ready_s\n", f);
    for (size_t i = 0; i < t->rows; i++) {
        fprintf(f, "%.3f,%" PRId64 ",%" PRId64 ",%.3f\n", ns_to_s(time[i]), player[i], play[i],
                ns_to_s(ready[i]));
    }
    return csv_file_finish(f);
}
