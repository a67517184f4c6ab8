/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rate control: turns what happened to packets into one estimate of the path's capacity. It is fed
 * with (send time, arrival time, IP length, lost) per packet and nothing else, so that both stacks
 * use the same code whatever their feedback looks like on the wire. All byte counts are IP bytes.
 */
#ifndef AGENTS_CC_CC_H
#define AGENTS_CC_CC_H

#include "agents/base/ns.h"
#include "agents/base/rate.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CC_NO_PROBE (-1)

struct cc;

/* What packets are sent as: not ECN-capable, ECT(0) or ECT(1). */
enum cc_ecn { CC_ECN_OFF, CC_ECN_CLASSIC, CC_ECN_L4S };

struct cc_config {
    bps_t start_rate, min_rate, max_rate;
    enum cc_ecn ecn;
    int64_t weight; /* of the rate against others' at a bottleneck; 0 counts as 1 (README.md) */
};

/* The fate of one sent packet. */
struct cc_packet {
    ns_t sent;    /* sender's clock */
    ns_t arrival; /* receiver's clock: only differences mean anything; unset when lost */
    int32_t bytes;
    bool lost;
    int32_t probe; /* cluster id given by cc_probe, or CC_NO_PROBE */
};

/* A request to send a burst at a rate above the estimate, to learn whether the path carries it. */
struct cc_probe {
    int32_t id;
    bps_t rate;
    int64_t bytes;   /* at least this many bytes ... */
    int32_t packets; /* ... and this many packets, paced at rate, all marked with id */
};

enum cc_usage { CC_USAGE_NORMAL, CC_USAGE_OVER, CC_USAGE_UNDER };
enum cc_state_name { CC_STATE_HOLD, CC_STATE_INCREASE, CC_STATE_DECREASE };

/* For records and plots only; nothing may be decided from it outside the controller. */
struct cc_state {
    bps_t target, delay_based, loss_based, acked;
    int64_t loss_ppm, trend_ppm, threshold_ppm;
    enum cc_usage usage;
    enum cc_state_name state;
    bool app_limited;
    int64_t marks_ppm; /* smoothed share of packets marked CE, with CC_ECN_L4S */
};

/* Google congestion control with libwebrtc's constants. Returns 0, ERR_NOMEM or ERR_CONFIG. */
int cc_libwebrtc_new(struct cc **out, const struct cc_config *cfg, ns_t now);
/* The controller of the multiplexing paper's prototype: Google congestion control without probes
 * and without regard for a source that sends less than it may, which drags the estimate down. It
 * counts QUIC packets as its model does, so its rates are those of UDP payloads. Returns as above.
 */
int cc_prototype_new(struct cc **out, const struct cc_config *cfg, ns_t now);

/* The controller of this project for a connection that multiplexes media and data: see muxbed.md.
 * Returns as above. Media alone is to have CC_MUXBED_ALONE_PPM of its target, and to be paced at
 * CC_MUXBED_ALONE_PACING_PPM of it, so that each frame is a measurement. */
#define CC_MUXBED_ALONE_PPM 930000
#define CC_MUXBED_ALONE_PACING_PPM 1300000
int cc_muxbed_new(struct cc **out, const struct cc_config *cfg, ns_t now);

void cc_free(struct cc *c);
/* A packet left; called for every packet, also those nobody acknowledges. */
void cc_on_sent(struct cc *c, int32_t bytes, ns_t now);
/* Feedback arrived: n packets in the order they were sent, each reported once as arrived or lost (a
 * packet first reported lost may be reported again as arrived). rtt is the transport's latest
 * sample, 0 when there is none. */
void cc_on_feedback(struct cc *c, const struct cc_packet *packets, size_t n, ns_t rtt, ns_t now);
/* Congestion marks: of so many packets that feedback has just told of for the first time so many
 * had arrived with CE. To be called behind cc_on_feedback; ce_response.h says what follows. */
void cc_on_marks(struct cc *c, int64_t marked, int64_t packets, ns_t now);
/* The estimate, within [min_rate, max_rate]. */
bps_t cc_target(const struct cc *c);
/* The application begins to want more than it did (a flow joins, a limit is lifted): the controller
 * may probe for it instead of growing slowly. libwebrtc does so when the sum of its encoders'
 * limits rises, and only while application-limited; a data flow beside the media is outside its
 * world. */
void cc_demand(struct cc *c, ns_t now);
/* The source pauses, or goes on. While it pauses nothing is probed for, since nothing is wanted,
 * and the estimate grows no further than what it is used for allows; when it goes on that is a
 * demand (cc_demand). */
void cc_pause(struct cc *c, bool paused, ns_t now);
/* The next probe to send now, if there is one; each is handed out once. The first call also starts
 * the initial probing: call it once packets can be sent, and only when no cluster is in progress.
 */
bool cc_probe(struct cc *c, struct cc_probe *out, ns_t now);
ns_t cc_deadline(const struct cc *c);
void cc_expire(struct cc *c, ns_t now);
void cc_state(const struct cc *c, struct cc_state *out);

#endif
