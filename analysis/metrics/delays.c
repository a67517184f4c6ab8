/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/delays.h"

#include "agents/base/err.h"
#include "agents/base/rate.h"
#include "analysis/ingest/rows.h"

#include <math.h>
#include <stdbool.h>

#define JITTER_GAIN 16.0 /* RFC 3550 A.8 */

struct item {
    const char *name;
    size_t offset;
};

#define ITEM(metric, member)                                                                       \
    {                                                                                              \
        metric, offsetof(struct delays, member)                                                    \
    }

static const struct item items[] = {
    ITEM("media_owd_ms", owd),
    ITEM("media_app_owd_ms", app_owd),
    ITEM("media_sender_queue_ms", sender_queue),
    ITEM("media_frame_spread_ms", frame_spread),
    ITEM("media_jitter_ms", jitter),
    ITEM("media_pdv_ms", pdv),
    ITEM("queue_delay_ms", queue),
    ITEM("rtt_ms", rtt),
};

#define ITEMS (sizeof items / sizeof *items)

static struct dist *dist_of(struct delays *l, const struct item *i)
{
    return (struct dist *)(void *)((char *)l + i->offset);
}

#define DRAWN 4

static struct bin_quantiles *drawn_of(struct delays *l, size_t i)
{
    struct bin_quantiles *const all[DRAWN] = {&l->owd_bins, &l->app_owd_bins, &l->sender_queue_bins,
                                              &l->queue_bins};

    return all[i];
}

static void add_both(struct dist *d, struct bin_quantiles *b, ns_t time, double value)
{
    dist_add(d, time, value);
    bin_quantiles_add(b, time, value);
}

/* What the frame's earlier bytes need at the pacing rate is spread, the rest is queue. */
static void add_sender_side(struct delays *l, const struct media_packet *p)
{
    bool paced = p->frame_offset_bytes >= 0 && p->pacing_bps > 0;
    double spread = paced ? ns_to_ms(rate_duration(p->pacing_bps, p->frame_offset_bytes)) : 0;

    if (p->queued == RECORD_NONE) {
        return;
    }
    dist_add(&l->frame_spread, p->sent, spread);
    add_both(&l->sender_queue, &l->sender_queue_bins, p->sent,
             fmax(0, ns_to_ms(p->sent - p->queued) - spread));
}

void delays_init(struct delays *l, const struct window_set *set, ns_t window, ns_t unloaded)
{
    *l = (struct delays){.unloaded = unloaded,
                         .smallest_owd = NS_NEVER,
                         .smallest_way = NS_NEVER,
                         .latest_column = rows_column(RECORD_RTT, "latest_ns")};
    for (size_t i = 0; i < ITEMS; i++) {
        window_set_bound(set, dist_of(l, &items[i]));
    }
    for (size_t i = 0; i < DRAWN; i++) {
        bin_quantiles_init(drawn_of(l, i), set->at[WINDOW_WHOLE].end, DELAYS_BIN, window);
    }
}

static struct delays_flow *flow_of(struct delays *l, int64_t flow)
{
    for (size_t i = 0; i < l->flow_count; i++) {
        if (l->flows[i].flow == flow) {
            return &l->flows[i];
        }
    }
    if (l->flow_count == DELAYS_FLOWS_MAX) {
        return NULL;
    }
    l->flows[l->flow_count] = (struct delays_flow){.flow = flow, .arrival = NS_NEVER};
    return &l->flows[l->flow_count++];
}

/* One flow's packets in the order of arrival: J += (|D| - J) / 16 with D the change of (arrival -
 * RTP timestamp) from the packet before. */
static void add_jitter(struct delays *l, const struct media_packet *p)
{
    struct delays_flow *f = p->arrival == NS_NEVER ? NULL : flow_of(l, p->flow);

    if (!f) {
        return;
    }
    if (f->arrival != NS_NEVER) {
        double spaced = (double)(p->rtp_timestamp - f->rtp_timestamp) * 1e3 / MEDIA_CLOCK_HZ;
        double d = fabs(ns_to_ms(p->arrival - f->arrival) - spaced);

        f->jitter += (d - f->jitter) / JITTER_GAIN;
        dist_add(&l->jitter, p->arrival, f->jitter);
    }
    f->arrival = p->arrival;
    f->rtp_timestamp = p->rtp_timestamp;
}

