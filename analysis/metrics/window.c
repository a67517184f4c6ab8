/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/window.h"

const char *const window_names[WINDOWS] = {"whole", "before", "during", "after"};

/* The first data channel, whose identifier is the lowest. */
static int64_t first_channel(const struct table *t)
{
    const int64_t *channels = table_column(t, "channel");
    int64_t first = RECORD_NONE;

    for (size_t i = 0; i < t->rows; i++) {
        first = first == RECORD_NONE || channels[i] < first ? channels[i] : first;
    }
    return first;
}

/* Time of the channel's first row of event in a file table, NS_NEVER without one. */
static ns_t file_event(const struct table *t, int64_t channel, int64_t event)
{
    const int64_t *time = table_column(t, "time_ns"), *events = table_column(t, "event");
    const int64_t *channels = table_column(t, "channel");

    for (size_t i = 0; i < t->rows; i++) {
        if (events[i] == event && channels[i] == channel) {
            return time[i];
        }
    }
    return NS_NEVER;
}

static ns_t run_end(const struct run_data *d)
{
    ns_t end = 0;

    if (d->info.duration > 0) {
        return d->info.duration;
    }
    if (d->forward.last_sent != NS_NEVER) {
        end = d->forward.last_sent;
    }
    return end > 0 ? end : 0;
}

/* An event of the path, where the manifest tells of one: its times, within the run. */
static bool find_event(const struct run_data *d, ns_t end, ns_t *start, ns_t *stop)
{
    json_t *path = json_object_get(d->info.root, "path");
    json_t *forward = json_object_get(json_object_get(path, "impairments"), "forward");
    json_t *event = json_object_get(forward, "event"), *stops = json_object_get(event, "stop_ns");

    *start = json_integer_value(json_object_get(event, "start_ns"));
    *stop = json_is_integer(stops) ? ns_min(json_integer_value(stops), end) : end;
    return event && *start >= 0 && *start < *stop;
}

static struct window window_of(ns_t start, ns_t end, ns_t shortest)
{
    return (struct window){.exists = end - start >= shortest, .start = start, .end = end};
}

void windows_init(struct windows *w, const struct run_data *d)
{
    ns_t end = run_end(d), stop = end;

    const struct table *sent = &d->tables[RUN_SENDER][RECORD_FILE];
    const struct table *received = &d->tables[RUN_RECEIVER][RECORD_FILE];
    int64_t channel = first_channel(sent->rows ? sent : received);

    *w = (struct windows){.channel = channel,
                          .transfer_start = file_event(sent, channel, 0),
                          .transfer_end = file_event(received, channel, 1)};
    w->at[WINDOW_WHOLE] = window_of(0, end, 1);
    if (w->transfer_start == NS_NEVER || w->transfer_start >= end) {
        ns_t start;

        if (w->transfer_start == NS_NEVER && find_event(d, end, &start, &stop)) {
            w->at[WINDOW_BEFORE] = window_of(0, start, WINDOW_MIN);
            w->at[WINDOW_DURING] = window_of(start, stop, 1);
            w->at[WINDOW_AFTER] = window_of(stop, end, WINDOW_MIN);
        }
        return;
    }
    if (w->transfer_end != NS_NEVER && w->transfer_end > w->transfer_start) {
        stop = ns_min(w->transfer_end, end);
    } else if (d->info.data_stop > w->transfer_start) {
        stop = ns_min(d->info.data_stop, end);
    }
    w->at[WINDOW_BEFORE] = window_of(0, w->transfer_start, WINDOW_MIN);
    w->at[WINDOW_DURING] = window_of(w->transfer_start, stop, 1);
    w->at[WINDOW_AFTER] = window_of(stop, end, WINDOW_MIN);
}

double window_seconds(const struct window *w)
{
    return ns_to_s(w->end - w->start);
}

bool window_holds(const struct window *w, ns_t t)
{
    return w->exists && t >= w->start && t < w->end;
}

void window_set_bound(const struct window_set *s, struct dist *d)
{
    struct dist_window windows[WINDOW_SET_MAX];
    size_t n = 0;

    for (size_t i = 0; i < s->count; i++) {
        if (s->at[i].exists) {
            windows[n++] = (struct dist_window){s->at[i].start, s->at[i].end};
        }
    }
    dist_bound(d, DIST_KEPT, windows, n);
}
