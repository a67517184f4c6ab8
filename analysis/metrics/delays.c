/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/delays.h"

#include "agents/base/err.h"
#include "agents/base/rate.h"

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

/* What the frame's earlier bytes need at the pacing rate is spread, the rest is queue. */
static void add_sender_side(struct delays *l, const struct media_packet *p)
{
    bool paced = p->frame_offset_bytes >= 0 && p->pacing_bps > 0;
    double spread = paced ? ns_to_ms(rate_duration(p->pacing_bps, p->frame_offset_bytes)) : 0;

    if (p->queued == RECORD_NONE) {
        return;
    }
    dist_add(&l->frame_spread, p->sent, spread);
    dist_add(&l->sender_queue, p->sent, fmax(0, ns_to_ms(p->sent - p->queued) - spread));
}

static void add_media(struct delays *l, const struct media *m)
{
    ns_t smallest = NS_NEVER;

    for (size_t i = 0; i < m->count; i++) {
        const struct media_packet *p = &m->packets[i];

        add_sender_side(l, p);
        if (p->delivered != NS_NEVER && p->queued != RECORD_NONE) {
            dist_add(&l->app_owd, p->sent, ns_to_ms(p->delivered - p->queued));
        }
        if (p->arrival != NS_NEVER && p->departure != NS_NEVER) {
            dist_add(&l->owd, p->sent, ns_to_ms(p->arrival - p->departure));
            smallest = ns_min(smallest, p->arrival - p->departure);
        }
    }
    for (size_t i = 0; i < l->owd.count; i++) {
        dist_add(&l->pdv, l->owd.samples[i].time, l->owd.samples[i].value - ns_to_ms(smallest));
    }
}

/* One flow's packets in the order of arrival: J += (|D| - J) / 16 with D the change of (arrival -
 * RTP timestamp) from the packet before. */
static void add_jitter_of_flow(struct delays *l, const struct media *m, int64_t flow)
{
    const struct media_packet *last = NULL;
    double jitter = 0;

    for (size_t i = 0; i < m->received_count; i++) {
        const struct media_packet *p = &m->packets[m->received[i]];

        if (p->flow != flow || p->arrival == NS_NEVER) {
            continue;
        }
        if (last) {
            double spaced = (double)(p->rtp_timestamp - last->rtp_timestamp) * 1e3 / MEDIA_CLOCK_HZ;
            double d = fabs(ns_to_ms(p->arrival - last->arrival) - spaced);

            jitter += (d - jitter) / JITTER_GAIN;
            dist_add(&l->jitter, p->arrival, jitter);
        }
        last = p;
    }
}

static void add_jitter(struct delays *l, const struct media *m)
{
    int64_t flow = INT64_MIN;

    for (;;) {
        int64_t next = INT64_MAX;

        for (size_t i = 0; i < m->count; i++) {
            if (m->packets[i].flow > flow && m->packets[i].flow < next) {
                next = m->packets[i].flow;
            }
        }
        if (next == INT64_MAX) {
            return;
        }
        add_jitter_of_flow(l, m, next);
        flow = next;
    }
}

/* What a packet takes beyond the empty path. */
static void add_queue(struct delays *l, const struct run_trace *t, ns_t unloaded)
{
    ns_t smallest = unloaded;

    for (size_t i = 0; i < t->count && unloaded == NS_NEVER; i++) {
        if (t->packets[i].received != NS_NEVER) {
            smallest = ns_min(smallest, t->packets[i].received - t->packets[i].sent);
        }
    }
    for (size_t i = 0; i < t->count; i++) {
        const struct run_packet *p = &t->packets[i];

        if (p->received != NS_NEVER) {
            dist_add(&l->queue, p->sent, ns_to_ms(ns_max(p->received - p->sent - smallest, 0)));
        }
    }
}

static void add_rtt(struct delays *l, const struct table *t)
{
    const int64_t *time = table_column(t, "time_ns"), *latest = table_column(t, "latest_ns");

    for (size_t i = 0; i < t->rows; i++) {
        if (latest[i] != RECORD_NONE) {
            dist_add(&l->rtt, time[i], ns_to_ms(latest[i]));
        }
    }
}

int delays_init(struct delays *l, const struct run_data *d, const struct media *m, ns_t unloaded)
{
    *l = (struct delays){0};
    add_media(l, m);
    add_jitter(l, m);
    add_queue(l, &d->forward, unloaded);
    add_rtt(l, &d->tables[RUN_SENDER][RECORD_RTT]);
    for (size_t i = 0; i < ITEMS; i++) {
        dist_sort(dist_of(l, &items[i]));
        if (dist_of(l, &items[i])->failed) {
            delays_fini(l);
            return ERR_NOMEM;
        }
    }
    return 0;
}

void delays_fini(struct delays *l)
{
    for (size_t i = 0; i < ITEMS; i++) {
        dist_fini(dist_of(l, &items[i]));
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
