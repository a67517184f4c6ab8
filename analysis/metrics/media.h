/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every RTP packet from the application that queued it to the application that got it, while the
 * records are read. Sequence numbers in the records are extended, so a wrap is no gap; a packet is
 * known by its flow and extended number, and only its first transmission and its first complete
 * arrival count. */
#ifndef ANALYSIS_METRICS_MEDIA_H
#define ANALYSIS_METRICS_MEDIA_H

#include "agents/base/ns.h"
#include "analysis/ingest/pending.h"
#include "analysis/ingest/run_stream.h"

#include <stddef.h>
#include <stdint.h>

/* Of the RTP timestamps: video (RFC 3551 section 5). */
#define MEDIA_CLOCK_HZ 90000
/* A packet is known as delivered for so long: what is delivered then is a duplicate. */
#define MEDIA_DELIVERED_KEPT (30 * NS_PER_S)
#define MEDIA_COLUMNS 10

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

/* What is done with packets; each returns 0 or a negative code. */
struct media_visitor {
    void *ctx;
    /* sent for the first time, in this order; what came of it is not known yet */
    int (*sent)(void *ctx, const struct media_packet *p);
    /* delivered, in this order, or lost, which is known later */
    int (*done)(void *ctx, const struct media_packet *p);
};

struct media {
    size_t count; /* packets sent */
    size_t received_count;
    size_t duplicates; /* deliveries of a packet already delivered */
    size_t unsent;     /* deliveries of a packet that was never sent */
    /* private */
    const struct media_visitor *visitor;
    enum record_kind sent_kind, received_kind;
    ns_t window, now;
    size_t columns[MEDIA_COLUMNS];
    size_t came_time, came_flow, came_seq;
    struct pending under_way, early, delivered;
};

/* audio: of the audio records, else of the video's. window: how long a packet may take
 * (taps_window). Allocates nothing. */
void media_init(struct media *m, bool audio, ns_t window, const struct media_visitor *v);
void media_fini(struct media *m);
/* Takes a row; those of other kinds are none of its. Returns 0, ERR_NOMEM or what the visitor
 * returned. */
int media_row(struct media *m, const struct run_row *r);
/* After the last row: what has not come is lost. */
int media_finish(struct media *m);

#endif
