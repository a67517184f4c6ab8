/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/rates.h"

#include "agents/base/err.h"
#include "agents/base/rate.h"
#include "analysis/ingest/rows.h"

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

bool rates_targets_next(struct rates_targets *t, ns_t at, int64_t bps, struct rates_span *out)
{
    bool ends = t->begun && t->bps != RECORD_NONE && at > t->since;

    *out = (struct rates_span){t->since, at, (double)t->bps};
    *t = (struct rates_targets){at, bps, true};
    return ends;
}

void rates_init(struct rates *r, const struct run_data *d, const struct windows *w,
                const struct window_set *set)
{
    *r = (struct rates){.d = d,
                        .w = w,
                        .set = set,
                        .ramp_up = {NAN, true},
                        .target_column = rows_column(RECORD_RATE, "target_bps")};
    window_set_bound(set, &r->target);
}

void rates_fini(struct rates *r)
{
    dist_fini(&r->target);
}

static void add_after(struct rates *r, ns_t received, double bytes)
{
    ns_t since = r->w->transfer_end == NS_NEVER ? -1 : received - r->w->transfer_end;

    if (received != NS_NEVER && since >= 0 && since < RATES_AFTER_SECONDS * NS_PER_S) {
        r->after[since / NS_PER_S] += bytes;
    }
}

void rates_packet(struct rates *r, bool reverse, const struct run_packet *p)
{
    double media = reverse ? 0 : rates_split(p).media;

    for (size_t i = 0; i < r->set->count; i++) {
        const struct window *w = &r->set->at[i];

        if (window_holds(w, p->sent)) {
            *(reverse ? &r->back[i] : &r->forward[i]) += p->ip_bytes;
        }
        if (!reverse && window_holds(w, p->received)) {
            r->media[i] += media;
            r->link[i] += p->ip_bytes + RATE_ETHERNET_OVERHEAD_BYTES;
        }
    }
    if (!reverse) {
        add_after(r, p->received, media);
    }
}

void rates_media(struct rates *r, const struct media_packet *p)
{
    for (size_t i = 0; i < r->set->count; i++) {
        if (window_holds(&r->set->at[i], p->delivered)) {
            r->delivered[i] += (double)p->bytes;
        }
    }
}

static void add_target(struct rates *r, ns_t at, int64_t bps)
{
    struct rates_span s;

    if (rates_targets_next(&r->targets, at, bps, &s)) {
        dist_add_span(&r->target, s.from, s.until, s.bps);
    }
}

void rates_row(struct rates *r, const struct run_row *row)
{
    const struct rate_schedule *link = &r->d->link_rate.schedule;
    ns_t time = row->value[0];
    int64_t bps;

    if (row->kind != RECORD_RATE) {
        return;
    }
    bps = row->value[r->target_column];
    add_target(r, time, bps);
    if (r->ramp_up.never && link->count && bps != RECORD_NONE) {
        r->ramp_up.never =
            (double)bps < RATES_RAMP_UP_RATIO * (double)rate_schedule_at(link, ns_max(time, 0));
        r->ramp_up.s = ns_to_s(r->ramp_up.never ? r->w->at[WINDOW_WHOLE].end : time);
    }
}

int rates_finish(struct rates *r)
{
    add_target(r, r->w->at[WINDOW_WHOLE].end, RECORD_NONE);
    dist_sort(&r->target);
    return r->target.failed ? ERR_NOMEM : 0;
}

static void put_window(const struct rates *r, size_t i, enum window_id id, struct metric_set *out)
{
    const struct rate_schedule *link = &r->d->link_rate.schedule;
    const struct window *w = &r->set->at[i];
    double seconds = window_seconds(w);

    if (r->d->info.has_media) {
        metric_set_put(out, "media_throughput_bps", id, 8 * r->media[i] / seconds);
        metric_set_put(out, "media_goodput_bps", id, 8 * r->delivered[i] / seconds);
    }
    if (link->count) {
        metric_set_put(out, "link_utilisation_ratio", id,
                       8 * r->link[i] / rate_schedule_bits(link, w->start, w->end));
    }
    if (r->forward[i] > 0) {
        metric_set_put(out, "feedback_overhead_ratio", id, r->back[i] / r->forward[i]);
    }
}

static void put_after(const struct rates *r, struct metric_set *out)
{
    if (r->w->transfer_end == NS_NEVER || !r->d->info.has_media) {
        return;
    }
    for (int s = 1; s <= RATES_AFTER_SECONDS; s++) {
        char name[NAME_BYTES];

        if (r->w->transfer_end + s * NS_PER_S > r->w->at[WINDOW_WHOLE].end) {
            return;
        }
        snprintf(name, sizeof name, "media_after_%ds_bps", s);
        metric_set_put(out, name, WINDOW_AFTER, 8 * r->after[s - 1]);
    }
}

void rates_put(const struct rates *r, struct metric_set *out)
{
    for (enum window_id id = 0; id < WINDOWS; id++) {
        if (r->w->at[id].exists) {
            put_window(r, id, id, out);
        }
    }
    put_after(r, out);
    metric_set_put_time(out, "ramp_up_s", WINDOW_WHOLE, r->ramp_up);
    metric_set_put_dist(out, "target_rate_bps", &r->target, r->w);
}

void rates_put_step(const struct rates *r, size_t window, struct metric_set *out)
{
    const struct windows w = {.at[WINDOW_WHOLE] = r->set->at[window]};

    put_window(r, window, WINDOW_WHOLE, out);
    metric_set_put_dist(out, "target_rate_bps", &r->target, &w);
}
