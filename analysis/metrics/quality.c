/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/quality.h"

#include "analysis/ingest/rows.h"

#include <math.h>

void quality_init(struct quality *q, const struct run_data *d, const struct windows *w,
                  const struct window_set *set)
{
    ns_t last = w->at[WINDOW_WHOLE].end - QUALITY_TAIL;

    *q = (struct quality){.d = d,
                          .w = w,
                          .set = *set,
                          .whole = set,
                          .complete_column = rows_column(RECORD_FRAME_RECEIVED, "complete"),
                          .late_column = rows_column(RECORD_FRAME_RECEIVED, "late"),
                          .duration_column = rows_column(RECORD_FREEZE, "duration_ns")};
    /* a step that another follows counts to its end, which is not the run's */
    for (size_t i = 0; i < set->count; i++) {
        if (i < WINDOWS) {
            q->set.at[i].end = ns_min(set->at[i].end, last);
        } else if (i + 1 == set->count) {
            q->set.at[i].end = set->at[i].end - QUALITY_TAIL;
        }
    }
}

void quality_media(struct quality *q, const struct media_packet *p)
{
    for (size_t i = 0; i < q->set.count; i++) {
        if (window_holds(&q->set.at[i], p->sent)) {
            q->sent[i]++;
            q->lost[i] += p->delivered == NS_NEVER;
        }
    }
}

/* A frame that was given up is as late as one that came after its time. */
void quality_row(struct quality *q, const struct run_row *row)
{
    for (size_t i = 0; i < q->set.count; i++) {
        if (row->kind == RECORD_FRAME_RECEIVED && window_holds(&q->set.at[i], row->value[0])) {
            q->frames[i]++;
            q->missed[i] += row->value[q->complete_column] == 0 || row->value[q->late_column] == 1;
        }
        if (row->kind == RECORD_FREEZE && window_holds(&q->whole->at[i], row->value[0])) {
            q->frozen[i] += row->value[q->duration_column];
        }
    }
}

static double ratio(size_t part, size_t whole)
{
    return whole ? (double)part / (double)whole : NAN;
}

static void put(const struct quality *q, size_t i, enum window_id id, struct metric_set *out)
{
    metric_set_put(out, "media_loss_ratio", id, ratio(q->lost[i], q->sent[i]));
    metric_set_put(out, "media_late_ratio", id, ratio(q->missed[i], q->frames[i]));
    metric_set_put(out, "media_freeze_s", id, ns_to_s(q->frozen[i]));
}

void quality_put(const struct quality *q, struct metric_set *out)
{
    for (enum window_id id = 0; id < WINDOWS && q->d->info.has_media; id++) {
        if (q->w->at[id].exists) {
            put(q, id, id, out);
        }
    }
}

void quality_put_step(const struct quality *q, size_t window, struct metric_set *out)
{
    if (q->d->info.has_media) {
        put(q, window, WINDOW_WHOLE, out);
    }
}
