/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/flow_metrics.h"

#include "agents/base/err.h"
#include "analysis/metrics/convergence.h"
#include "analysis/metrics/csv_file.h"
#include "analysis/metrics/flow_fairness.h"
#include "analysis/metrics/steps.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NAME_BYTES 96

/* ---- of each flow ---- */

/* "call2.NAME", "short_tcp.NAME"; of the first call NAME alone. */
static const char *metric(char out[NAME_BYTES], const struct path_flow *f, const char *name)
{
    if (strcmp(f->name, FLOW_METRICS_FIRST) == 0) {
        snprintf(out, NAME_BYTES, "%s", name);
        return out;
    }
    snprintf(out, NAME_BYTES, "%s.%s", f->name, name);
    for (char *c = out; *c && *c != '.'; c++) {
        *c = *c == '-' ? '_' : *c;
    }
    return out;
}

static void put(struct metric_set *out, const struct path_flow *f, const char *name, double value)
{
    char text[NAME_BYTES];

    metric_set_put(out, metric(text, f, name), WINDOW_WHOLE, value);
}

static void put_time(struct metric_set *out, const struct path_flow *f, const char *name,
                     struct metric_time t)
{
    char text[NAME_BYTES];

    metric_set_put_time(out, metric(text, f, name), WINDOW_WHOLE, t);
}

static void put_step(struct metric_set *out, const struct path_flow *f, size_t step,
                     const char *name, double value)
{
    char text[STEPS_NAME_MAX];

    put(out, f, steps_name(text, step, name), value);
}

static void put_steadiness(const struct flow_set *set, const struct path_flow *f,
                           const struct steps *steps, struct metric_set *out)
{
    put(out, f, "oscillation_count", convergence_oscillations(set, f, 0, set->end));
    put(out, f, "rate_variation_ratio", convergence_variation(set, f, 0, set->end));
    for (size_t i = 0; i < steps->count; i++) {
        const struct window *w = &steps->at[i];

        put_step(out, f, i, "oscillation_count",
                 convergence_oscillations(set, f, w->start, w->end));
        put_step(out, f, i, "rate_variation_ratio",
                 convergence_variation(set, f, w->start, w->end));
    }
}

/* How long all calls take when this flow comes, pauses or goes on. */
static void put_events(const struct flow_set *set, size_t flow, struct metric_set *out)
{
    const struct path_flow *f = &set->flows[flow];
    size_t arrivals = 0, departures = 0;

    for (size_t i = 0; i < set->event_count; i++) {
        const struct flow_event *e = &set->events[i];
        struct metric_time s;

        if (e->kind == FLOW_EVENT_STEP || e->flow != flow) {
            continue;
        }
        s = convergence_all_s(set, f->backward, e->at, set->end);
        if (e->kind == FLOW_EVENT_ARRIVAL) {
            put_time(out, f, arrivals == 0 ? "arrival_convergence_s" : "resume_convergence_s", s);
            arrivals++;
        } else if (departures++ == 0) {
            put_time(out, f, "departure_convergence_s", s);
        }
    }
}

static void put_call(const struct flow_set *set, size_t flow, struct metric_set *out)
{
    const struct path_flow *f = &set->flows[flow];
    struct steps steps;

    steps_init(&steps, set, f->backward);
    if (f->start != NS_NEVER) {
        put_time(out, f, "convergence_s", convergence_s(f, f->start, set->end));
    }
    for (size_t i = 0; i < steps.count; i++) {
        const struct window *w = &steps.at[i];

        if (f->start < w->end) {
            char name[STEPS_NAME_MAX];

            put_time(out, f, steps_name(name, i, "convergence_s"),
                     convergence_s(f, ns_max(w->start, f->start), w->end));
        }
    }
    put_steadiness(set, f, &steps, out);
}

/* ---- of the path ---- */

static void put_fairness(const struct flow_set *set, struct metric_set *out)
{
    static const int lengths[] = {1, 5, 20};

    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        struct flow_fairness self = flow_fairness_self(set, lengths[i] * NS_PER_S);
        struct flow_fairness cross = flow_fairness_cross(set, lengths[i] * NS_PER_S);
        const struct {
            const char *who, *which;
            double value;
        } all[] = {{"self", "min", self.min},
                   {"self", "max", self.max},
                   {"cross", "min", cross.min},
                   {"cross", "max", cross.max}};
        char name[NAME_BYTES];

        for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
            snprintf(name, sizeof name, "%s_fairness_%ds_%s_ratio", all[k].who, lengths[i],
                     all[k].which);
            metric_set_put(out, name, WINDOW_WHOLE, all[k].value);
        }
    }
    metric_set_put(out, "self_fairness_ratio", WINDOW_WHOLE, flow_fairness_index(set, false));
    if (isfinite(flow_fairness_cross(set, NS_PER_S).min)) {
        metric_set_put(out, "cross_fairness_ratio", WINDOW_WHOLE, flow_fairness_index(set, true));
    }
}

/* Whether anything but feedback goes that way over a segment. */
static bool is_used(const struct flow_set *set, bool backward, size_t segment)
{
    for (size_t i = 0; i < set->count; i++) {
        if (set->flows[i].backward == backward && set->flows[i].segments & 1U << segment &&
            set->capacity[backward][segment].schedule.count) {
            return true;
        }
    }
    return false;
}

