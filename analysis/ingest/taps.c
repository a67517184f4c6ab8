/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ingest/taps.h"

#include "agents/base/err.h"
#include "agents/base/rate.h"

#include <stdio.h>

#define PATH_BYTES 4096

ns_t taps_window(const struct run_info *info)
{
    json_int_t queue =
        json_integer_value(json_object_get(json_object_get(info->root, "path"), "queue_bytes"));
    ns_t drain = queue > 0 && info->rate_bps > 0 ? rate_duration(info->rate_bps, queue) : 0;

    if (info->wall_elapsed == 0 || run_info_clock_stepped(info)) {
        return NS_NEVER;
    }
    return ns_min(TAPS_WINDOW + 2 * ns_min(info->delay, NS_PER_S * 3600) +
                      2 * ns_min(drain, NS_PER_S * 3600),
                  NS_NEVER / 4);
}

void taps_order_set(struct taps_order *o, ns_t time)
{
    o->time = ns_min(time, o->latest + TAPS_LEAP_MAX);
    o->latest = ns_max(o->latest, o->time);
}

static int advance(struct taps *t, int end)
{
    struct taps_frame *next = &t->next[end];
    int rc = capture_next(&t->ends[end], &next->frame);

    if (rc <= 0) {
        t->order[end].ended = true;
        return rc;
    }
    next->at_receiver = end == 1;
    next->time = run_info_time(t->info, next->frame.wall_ns);
    taps_order_set(&t->order[end], next->time);
    return 0;
}

static int open_end(struct taps *t, int end, const char *dir, struct fault *f)
{
    static const char *const here[] = {"sender.pcap", "receiver.pcap"};
    const char *elsewhere = end ? t->info->receiver_capture : t->info->sender_capture;
    char path[PATH_BYTES];

    if (run_info_place(path, sizeof path, dir, NULL, elsewhere ? elsewhere : here[end])) {
        return fault_set(f, ERR_LIMIT, "%s: the path is too long", dir);
    }
    return capture_open(&t->ends[end], path, f);
}

int taps_open(struct taps *t, const char *dir, const struct run_info *info, struct fault *f)
{
    int rc = 0;

    *t = (struct taps){.info = info, .taken = -1};
    for (int i = 0; i < 2 && !rc; i++) {
        rc = open_end(t, i, dir, f);
    }
    for (int i = 0; i < 2 && !rc; i++) {
        rc = advance(t, i);
    }
    if (rc) {
        taps_close(t);
    }
    return rc;
}

/* A frame is borrowed from its reader, which goes on only when the next one is asked for. */
static int release(struct taps *t)
{
    int rc = t->taken < 0 ? 0 : advance(t, t->taken);

    t->taken = -1;
    return rc;
}

static int first(const struct taps *t)
{
    return t->order[0].ended || (!t->order[1].ended && t->order[1].time < t->order[0].time);
}

int taps_due(struct taps *t, ns_t *time)
{
    int rc = release(t);

    *time = t->order[first(t)].ended ? NS_NEVER : t->order[first(t)].time;
    return rc;
}

int taps_next(struct taps *t, struct taps_frame *frame)
{
    int rc = release(t), end = first(t);

    if (rc || t->order[end].ended) {
        return rc;
    }
    t->taken = end;
    t->now = ns_max(t->now, t->order[end].time);
    *frame = t->next[end];
    return 1;
}

void taps_close(struct taps *t)
{
    capture_close(&t->ends[0]);
    capture_close(&t->ends[1]);
}
