/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One of several flows on a path as it was over time, in steps of 200 ms (RFC 8868 section 3): what
 * it sent, what of it arrived, what was of use, what was lost, how long it took. */
#ifndef ANALYSIS_METRICS_FLOW_SERIES_H
#define ANALYSIS_METRICS_FLOW_SERIES_H

#include "agents/base/ns.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FLOW_SERIES_BIN (NS_PER_S / 5)
#define FLOW_SERIES_PER_SECOND 5
/* A call that sends no media for so long pauses. */
#define FLOW_SERIES_PAUSE NS_PER_S

/* Bytes are those of IP packets, goodput those that were delivered to an application, each once.
 * Sent, lost and delay belong to the moment of sending, received and goodput to theirs. */
struct flow_bin {
    double sent_bytes, received_bytes, goodput_bytes;
    uint32_t sent_packets, received_packets, lost_packets;
    uint32_t delayed; /* packets with a delay */
    double delay_sum_ms;
    bool active; /* it had something to send */
};

struct flow_series {
    struct flow_bin *bins;
    size_t count;
};

/* Of whole bins within [0, end). Returns 0 or ERR_NOMEM. */
int flow_series_init(struct flow_series *s, ns_t end);
void flow_series_fini(struct flow_series *s);

/* A packet that left at sent and came at received (NS_NEVER: it did not). Times outside of the
 * series are no error: what belongs to them is left out. */
void flow_series_packet(struct flow_series *s, ns_t sent, ns_t received, double ip_bytes);
void flow_series_goodput(struct flow_series *s, ns_t delivered, double bytes);
/* Declares it active from one moment to another; NS_NEVER is no end. */
void flow_series_active(struct flow_series *s, ns_t from, ns_t until);

/* bit/s on Ethernet (IP packet + 14 bytes), as links count, in the second that begins with a bin,
 * or less at the series' end: what it sent. */
double flow_series_sent_bps(const struct flow_series *s, size_t bin);
/* The same of a single bin: what it sent, what of it arrived. */
double flow_series_bin_sent_bps(const struct flow_series *s, size_t bin);
double flow_series_bin_received_bps(const struct flow_series *s, size_t bin);
/* The bin that holds t, count for a time behind the last. */
size_t flow_series_at(const struct flow_series *s, ns_t t);

#endif
