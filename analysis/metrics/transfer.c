/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/transfer.h"

#include "agents/base/rate.h"
#include "analysis/ingest/rows.h"

#include <math.h>
#include <string.h>

/* The event that the sender's connection is ready. */
#define EVENT_CONNECTED "handshake-complete"
/* The event that media's share has changed; its value is the new one, in 1e-6. */
#define EVENT_SHARE "step-share-ppm"

/* How long bits take from start on with what media's share, which may change, leaves of the rate,
 * which may as well. */
static double drain_s(const struct run_data *d, double bits, ns_t start)
{
    const struct table *events = &d->tables[RUN_SENDER][RECORD_EVENT];
    const int64_t *time = table_column(events, "time_ns"), *value = table_column(events, "value");
    const struct rate_schedule *rate = &d->link_rate.schedule;
    double share = d->info.has_media ? d->info.share : 0;
    ns_t at = start;

    for (size_t i = 0; i < events->rows && d->info.has_media; i++) {
        double room = (1 - share) * rate_schedule_bits(rate, at, ns_max(time[i], at));

        if (strcmp(events->names[i], EVENT_SHARE) != 0) {
            continue;
        }
        if (room >= bits) {
            break;
        }
        bits -= room;
        at = ns_max(time[i], at);
        share = (double)value[i] / 1e6;
    }
    return share < 1 ? ns_to_s(rate_schedule_end(rate, at, bits / (1 - share)) - start) : NAN;
}

void transfer_init(struct transfer *t, const struct run_data *d, const struct windows *w)
{
    *t = (struct transfer){.d = d,
                           .w = w,
                           .bytes_column = rows_column(RECORD_MESSAGE_RECEIVED, "bytes"),
                           .channel_column = rows_column(RECORD_MESSAGE_RECEIVED, "channel")};
}

void transfer_packet(struct transfer *t, const struct run_packet *p)
{
    if (p->data_bytes > 0 && p->rtp_bytes == 0 && p->padding_bytes == 0 &&
        (p->data_bytes > t->full.data_bytes ||
         (p->data_bytes == t->full.data_bytes && p->sent < t->full.sent))) {
        t->full = *p;
    }
}

void transfer_row(struct transfer *t, const struct run_row *row)
{
    if (row->kind == RECORD_MESSAGE_RECEIVED && row->value[t->channel_column] == t->w->channel &&
        window_holds(&t->w->at[WINDOW_DURING], row->value[0])) {
        t->message_bytes += (double)row->value[t->bytes_column];
    }
}

/* The shortest time a file sent from start on can take on this path beside media that uses its
 * share: file bits x (Ethernet bytes / file bytes of a full packet) / ((1 - share) x rate), in s.
 * The share is the one in force at each moment, by the sender's events; without media it counts as
 * 0. NAN when there is no file or no full packet, or nothing is ever left for it. */
static double ideal_s(const struct transfer *t, ns_t start)
{
    const struct run_data *d = t->d;
    double expansion;

    if (t->full.data_bytes == 0 || d->info.data_bytes <= 0 || !d->link_rate.schedule.count) {
        return NAN;
    }
    expansion = (t->full.ip_bytes + RATE_ETHERNET_OVERHEAD_BYTES) / (double)t->full.data_bytes;
    return drain_s(d, 8 * (double)d->info.data_bytes * expansion, start);
}

/* When the connection was ready: as an event, else by the first packet that has a number, which
 * handshake packets have not. */
static double setup_ms(const struct run_data *d)
{
    const struct table *events = &d->tables[RUN_SENDER][RECORD_EVENT];
    const int64_t *time = table_column(events, "time_ns");

    for (size_t i = 0; i < events->rows; i++) {
        if (strcmp(events->names[i], EVENT_CONNECTED) == 0) {
            return ns_to_ms(time[i]);
        }
    }
    return d->first_numbered == NS_NEVER ? NAN : ns_to_ms(d->first_numbered);
}

void transfer_put(const struct transfer *t, struct metric_set *out)
{
    const struct run_data *d = t->d;
    const struct windows *w = t->w;
    const struct window *during = &w->at[WINDOW_DURING];
    bool whole = d->info.data_bytes > 0 && w->transfer_start != NS_NEVER &&
                 w->transfer_end != NS_NEVER && w->transfer_end > w->transfer_start;

    metric_set_put(out, "setup_time_ms", WINDOW_WHOLE, setup_ms(d));
    if (whole) {
        double seconds = ns_to_s(w->transfer_end - w->transfer_start);

        metric_set_put(out, "file_time_s", WINDOW_WHOLE, seconds);
        metric_set_put(out, "file_time_ratio", WINDOW_WHOLE,
                       seconds / ideal_s(t, w->transfer_start));
        metric_set_put(out, "file_goodput_bps", WINDOW_DURING,
                       8 * (double)d->info.data_bytes / seconds);
    } else if (during->exists) {
        metric_set_put(out, "file_goodput_bps", WINDOW_DURING,
                       8 * t->message_bytes / window_seconds(during));
    }
}
