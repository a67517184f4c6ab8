/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/flow_series.h"

#include "agents/base/err.h"
#include "agents/base/rate.h"

#include <stdlib.h>

int flow_series_init(struct flow_series *s, ns_t end)
{
    size_t n = end > 0 ? (size_t)(end / FLOW_SERIES_BIN) : 0;

    *s = (struct flow_series){.bins = calloc(n ? n : 1, sizeof *s->bins), .count = n};
    return s->bins ? 0 : ERR_NOMEM;
}

void flow_series_fini(struct flow_series *s)
{
    free(s->bins);
    *s = (struct flow_series){0};
}

static struct flow_bin *bin_of(const struct flow_series *s, ns_t t)
{
    return t >= 0 && t != NS_NEVER && (size_t)(t / FLOW_SERIES_BIN) < s->count
               ? &s->bins[t / FLOW_SERIES_BIN]
               : NULL;
}

size_t flow_series_at(const struct flow_series *s, ns_t t)
{
    size_t bin = t > 0 ? (size_t)(t / FLOW_SERIES_BIN) : 0;

    return bin < s->count ? bin : s->count;
}

void flow_series_packet(struct flow_series *s, ns_t sent, ns_t received, double ip_bytes)
{
    struct flow_bin *from = bin_of(s, sent), *to = bin_of(s, received);

    if (from) {
        from->sent_bytes += ip_bytes;
        from->sent_packets++;
        if (received == NS_NEVER) {
            from->lost_packets++;
        } else {
            from->delay_sum_ms += ns_to_ms(received - sent);
            from->delayed++;
        }
    }
    if (to) {
        to->received_bytes += ip_bytes;
        to->received_packets++;
    }
}

void flow_series_goodput(struct flow_series *s, ns_t delivered, double bytes)
{
    struct flow_bin *bin = bin_of(s, delivered);

    if (bin) {
        bin->goodput_bytes += bytes;
    }
}

void flow_series_active(struct flow_series *s, ns_t from, ns_t until)
{
    for (size_t i = flow_series_at(s, from); i < s->count; i++) {
        if ((ns_t)i * FLOW_SERIES_BIN >= until) {
            return;
        }
        s->bins[i].active = true;
    }
}

static double link_bps(double ip_bytes, double packets, double bins)
{
    return 8 * (ip_bytes + RATE_ETHERNET_OVERHEAD_BYTES * packets) /
           (ns_to_s(FLOW_SERIES_BIN) * bins);
}

static double sum_bps(const struct flow_series *s, size_t from, size_t most, bool received)
{
    double bytes = 0, packets = 0;
    size_t n = 0;

    for (; n < most && from + n < s->count; n++) {
        const struct flow_bin *b = &s->bins[from + n];

        bytes += received ? b->received_bytes : b->sent_bytes;
        packets += received ? b->received_packets : b->sent_packets;
    }
    return n ? link_bps(bytes, packets, (double)n) : 0;
}

double flow_series_sent_bps(const struct flow_series *s, size_t bin)
{
    return sum_bps(s, bin, FLOW_SERIES_PER_SECOND, false);
}

double flow_series_bin_sent_bps(const struct flow_series *s, size_t bin)
{
    return sum_bps(s, bin, 1, false);
}

double flow_series_bin_received_bps(const struct flow_series *s, size_t bin)
{
    return sum_bps(s, bin, 1, true);
}
