/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/certificate/probe_plan.h"

#include "agents/base/err.h"

#include <stdlib.h>

#define DELAY_PAYLOAD_BYTES 58 /* 100 bytes on the link */
#define DELAY_SPACING_MIN (4 * NS_PER_MS)
#define DELAY_TIME (500 * NS_PER_MS)
#define DELAY_PACKETS_MIN 20
#define TRAINS 5
#define TRAINS_SLOW 3 /* where a train takes longer than: */
#define TRAIN_SLOW (50 * NS_PER_MS)
#define TRAIN_PAUSE (10 * NS_PER_MS)
#define OVERLOAD_TIME NS_PER_S
#define OVERLOAD_PACKETS_MIN 12
#define OVERLOAD_PACKETS_MAX 8000
/* Waiting for the path to become empty: beyond what it may hold. */
#define SETTLE (30 * NS_PER_MS)

struct writer {
    struct probe_plan *plan;
    size_t room;
    ns_t at;
};

int64_t probe_packet_bytes(const struct probe_packet *p)
{
    return p->payload_bytes + PROBE_OVERHEAD_BYTES;
}

ns_t probe_path_queue(const struct probe_path *p)
{
    return rate_duration(p->rate, p->queue_bytes);
}

static void put(struct writer *w, enum probe_part part, uint8_t train, uint16_t payload)
{
    struct probe_plan *p = w->plan;

    if (p->count < w->room) {
        p->packets[p->count++] = (struct probe_packet){
            .at = w->at, .part = (uint8_t)part, .train = train, .payload_bytes = payload};
    }
}

static ns_t duration_of(const struct probe_path *p, int64_t payload)
{
    return rate_duration(p->rate, payload + PROBE_OVERHEAD_BYTES);
}

/* How many packets of a train the bucket and the queue take at once. */
static size_t train_packets(const struct probe_path *p)
{
    int64_t fit = 1 + p->queue_bytes / (PROBE_TRAIN_PAYLOAD_BYTES + PROBE_OVERHEAD_BYTES);

    return fit < PROBE_TRAIN_PACKETS ? (size_t)fit : PROBE_TRAIN_PACKETS;
}

static void put_delay(struct writer *w, const struct probe_path *path)
{
    ns_t spacing = ns_max(DELAY_SPACING_MIN, 2 * duration_of(path, DELAY_PAYLOAD_BYTES));
    ns_t n = ns_max(DELAY_TIME / spacing, DELAY_PACKETS_MIN);

    for (ns_t i = 0; i < n; i++) {
        put(w, PROBE_DELAY, 0, DELAY_PAYLOAD_BYTES);
        w->at += spacing;
    }
}

static void put_trains(struct writer *w, const struct probe_path *path)
{
    struct probe_plan *p = w->plan;
    ns_t length = (ns_t)p->train_packets * duration_of(path, PROBE_TRAIN_PAYLOAD_BYTES);

    for (size_t t = 0; t < p->trains; t++) {
        for (size_t i = 0; i < p->train_packets; i++) {
            put(w, PROBE_TRAIN, (uint8_t)t, PROBE_TRAIN_PAYLOAD_BYTES);
        }
        /* the bucket is full again after the time of one more packet or two */
        w->at += length + 2 * duration_of(path, PROBE_FULL_PAYLOAD_BYTES) + TRAIN_PAUSE;
    }
}

/* Twice the rate until the queue is full, then a quarter more than the rate. */
static void put_overload(struct writer *w, const struct probe_path *path)
{
    ns_t each = duration_of(path, PROBE_FULL_PAYLOAD_BYTES);
    ns_t fill = w->plan->queue_is_full ? probe_path_queue(path) + each : 0, start = w->at;
    int64_t n = OVERLOAD_TIME / each;

    n = n < OVERLOAD_PACKETS_MIN   ? OVERLOAD_PACKETS_MIN
        : n > OVERLOAD_PACKETS_MAX ? OVERLOAD_PACKETS_MAX
                                   : n;
    for (int64_t i = 0; i * each / 2 < fill; i++) {
        w->at = start + i * each / 2;
        put(w, PROBE_OVERLOAD, 0, PROBE_FULL_PAYLOAD_BYTES);
    }
    start += fill;
    for (int64_t i = 0; i * 4 < n * 5; i++) {
        w->at = start + i * each * 4 / 5;
        put(w, PROBE_OVERLOAD, PROBE_OVERLOAD_FULL, PROBE_FULL_PAYLOAD_BYTES);
    }
}

static size_t room_for(const struct probe_path *path)
{
    int64_t fill = path->queue_bytes / (PROBE_FULL_PAYLOAD_BYTES + PROBE_OVERHEAD_BYTES);

    fill = fill < PROBE_QUEUE_PACKETS_MAX ? fill : PROBE_QUEUE_PACKETS_MAX;
    return (size_t)(2 * fill + OVERLOAD_PACKETS_MAX * 5 / 4 + TRAINS * PROBE_TRAIN_PACKETS +
                    DELAY_TIME / DELAY_SPACING_MIN + DELAY_PACKETS_MIN + 8);
}

int probe_plan_init(struct probe_plan *p, const struct probe_path *path)
{
    struct writer w = {.plan = p, .room = room_for(path)};
    ns_t train, jitter = path->delay_max - path->delay_min;

    *p = (struct probe_plan){.packets = malloc(w.room * sizeof *p->packets),
                             .train_packets = path->line > 1 ? 0 : train_packets(path)};
    if (!p->packets) {
        return ERR_NOMEM;
    }
    put_delay(&w, path);
    if (path->line > 1) {
        p->length = w.at + path->delay_max + SETTLE;
        return 0;
    }
    train = (ns_t)p->train_packets * duration_of(path, PROBE_TRAIN_PAYLOAD_BYTES);
    p->trains = train > TRAIN_SLOW ? TRAINS_SLOW : TRAINS;
    p->queue_is_full = path->queue_bytes / (PROBE_FULL_PAYLOAD_BYTES + PROBE_OVERHEAD_BYTES) <=
                       PROBE_QUEUE_PACKETS_MAX;
    w.at += TRAIN_PAUSE + jitter;
    put_trains(&w, path);
    w.at += jitter;
    put_overload(&w, path);
    p->length = w.at + probe_path_queue(path) + duration_of(path, PROBE_FULL_PAYLOAD_BYTES) +
                path->delay_max + SETTLE;
    return 0;
}

void probe_plan_fini(struct probe_plan *p)
{
    free(p->packets);
    *p = (struct probe_plan){0};
}
