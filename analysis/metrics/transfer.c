/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/transfer.h"

#include "agents/base/rate.h"

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

double transfer_ideal_s(const struct run_data *d, ns_t start)
{
    const struct run_packet *full = NULL;
    double expansion;

    for (size_t i = 0; i < d->forward.count; i++) {
        const struct run_packet *p = &d->forward.packets[i];

        if (p->data_bytes > 0 && p->rtp_bytes == 0 && p->padding_bytes == 0 &&
            (!full || p->data_bytes > full->data_bytes)) {
            full = p;
        }
    }
    if (!full || d->info.data_bytes <= 0 || !d->link_rate.schedule.count) {
        return NAN;
    }
    expansion = (full->ip_bytes + RATE_ETHERNET_OVERHEAD_BYTES) / (double)full->data_bytes;
    return drain_s(d, 8 * (double)d->info.data_bytes * expansion, start);
}

/* Bytes of messages delivered in a window. */
static double message_bytes(const struct table *t, int64_t channel, const struct window *w)
{
    const int64_t *time = table_column(t, "time_ns"), *bytes = table_column(t, "bytes");
    const int64_t *channels = table_column(t, "channel");
    double sum = 0;

    for (size_t i = 0; i < t->rows; i++) {
        if (channels[i] == channel && time[i] >= w->start && time[i] < w->end) {
            sum += (double)bytes[i];
        }
    }
    return sum;
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

void transfer_put(const struct run_data *d, const struct windows *w, struct metric_set *out)
{
    const struct window *during = &w->at[WINDOW_DURING];
    bool whole = d->info.data_bytes > 0 && w->transfer_start != NS_NEVER &&
                 w->transfer_end != NS_NEVER && w->transfer_end > w->transfer_start;

    metric_set_put(out, "setup_time_ms", WINDOW_WHOLE, setup_ms(d));
    if (whole) {
        double seconds = ns_to_s(w->transfer_end - w->transfer_start);

        metric_set_put(out, "file_time_s", WINDOW_WHOLE, seconds);
        metric_set_put(out, "file_time_ratio", WINDOW_WHOLE,
                       seconds / transfer_ideal_s(d, w->transfer_start));
        metric_set_put(out, "file_goodput_bps", WINDOW_DURING,
                       8 * (double)d->info.data_bytes / seconds);
    } else if (during->exists) {
        metric_set_put(out, "file_goodput_bps", WINDOW_DURING,
                       8 *
                           message_bytes(&d->tables[RUN_RECEIVER][RECORD_MESSAGE_RECEIVED],
                                         w->channel, during) /
                           window_seconds(during));
    }
}
