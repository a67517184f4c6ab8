/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/call_flow.h"

#include "agents/base/err.h"
#include "agents/base/rate.h"
#include "analysis/ingest/rows.h"
#include "analysis/ingest/taps.h"

#include <math.h>

/* Of an audio packet around what the codec made: RTP with its extension, protection, UDP, IP and
 * Ethernet, about. */
#define AUDIO_OVERHEAD_BYTES 90

/* ---- the flow ---- */

static double number_in(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

/* The encoder's highest rate with the overhead of the fullest packet that carried nothing else, and
 * audio with its own. A call with data can use any rate. */
static double most_bps(const struct run_data *d, const struct run_packet *full)
{
    const json_t *source = json_object_get(d->info.root, "source");
    double most = number_in(source, "max_rate_bps");
    double interval = number_in(source, "audio_interval_ns");

    if (d->info.data_kind || most <= 0 || full->rtp_bytes == 0) {
        return INFINITY;
    }
    most *= (full->ip_bytes + RATE_ETHERNET_OVERHEAD_BYTES) / (double)full->rtp_bytes;
    if (interval > 0) {
        most += number_in(source, "audio_rate_bps") +
                8 * AUDIO_OVERHEAD_BYTES / (interval / (double)NS_PER_S);
    }
    return most;
}

/* {"first":0,"last":1} as bits; without, the first segment alone. */
static unsigned segments_of(const json_t *root)
{
    const json_t *o = json_object_get(root, "segments");
    json_int_t first = json_integer_value(json_object_get(o, "first"));
    json_int_t last = json_integer_value(json_object_get(o, "last"));
    unsigned bits = 0;

    for (json_int_t i = first; i >= 0 && i <= last && i < FLOW_SET_SEGMENTS; i++) {
        bits |= 1U << i;
    }
    return bits ? bits : 1;
}

static void bound(struct call_flow *c, struct dist *d)
{
    struct window_set set = {.at = {{true, 0, c->set->end}}, .count = 1};

    steps_add(&c->steps, &set);
    window_set_bound(&set, d);
}

int call_flow_init(struct call_flow *c, struct flow_set *set, const char *name,
                   const struct run_data *d, const struct delays *l)
{
    double weight = number_in(d->info.root, "priority");

    *c = (struct call_flow){
        .d = d,
        .set = set,
        .delays = l,
        .active_since = NS_NEVER,
        .last_sent = NS_NEVER,
        .window = taps_window(&d->info),
        .audio_bytes = rows_column(RECORD_AUDIO_RECEIVED, "bytes"),
        .sent_flow = rows_column(RECORD_FRAME_SENT, "flow"),
        .sent_stamp = rows_column(RECORD_FRAME_SENT, "rtp_timestamp"),
        .came_flow = rows_column(RECORD_FRAME_RECEIVED, "flow"),
        .came_stamp = rows_column(RECORD_FRAME_RECEIVED, "rtp_timestamp"),
        .came_complete = rows_column(RECORD_FRAME_RECEIVED, "complete"),
    };
    pending_init(&c->frames, sizeof(ns_t));
    pending_init(&c->early, sizeof(ns_t));
    if (set->count == FLOW_SET_FLOWS_MAX) {
        return ERR_LIMIT;
    }
    c->flow = flow_set_add(set, name, FLOW_CALL);
    if (!c->flow) {
        return ERR_NOMEM;
    }
    c->flow->backward = d->info.backward;
    c->flow->weight = weight > 0 ? weight : 1;
    c->flow->segments = segments_of(d->info.root);
    steps_init(&c->steps, set, d->info.backward);
    bound(c, &c->frame_delay);
    bound(c, &c->settled_queue);
    return 0;
}

void call_flow_fini(struct call_flow *c)
{
    dist_fini(&c->frame_delay);
    dist_fini(&c->settled_queue);
    pending_fini(&c->frames);
    pending_fini(&c->early);
}

/* ---- what is read ---- */

/* Whether the capacity of that direction went down just before: the queue that this leaves is
 * nobody's choice. */
static bool after_fall(const struct flow_set *set, bool backward, ns_t t)
{
    for (size_t i = 0; i < set->event_count && set->events[i].at <= t; i++) {
        const struct flow_event *e = &set->events[i];

        if (e->kind == FLOW_EVENT_STEP && e->down && e->backward == backward &&
            t - e->at < FLOW_SET_SETTLING) {
            return true;
        }
    }
    return false;
}

static void count_sent(struct call_flow *c, const struct run_packet *p)
{
    const struct window whole = {true, 0, c->set->end};

    c->sent_bytes += window_holds(&whole, p->sent) ? p->ip_bytes : 0;
    for (size_t i = 0; i < c->steps.count; i++) {
        c->step_bytes[i] += window_holds(&c->steps.at[i], p->sent) ? p->ip_bytes : 0;
    }
}

void call_flow_packet(struct call_flow *c, bool reverse, const struct run_packet *p)
{
    struct path_flow *f = c->flow;

    flow_set_carry(c->set, f->backward != reverse, f->segments, p->received, p->ip_bytes);
    if (reverse) {
        return;
    }
    flow_series_packet(&f->series, p->sent, p->received, p->ip_bytes);
    count_sent(c, p);
    if (!after_fall(c->set, f->backward, p->sent)) {
        delays_add_queue(c->delays, &c->settled_queue, p);
    }
    if (p->rtp_bytes > 0 && p->data_bytes == 0 && p->padding_bytes == 0 &&
        (p->rtp_bytes > c->full.rtp_bytes ||
         (p->rtp_bytes == c->full.rtp_bytes && p->sent < c->full.sent))) {
        c->full = *p;
    }
}

/* From each packet of video to the next, unless that is a pause, in which audio goes on. */
void call_flow_media_sent(struct call_flow *c, const struct media_packet *p)
{
    struct path_flow *f = c->flow;

    if (c->last_sent != NS_NEVER && p->sent - c->last_sent >= FLOW_SERIES_PAUSE) {
        flow_series_active(&f->series, c->active_since, c->last_sent + 1);
        c->active_since = NS_NEVER;
    }
    c->active_since = c->active_since == NS_NEVER ? p->sent : c->active_since;
    f->start = f->start == NS_NEVER ? p->sent : f->start;
    f->stop = c->last_sent = p->sent;
}

void call_flow_media(struct call_flow *c, const struct media_packet *p)
{
    if (p->delivered != NS_NEVER) {
        flow_series_goodput(&c->flow->series, p->delivered, (double)p->bytes);
    }
}

static uint64_t frame_key(int64_t flow, int64_t rtp_timestamp)
{
    return (uint64_t)flow << 48 ^ (uint64_t)rtp_timestamp;
}

static void forget(struct pending *p, ns_t before)
{
    uint64_t key;

    while (pending_expired(p, before, &key)) {
        pending_take(p, key, NULL);
    }
}

/* From the encoder to its last packet at the receiver. */
static void add_frame(struct call_flow *c, ns_t left, ns_t came)
{
    dist_add(&c->frame_delay, left, ns_to_ms(came - left));
}

static int take_sent(struct call_flow *c, uint64_t key, ns_t left)
{
    ns_t came;

    while (pending_take(&c->early, key, &came)) {
        add_frame(c, left, came);
    }
    return pending_add(&c->frames, key, left, &left) ? 0 : ERR_NOMEM;
}

static int take_complete(struct call_flow *c, uint64_t key, ns_t came)
{
    const ns_t *left = pending_find(&c->frames, key);

    if (!left) {
        return pending_add(&c->early, key, came, &came) ? 0 : ERR_NOMEM;
    }
    add_frame(c, *left, came);
    return 0;
}

int call_flow_row(struct call_flow *c, const struct run_row *row)
{
    const int64_t *v = row->value;
    ns_t time = v[0];

    if (row->kind == RECORD_AUDIO_RECEIVED) {
        flow_series_goodput(&c->flow->series, time, (double)v[c->audio_bytes]);
    } else if (row->kind == RECORD_FRAME_RECEIVED && v[c->came_complete] == 1) {
        return take_complete(c, frame_key(v[c->came_flow], v[c->came_stamp]), time);
    } else if (row->kind == RECORD_FRAME_SENT) {
        if (c->window != NS_NEVER) {
            forget(&c->frames, ns_max(time, 0) - c->window);
            forget(&c->early, ns_max(time, 0) - c->window);
        }
        return take_sent(c, frame_key(v[c->sent_flow], v[c->sent_stamp]), time);
    }
    return 0;
}

int call_flow_finish(struct call_flow *c)
{
    struct path_flow *f = c->flow;
    int rc = delays_finish_queue(c->delays, &c->settled_queue);

    dist_sort(&c->frame_delay);
    if (!c->d->info.has_media) { /* data or music alone: there from its first packet to its last */
        f->start = c->d->forward.first_sent;
        f->stop = c->d->forward.last_sent;
        c->active_since = f->start;
        c->last_sent = f->stop;
    }
    if (c->last_sent != NS_NEVER) {
        flow_series_active(&f->series, c->active_since, c->last_sent + 1);
    }
    f->most_bps = most_bps(c->d, &c->full);
    return rc || c->frame_delay.failed ? ERR_NOMEM : 0;
}

/* ---- metrics ---- */

/* In bytes of IP packets, as throughput is. */
static double sending_bps(double bytes, const struct window *w)
{
    return 8 * bytes / window_seconds(w);
}

int call_flow_put(const struct call_flow *c, const struct rates *r, const struct quality *q,
                  struct metric_set *out)
{
    const struct windows whole = {.at[WINDOW_WHOLE] = {true, 0, c->set->end}};
    const struct steps *s = &c->steps;

    metric_set_put_dist(out, "frame_delay_ms", &c->frame_delay, &whole);
    metric_set_put_dist(out, "settled_queue_delay_ms", &c->settled_queue, &whole);
    metric_set_put(out, "sending_rate_bps", WINDOW_WHOLE,
                   sending_bps(c->sent_bytes, &whole.at[WINDOW_WHOLE]));
    for (size_t i = 0; i < s->count; i++) {
        const struct windows step = {.at[WINDOW_WHOLE] = s->at[i]};
        char name[STEPS_NAME_MAX];

        steps_put_value(out, i, "sending_rate_bps", sending_bps(c->step_bytes[i], &s->at[i]));
        metric_set_put_dist(out, steps_name(name, i, "settled_queue_delay_ms"), &c->settled_queue,
                            &step);
        metric_set_put_dist(out, steps_name(name, i, "frame_delay_ms"), &c->frame_delay, &step);
    }
    return steps_put(s, r, q, c->delays, out);
}
