/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every RTP packet from the application that queued it to the application that got it. Sequence
 * numbers in the records are extended, so a wrap is no gap; a packet is known by its flow and
 * extended number, and only its first transmission and its first complete arrival count. */
#ifndef ANALYSIS_METRICS_MEDIA_H
#define ANALYSIS_METRICS_MEDIA_H

#include "agents/base/ns.h"
#include "analysis/ingest/run_data.h"

#include <stddef.h>
#include <stdint.h>

/* Of the RTP timestamps: video (RFC 3551 section 5). */
#define MEDIA_CLOCK_HZ 90000

struct media_packet {
    int64_t flow, seq, rtp_timestamp;
    ns_t queued;    /* the application handed it over */
    ns_t sent;      /* its first byte went out for the first time, by the sender's record */
    ns_t departure; /* the same, by the capture at the sender; NS_NEVER: not captured */
    ns_t arrival;   /* complete, by the capture at the receiver; NS_NEVER: never */
    ns_t delivered; /* complete, by the receiver's record; NS_NEVER: never */
    int64_t bytes;
    int64_t frame_offset_bytes, pacing_bps; /* RECORD_NONE or 0: unknown */
};

struct media {
    struct media_packet *packets; /* in the order of sending */
    size_t count;
    uint32_t *received; /* indices into packets in the order of delivery */
    size_t received_count;
    size_t duplicates; /* deliveries of a packet already delivered */
    size_t unsent;     /* deliveries of a packet that was never sent */
};

/* Returns 0 or ERR_NOMEM. */
int media_init(struct media *m, const struct run_data *d);
void media_fini(struct media *m);

#endif
