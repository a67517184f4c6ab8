/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/quality.h"

#include <math.h>

static double ratio(size_t part, size_t whole)
{
    return whole ? (double)part / (double)whole : NAN;
}

static double loss_ratio(const struct media *m, ns_t start, ns_t end)
{
    size_t sent = 0, lost = 0;

    for (size_t i = 0; i < m->count; i++) {
        if (m->packets[i].sent >= start && m->packets[i].sent < end) {
            sent++;
            lost += m->packets[i].delivered == NS_NEVER;
        }
    }
    return ratio(lost, sent);
}

/* A frame that was given up is as late as one that came after its time. */
static double late_ratio(const struct table *t, ns_t start, ns_t end)
{
    const int64_t *time = table_column(t, "time_ns"), *complete = table_column(t, "complete");
    const int64_t *late = table_column(t, "late");
    size_t frames = 0, missed = 0;

    for (size_t i = 0; i < t->rows; i++) {
        if (time[i] >= start && time[i] < end) {
            frames++;
            missed += complete[i] == 0 || late[i] == 1;
        }
    }
    return ratio(missed, frames);
}

static double freeze_s(const struct table *t, ns_t start, ns_t end)
{
    const int64_t *time = table_column(t, "time_ns"), *duration = table_column(t, "duration_ns");
    ns_t sum = 0;

    for (size_t i = 0; i < t->rows; i++) {
        if (time[i] >= start && time[i] < end) {
            sum += duration[i];
        }
    }
    return ns_to_s(sum);
}

void quality_put(const struct run_data *d, const struct media *m, const struct windows *w,
                 struct metric_set *out)
{
    const struct table *frames = &d->tables[RUN_RECEIVER][RECORD_FRAME_RECEIVED];
    const struct table *freezes = &d->tables[RUN_RECEIVER][RECORD_FREEZE];
    ns_t last = w->at[WINDOW_WHOLE].end - QUALITY_TAIL;

    if (!d->info.has_media) {
        return;
    }
    for (enum window_id id = 0; id < WINDOWS; id++) {
        ns_t start = w->at[id].start, end = w->at[id].end;

        if (w->at[id].exists) {
            metric_set_put(out, "media_loss_ratio", id, loss_ratio(m, start, ns_min(end, last)));
            metric_set_put(out, "media_late_ratio", id,
                           late_ratio(frames, start, ns_min(end, last)));
            metric_set_put(out, "media_freeze_s", id, freeze_s(freezes, start, end));
        }
    }
}