void delays_media(struct delays *l, const struct media_packet *p)
{
    add_sender_side(l, p);
    if (p->delivered != NS_NEVER && p->queued != RECORD_NONE) {
        add_both(&l->app_owd, &l->app_owd_bins, p->sent, ns_to_ms(p->delivered - p->queued));
    }
    if (p->arrival != NS_NEVER && p->departure != NS_NEVER) {
        add_both(&l->owd, &l->owd_bins, p->sent, ns_to_ms(p->arrival - p->departure));
        l->smallest_owd = ns_min(l->smallest_owd, p->arrival - p->departure);
    }
    add_jitter(l, p);
}

/* Without a certificate what is added waits, in ns, for the smallest delay of the run. */
static double queue_of(const struct delays *l, const struct run_packet *p)
{
    ns_t way = p->received - p->sent;

    return l->unloaded == NS_NEVER ? (double)way : ns_to_ms(ns_max(way - l->unloaded, 0));
}

void delays_add_queue(const struct delays *l, struct dist *queue, const struct run_packet *p)
{
    if (p->received != NS_NEVER) {
        dist_add(queue, p->sent, queue_of(l, p));
    }
}

void delays_packet(struct delays *l, const struct run_packet *p)
{
    if (p->received != NS_NEVER) {
        add_both(&l->queue, &l->queue_bins, p->sent, queue_of(l, p));
        l->smallest_way = ns_min(l->smallest_way, p->received - p->sent);
    }
}

void delays_row(struct delays *l, const struct run_row *row)
{
    if (row->kind == RECORD_RTT && row->value[l->latest_column] != RECORD_NONE) {
        dist_add(&l->rtt, row->value[0], ns_to_ms(row->value[l->latest_column]));
    }
}

/* What a packet takes beyond the empty path. */
static double beyond(double way, const void *ctx)
{
    const ns_t *smallest = ctx;

    return ns_to_ms((ns_t)way - *smallest);
}

static double above(double owd_ms, const void *ctx)
{
    const ns_t *smallest = ctx;

    return owd_ms - ns_to_ms(*smallest);
}

int delays_finish_queue(const struct delays *l, struct dist *queue)
{
    if (l->unloaded == NS_NEVER) {
        dist_map(queue, beyond, &l->smallest_way);
    }
    dist_sort(queue);
    return queue->failed ? ERR_NOMEM : 0;
}

static int finish_bins(struct delays *l)
{
    struct bin_quantiles *q = &l->queue_bins;
    int rc = 0;

    for (size_t i = 0; i < DRAWN && !rc; i++) {
        rc = bin_quantiles_finish(drawn_of(l, i));
    }
    for (size_t i = 0; !rc && l->unloaded == NS_NEVER && i < q->count; i++) {
        struct bin_quantiles_row *row = &q->rows[i];

        if (isfinite(row->max)) {
            row->p50 = beyond(row->p50, &l->smallest_way);
            row->p95 = beyond(row->p95, &l->smallest_way);
            row->max = beyond(row->max, &l->smallest_way);
        }
    }
    return rc;
}

int delays_finish(struct delays *l)
{
    int rc = finish_bins(l);

    rc = rc ? rc : delays_finish_queue(l, &l->queue);

    dist_fini(&l->pdv);
    dist_copy(&l->pdv, &l->owd);
    dist_map(&l->pdv, above, &l->smallest_owd);
    for (size_t i = 0; i < ITEMS && !rc; i++) {
        struct dist *d = dist_of(l, &items[i]);

        if (d != &l->queue) {
            dist_sort(d);
            rc = d->failed ? ERR_NOMEM : 0;
        }
    }
    return rc;
}

void delays_fini(struct delays *l)
{
    for (size_t i = 0; i < ITEMS; i++) {
        dist_fini(dist_of(l, &items[i]));
    }
    for (size_t i = 0; i < DRAWN; i++) {
        bin_quantiles_fini(drawn_of(l, i));
    }
}

void delays_put(const struct delays *l, const struct windows *w, struct metric_set *out)
{
    for (size_t i = 0; i < ITEMS; i++) {
        metric_set_put_dist(out, items[i].name,
                            (const struct dist *)(const void *)((const char *)l + items[i].offset),
                            w);
    }
}