/* What arrived of flows that adapt, with their feedback, of what there was for them. */
static double utilisation(const struct flow_set *set, bool backward, size_t segment,
                          const struct window *w)
{
    double carried = 0, capacity = 0;
    size_t end = (size_t)(w->end / FLOW_SERIES_BIN);

    for (size_t bin = (size_t)(w->start / FLOW_SERIES_BIN); bin < end && bin < set->bins; bin++) {
        carried += 8 * set->carried_bytes[backward][segment][bin] / ns_to_s(FLOW_SERIES_BIN);
        for (size_t i = 0; i < set->count; i++) {
            const struct path_flow *f = &set->flows[i];

            if (f->kind == FLOW_UDP && f->backward == backward && segment == 0) {
                carried -= flow_series_bin_received_bps(&f->series, bin);
            }
        }
        capacity += flow_set_segment_bps(set, backward, segment, (ns_t)bin * FLOW_SERIES_BIN);
    }
    return carried / capacity;
}

static void put_utilisation(const struct flow_set *set, struct metric_set *out)
{
    static const char *const names[CAPTURE_DIRECTIONS][FLOW_SET_SEGMENTS] = {
        {"path_utilisation_ratio", "path2_utilisation_ratio", "path3_utilisation_ratio"},
        {"path_back_utilisation_ratio", "path2_back_utilisation_ratio",
         "path3_back_utilisation_ratio"}};
    const struct window whole = {true, 0, set->end};

    for (int back = 0; back < CAPTURE_DIRECTIONS; back++) {
        struct steps steps;

        for (size_t k = 0; k < FLOW_SET_SEGMENTS; k++) {
            if (is_used(set, back, k)) {
                metric_set_put(out, names[back][k], WINDOW_WHOLE,
                               utilisation(set, back, k, &whole));
            }
        }
        steps_init(&steps, set, back);
        for (size_t i = 0; is_used(set, back, 0) && i < steps.count; i++) {
            steps_put_value(out, i, names[back][0], utilisation(set, back, 0, &steps.at[i]));
        }
    }
}

void flow_metrics_put(const struct flow_set *set, struct metric_set *out)
{
    for (size_t i = 0; i < set->count; i++) {
        if (set->flows[i].kind == FLOW_CALL) {
            put_call(set, i, out);
        } else {
            const struct steps none = {0};

            put_steadiness(set, &set->flows[i], &none, out);
        }
        if (set->flows[i].kind != FLOW_UDP && set->flows[i].kind != FLOW_SHORT_TCP) {
            put_events(set, i, out);
        }
    }
    if (flow_set_is_whole(set)) {
        put_fairness(set, out);
        put_utilisation(set, out);
    }
}

/* ---- what is drawn ---- */

static void put_row(FILE *out, const struct path_flow *f, size_t bin)
{
    const struct flow_bin *b = &f->series.bins[bin];
    double scale = 8 / ns_to_s(FLOW_SERIES_BIN);

    fprintf(out, "%.1f,%s", ((double)bin + 0.5) * ns_to_s(FLOW_SERIES_BIN), f->name);
    csv_file_put(out, 0, b->sent_bytes * scale);
    csv_file_put(out, 0, b->received_bytes * scale);
    csv_file_put(out, 0, b->goodput_bytes * scale);
    csv_file_put(out, 6, b->sent_packets ? (double)b->lost_packets / b->sent_packets : NAN);
    csv_file_put(out, 3, b->delayed ? b->delay_sum_ms / b->delayed : NAN);
    csv_file_put(out, 0, f->fair_bps[bin] > 0 ? f->fair_bps[bin] : NAN);
    fputc('\n', out);
}

int flow_metrics_write(const struct flow_set *set, const char *dir)
{
    FILE *f = csv_file_create(dir, "series.flows.csv");

    if (!f) {
        return ERR_OS;
    }
    fputs("t_s,flow,sending_bps,receiving_bps,goodput_bps,loss_ratio,delay_ms,fair_bps\n", f);
    for (size_t i = 0; i < set->count; i++) {
        for (size_t bin = 0; bin < set->bins; bin++) {
            put_row(f, &set->flows[i], bin);
        }
    }
    return csv_file_finish(f);
}

static json_t *capacity_of(const struct flow_set *set, bool backward)
{
    json_t *list = json_array();
    double last = -1;

    for (size_t bin = 0; list && is_used(set, backward, 0) && bin < set->bins; bin++) {
        ns_t at = (ns_t)bin * FLOW_SERIES_BIN;
        double bps = flow_set_capacity_bps(set, backward, at);

        if (bps != last && json_array_append_new(
                               list, json_pack("{s:f,s:f}", "time_s", ns_to_s(at), "bps", bps))) {
            json_decref(list);
            return NULL;
        }
        last = bps;
    }
    return list;
}

json_t *flow_metrics_capacity(const struct flow_set *set)
{
    return json_pack("{s:o,s:o}", "forward", capacity_of(set, false), "backward",
                     capacity_of(set, true));
}
