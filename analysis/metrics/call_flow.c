/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/call_flow.h"

#include "agents/base/err.h"
#include "agents/base/rate.h"
#include "analysis/metrics/steps.h"

#include <math.h>
#include <string.h>

/* Of an audio packet around what the codec made: RTP with its extension, protection, UDP, IP and
 * Ethernet, about. */
#define AUDIO_OVERHEAD_BYTES 90

/* ---- the flow ---- */

static void add_packets(struct flow_set *set, struct path_flow *f, const struct run_data *d)
{
    const struct run_trace *both[] = {&d->forward, &d->reverse};

    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < both[k]->count; i++) {
            const struct run_packet *p = &both[k]->packets[i];

            flow_set_carry(set, f->backward != (k == 1), f->segments, p->received, p->ip_bytes);
            if (k == 0) {
                flow_series_packet(&f->series, p->sent, p->received, p->ip_bytes);
            }
        }
    }
}

static void add_audio(struct path_flow *f, const struct table *t)
{
    const int64_t *time = table_column(t, "time_ns"), *bytes = table_column(t, "bytes");

    for (size_t i = 0; i < t->rows; i++) {
        flow_series_goodput(&f->series, time[i], (double)bytes[i]);
    }
}

/* From each packet of video to the next, unless that is a pause, in which audio goes on. */
static void add_media(struct path_flow *f, const struct media *m)
{
    ns_t from = NS_NEVER, last = NS_NEVER;

    for (size_t i = 0; i < m->count; i++) {
        const struct media_packet *p = &m->packets[i];

        if (p->delivered != NS_NEVER) {
            flow_series_goodput(&f->series, p->delivered, (double)p->bytes);
        }
        if (last != NS_NEVER && p->sent - last >= FLOW_SERIES_PAUSE) {
            flow_series_active(&f->series, from, last + 1);
            from = NS_NEVER;
        }
        from = from == NS_NEVER ? p->sent : from;
        last = p->sent;
    }
    if (last != NS_NEVER) {
        flow_series_active(&f->series, from, last + 1);
        f->start = m->packets[0].sent;
        f->stop = last;
    }
}

/* A flow without video, data or music alone, is there from its first packet to its last. */
static void add_span(struct path_flow *f, const struct run_trace *t)
{
    if (t->count > 0) {
        f->start = t->packets[0].sent;
        f->stop = t->packets[t->count - 1].sent;
        flow_series_active(&f->series, f->start, f->stop + 1);
    }
}

