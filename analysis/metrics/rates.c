/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/rates.h"

#include "agents/base/err.h"
#include "agents/base/rate.h"

#include <math.h>
#include <stdio.h>

#define NAME_BYTES 32

struct rates_split rates_split(const struct run_packet *p)
{
    double all = (double)p->rtp_bytes + p->data_bytes + p->padding_bytes;
    struct rates_split s = {0};

    if (p->rtp_bytes + p->data_bytes > 0) {
        s.media = p->ip_bytes * (p->rtp_bytes / all);
        s.data = p->ip_bytes * (p->data_bytes / all);
    }
    s.other = p->ip_bytes - s.media - s.data;
    return s;
}

static bool within(ns_t t, ns_t start, ns_t end)
{
    return t >= start && t < end;
}

/* IP bytes of RTP that arrived in a span. */
static double media_bytes(const struct run_trace *t, ns_t start, ns_t end)
{
    double sum = 0;

    for (size_t i = 0; i < t->count; i++) {
        if (within(t->packets[i].received, start, end)) {
            sum += rates_split(&t->packets[i]).media;
        }
    }
    return sum;
}

static double link_bytes(const struct run_trace *t, ns_t start, ns_t end)
{
    double sum = 0;

    for (size_t i = 0; i < t->count; i++) {
        if (within(t->packets[i].received, start, end)) {
            sum += t->packets[i].ip_bytes + RATE_ETHERNET_OVERHEAD_BYTES;
        }
    }
    return sum;
}

static double sent_bytes(const struct run_trace *t, ns_t start, ns_t end)
{
    double sum = 0;

    for (size_t i = 0; i < t->count; i++) {
        if (within(t->packets[i].sent, start, end)) {
            sum += t->packets[i].ip_bytes;
        }
    }
    return sum;
}

static double delivered_bytes(const struct media *m, ns_t start, ns_t end)
{
    double sum = 0;

    for (size_t i = 0; i < m->count; i++) {
        if (within(m->packets[i].delivered, start, end)) {
            sum += (double)m->packets[i].bytes;
        }
    }
    return sum;
}

static void put_window(const struct run_data *d, const struct media *m, const struct windows *w,
                       enum window_id id, struct metric_set *out)
{
    ns_t start = w->at[id].start, end = w->at[id].end;
    double seconds = window_seconds(&w->at[id]);
    double forward = sent_bytes(&d->forward, start, end);

    if (d->info.has_media) {
        metric_set_put(out, "media_throughput_bps", id,
                       8 * media_bytes(&d->forward, start, end) / seconds);
        metric_set_put(out, "media_goodput_bps", id, 8 * delivered_bytes(m, start, end) / seconds);
    }
    if (d->link_rate.schedule.count) {
        metric_set_put(out, "link_utilisation_ratio", id,
                       8 * link_bytes(&d->forward, start, end) /
                           rate_schedule_bits(&d->link_rate.schedule, start, end));
    }
    if (forward > 0) {
        metric_set_put(out, "feedback_overhead_ratio", id,
                       sent_bytes(&d->reverse, start, end) / forward);
    }
}

static void put_after(const struct run_data *d, const struct windows *w, struct metric_set *out)
{
    if (w->transfer_end == NS_NEVER || !d->info.has_media) {
        return;
    }
    for (int s = 1; s <= RATES_AFTER_SECONDS; s++) {
        ns_t end = w->transfer_end + s * NS_PER_S;
        char name[NAME_BYTES];

        if (end > w->at[WINDOW_WHOLE].end) {
            return;
        }
        snprintf(name, sizeof name, "media_after_%ds_bps", s);
        metric_set_put(out, name, WINDOW_AFTER, 8 * media_bytes(&d->forward, end - NS_PER_S, end));
    }
}

int rates_targets(struct dist *out, const struct run_data *d, const struct windows *w)
{
    const struct table *t = &d->tables[RUN_SENDER][RECORD_RATE];
    const int64_t *time = table_column(t, "time_ns"), *target = table_column(t, "target_bps");

    *out = (struct dist){0};
    for (size_t i = 0; i < t->rows; i++) {
        ns_t until = i + 1 < t->rows ? time[i + 1] : w->at[WINDOW_WHOLE].end;

        if (target[i] != RECORD_NONE && until > time[i]) {
            dist_add_span(out, time[i], until, (double)target[i]);
        }
    }
    dist_sort(out);
    if (out->failed) {
        dist_fini(out);
        return ERR_NOMEM;
    }
    return 0;
}

static double ramp_up_s(const struct run_data *d)
{
    const struct table *t = &d->tables[RUN_SENDER][RECORD_RATE];
    const int64_t *time = table_column(t, "time_ns"), *target = table_column(t, "target_bps");

    for (size_t i = 0; i < t->rows && d->link_rate.schedule.count; i++) {
        if (target[i] != RECORD_NONE &&
            (double)target[i] >=
                RATES_RAMP_UP_RATIO *
                    (double)rate_schedule_at(&d->link_rate.schedule, ns_max(time[i], 0))) {
            return ns_to_s(time[i]);
        }
    }
    return NAN;
}

void rates_put(const struct run_data *d, const struct media *m, const struct windows *w,
               struct metric_set *out)
{
    struct dist targets;

    for (enum window_id id = 0; id < WINDOWS; id++) {
        if (w->at[id].exists) {
            put_window(d, m, w, id, out);
        }
    }
    put_after(d, w, out);
    metric_set_put(out, "ramp_up_s", WINDOW_WHOLE, ramp_up_s(d));
    if (rates_targets(&targets, d, w)) {
        out->failed = true;
        return;
    }
    metric_set_put_dist(out, "target_rate_bps", &targets, w);
    dist_fini(&targets);
}
