/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A call as one of the flows of a path, and what is told of a call only where there are several
 * flows, or a capacity that changes. */
#ifndef ANALYSIS_METRICS_CALL_FLOW_H
#define ANALYSIS_METRICS_CALL_FLOW_H

#include "analysis/metrics/delays.h"
#include "analysis/metrics/flow_set.h"
#include "analysis/metrics/media.h"
#include "analysis/metrics/metric_set.h"
#include "analysis/metrics/steps.h"

struct call_flow {
    const struct run_data *d;
    struct flow_set *set;
    struct path_flow *flow;
    struct steps steps;
    const struct delays *delays;
    struct run_packet full;       /* the first of those with most media and nothing else */
    ns_t active_since, last_sent; /* of its media; NS_NEVER: none, or a pause */
    double sent_bytes, step_bytes[STEPS_MAX];
    struct dist frame_delay, settled_queue;
    struct pending frames; /* by flow and RTP timestamp, ns_t: when it left the encoder */
    struct pending early;  /* likewise, when it was complete, of those that have not been seen to */
    ns_t window;
    size_t audio_bytes, sent_flow, sent_stamp, came_flow, came_stamp, came_complete;
};

/* Adds the call under that name, with what the set knows of the path. It is active while it sends
 * media, but for pauses; without media from its first packet to its last. window: how long a frame
 * may take (taps_window). d, set and l (where the call's queue delays are) are borrowed. Returns 0,
 * ERR_NOMEM or ERR_LIMIT (too many flows). */
int call_flow_init(struct call_flow *c, struct flow_set *set, const char *name,
                   const struct run_data *d, const struct delays *l);
void call_flow_fini(struct call_flow *c);
void call_flow_packet(struct call_flow *c, bool reverse, const struct run_packet *p);
/* An RTP packet, when it is sent; when it has been delivered or is lost. */
void call_flow_media_sent(struct call_flow *c, const struct media_packet *p);
void call_flow_media(struct call_flow *c, const struct media_packet *p);
/* Of frames and audio; of other kinds nothing. Returns 0 or ERR_NOMEM. */
int call_flow_row(struct call_flow *c, const struct run_row *row);
/* After the last of all, and delays_finish. Returns 0 or ERR_NOMEM. */
int call_flow_finish(struct call_flow *c);
/* frame_delay_ms, settled_queue_delay_ms, sending_rate_bps, and the metrics of each step. Returns 0
 * or ERR_NOMEM. */
int call_flow_put(const struct call_flow *c, const struct rates *r, const struct quality *q,
                  struct metric_set *out);

#endif
