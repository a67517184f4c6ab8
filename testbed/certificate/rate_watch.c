/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/certificate/rate_watch.h"

#define PACKET_BYTES 1514

static double bytes_in(bps_t rate, ns_t t)
{
    return (double)rate / 8 * ns_to_s(ns_max(t, 0));
}

void rate_watch_break(struct rate_watch *w)
{
    w->seen = w->busy = false;
    w->missing_bytes = 0;
}

/* A stretch has lasted long enough. */
static void judge_span(struct rate_watch *w, bps_t rate, const struct rate_watch_look *end)
{
    ns_t span = end->before - w->first.after;
    double due = bytes_in(rate, span);
    /* the packet at the head may have been on its way out for all of its time */
    double carried = (double)(end->out_bytes - w->first.out_bytes) + PACKET_BYTES;

    w->judged += span;
    w->least_ratio = w->least_ratio > 0 ? w->least_ratio : 1;
    if (carried < due) {
        w->least_ratio = carried / due < w->least_ratio ? carried / due : w->least_ratio;
        w->shorts += carried < (1 - RATE_WATCH_SHORT_MAX_RATIO) * due;
    }
}

/* What should have left by now and has not, a little forgotten all the time: a shaper that is slow
 * is for judge_span. */
static void judge_stall(struct rate_watch *w, bps_t rate, const struct rate_watch_look *look)
{
    double waited = (double)w->last.backlog_bytes;
    double due = bytes_in(rate, look->before - w->last.after);
    double carried = (double)(look->out_bytes - w->last.out_bytes), before = w->missing_bytes;
    double limit = bytes_in(rate, RATE_WATCH_STALL_MAX) + PACKET_BYTES;

    due = due < waited ? due : waited;
    w->missing_bytes += (1 - RATE_WATCH_SHORT_MAX_RATIO) * due - carried;
    if (w->missing_bytes <= 0) {
        w->missing_bytes = 0;
    } else if (w->missing_bytes > limit) {
        w->stalls += before <= limit;
        w->stall_max = ns_max(w->stall_max, (ns_t)(w->missing_bytes * 8 / (double)rate * 1e9));
    }
}

/* Whether what waited cannot have left before this look. */
static bool was_busy(const struct rate_watch *w, bps_t rate, const struct rate_watch_look *look)
{
    return (double)w->last.backlog_bytes >
           bytes_in(rate, look->after - w->last.before) + 2 * PACKET_BYTES;
}

void rate_watch_look(struct rate_watch *w, bps_t rate, const struct rate_watch_look *look)
{
    if (w->seen && (look->out_bytes < w->last.out_bytes || rate <= 0)) {
        rate_watch_break(w); /* another shaper, or none */
    }
    if (w->seen) {
        bool busy = was_busy(w, rate, look);

        judge_stall(w, rate, look);
        if (busy && !w->busy) {
            w->first = w->last;
        }
        w->busy = busy;
        if (busy && look->before - w->first.after >= RATE_WATCH_SPAN) {
            judge_span(w, rate, look);
            w->first = *look;
        }
    }
    w->seen = true;
    w->last = *look;
}
