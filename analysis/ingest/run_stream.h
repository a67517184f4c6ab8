/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run's captures and the records that grow with it, read once and together: packets joined from
 * tap to tap, to the records that describe them, and to the records that name them. What is kept is
 * what waits for its counterpart (taps.h), however long the run. */
#ifndef ANALYSIS_INGEST_RUN_STREAM_H
#define ANALYSIS_INGEST_RUN_STREAM_H

#include "analysis/ingest/fault.h"
#include "analysis/ingest/run_data.h"

#include <stdbool.h>
#include <stdint.h>

/* A row of the records. */
struct run_row {
    enum run_agent agent;
    enum record_kind kind;
    const int64_t *value; /* by rows_column */
    /* Of kinds with a column "packet": when the transport's packet of that number passed the
     * interface of the agent's host; NS_NEVER: it was not captured. */
    ns_t captured;
};

/* What is done with what is read. Each returns 0, or a negative code, which ends the reading; NULL:
 * nothing. */
struct run_visitor {
    void *ctx;
    /* Each datagram between the hosts, once it has arrived or is lost: those that arrive in the
     * order of arrival, lost ones later than those sent after them. */
    int (*packet)(void *ctx, bool reverse, const struct run_packet *p);
    /* Each row of frame_sent, frame_received, freeze, rtp_*, audio_*, rate, rtt, message_received;
     * each file in its order, those that name packets a second behind the captures. */
    int (*row)(void *ctx, const struct run_row *r);
    /* Stack exec: each IP packet, which is a datagram above, too. */
    int (*flow)(void *ctx, const struct flows *fl, const struct flow_packet *p);
};

/* Reads the run in dir that d was loaded from, and fills in what d counts. Returns 0, or a negative
 * code with *f filled. */
int run_stream(struct run_data *d, const char *dir, const struct run_visitor *v, struct fault *f);

#endif