static double number_in(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

/* The encoder's highest rate with the overhead of the fullest packet that carried nothing else, and
 * audio with its own. A call with data can use any rate. */
static double most_bps(const struct run_data *d)
{
    const json_t *source = json_object_get(d->info.root, "source");
    const struct run_packet *full = NULL;
    double most = number_in(source, "max_rate_bps");
    double interval = number_in(source, "audio_interval_ns");

    for (size_t i = 0; i < d->forward.count; i++) {
        const struct run_packet *p = &d->forward.packets[i];

        if (p->rtp_bytes > 0 && p->data_bytes == 0 && p->padding_bytes == 0 &&
            (!full || p->rtp_bytes > full->rtp_bytes)) {
            full = p;
        }
    }
    if (d->info.data_kind || most <= 0 || !full) {
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

int call_flow_add(struct flow_set *set, const char *name, const struct run_data *d,
                  const struct media *m)
{
    struct path_flow *f;
    double weight = number_in(d->info.root, "priority");

    if (set->count == FLOW_SET_FLOWS_MAX) {
        return ERR_LIMIT;
    }
    f = flow_set_add(set, name, FLOW_CALL);
    if (!f) {
        return ERR_NOMEM;
    }
    f->backward = d->info.backward;
    f->weight = weight > 0 ? weight : 1;
    f->most_bps = most_bps(d);
    f->segments = segments_of(d->info.root);
    add_packets(set, f, d);
    if (d->info.has_media) {
        add_media(f, m);
    } else {
        add_span(f, &d->forward);
    }
    add_audio(f, &d->tables[RUN_RECEIVER][RECORD_AUDIO_RECEIVED]);
    return 0;
}

/* ---- metrics ---- */

static uint64_t frame_key(int64_t flow, int64_t rtp_timestamp)
{
    return (uint64_t)flow << 48 ^ (uint64_t)rtp_timestamp;
}

/* From the encoder to its last packet at the receiver. */
static int frame_delays(struct dist *out, const struct run_data *d)
{
    const struct table *sent = &d->tables[RUN_SENDER][RECORD_FRAME_SENT];
    const struct table *received = &d->tables[RUN_RECEIVER][RECORD_FRAME_RECEIVED];
    const int64_t *left = table_column(sent, "time_ns"), *flow = table_column(sent, "flow");
    const int64_t *stamp = table_column(sent, "rtp_timestamp");
    const int64_t *came = table_column(received, "time_ns");
    const int64_t *to_flow = table_column(received, "flow");
    const int64_t *to_stamp = table_column(received, "rtp_timestamp");
    const int64_t *complete = table_column(received, "complete");
    struct join frames;
    int rc = join_init(&frames, sent->rows);

    *out = (struct dist){0};
    if (rc) {
        return rc;
    }
    for (size_t i = 0; i < sent->rows; i++) {
        frames.entries[i] = (struct join_entry){frame_key(flow[i], stamp[i]), (uint32_t)i};
    }
    rc = join_sort(&frames);
    for (size_t i = 0; i < received->rows && !rc; i++) {
        uint32_t row = join_find(&frames, frame_key(to_flow[i], to_stamp[i]));

        if (row != JOIN_NONE && complete[i] == 1) {
            dist_add(out, left[row], ns_to_ms(came[i] - left[row]));
        }
    }
    join_fini(&frames);
    dist_sort(out);
    return rc || out->failed ? ERR_NOMEM : 0;
}

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

static int settled_queue(struct dist *out, const struct flow_set *set, bool backward,
                         const struct dist *queue)
{
    *out = (struct dist){0};
    for (size_t i = 0; i < queue->count; i++) {
        if (!after_fall(set, backward, queue->samples[i].time)) {
            dist_add(out, queue->samples[i].time, queue->samples[i].value);
        }
    }
    dist_sort(out);
    return out->failed ? ERR_NOMEM : 0;
}

/* In bytes of IP packets, as throughput is. */
static double sending_bps(const struct run_data *d, const struct window *w)
{
    double sum = 0;

    for (size_t i = 0; i < d->forward.count; i++) {
        const struct run_packet *p = &d->forward.packets[i];

        sum += p->sent >= w->start && p->sent < w->end ? p->ip_bytes : 0;
    }
    return 8 * sum / window_seconds(w);
}

int call_flow_put(const struct flow_set *set, const struct run_data *d, const struct media *m,
                  const struct delays *l, struct metric_set *out)
{
    struct windows whole = {.at[WINDOW_WHOLE] = {true, 0, set->end}};
    struct dist frames = {0}, queue = {0};
    struct steps steps;
    int rc = frame_delays(&frames, d);

    rc = rc ? rc : settled_queue(&queue, set, d->info.backward, &l->queue);
    if (!rc) {
        metric_set_put_dist(out, "frame_delay_ms", &frames, &whole);
        metric_set_put_dist(out, "settled_queue_delay_ms", &queue, &whole);
        metric_set_put(out, "sending_rate_bps", WINDOW_WHOLE,
                       sending_bps(d, &whole.at[WINDOW_WHOLE]));
        steps_init(&steps, set, d->info.backward);
        for (size_t i = 0; i < steps.count; i++) {
            const struct windows step = {.at[WINDOW_WHOLE] = steps.at[i]};
            char name[STEPS_NAME_MAX];

            steps_put_value(out, i, "sending_rate_bps", sending_bps(d, &steps.at[i]));
            metric_set_put_dist(out, steps_name(name, i, "settled_queue_delay_ms"), &queue, &step);
            metric_set_put_dist(out, steps_name(name, i, "frame_delay_ms"), &frames, &step);
        }
        rc = steps_put(&steps, d, m, l, out);
    }
    dist_fini(&frames);
    dist_fini(&queue);
    return rc;
}
