/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Video encoder model: frames of a certain size at certain times for a requested rate (RFC 8593).
 * The draws depend on the seed alone: equal seeds and equal target sequences give equal frames. */
#ifndef AGENTS_MEDIA_ENCODER_H
#define AGENTS_MEDIA_ENCODER_H

#include "agents/base/ns.h"
#include "agents/base/rate.h"

#include <stdbool.h>
#include <stdint.h>

enum encoder_mode { ENCODER_STATISTICAL, ENCODER_CONSTANT };

struct encoder_config {
    enum encoder_mode mode;
    int64_t fps;
    bps_t min_rate, max_rate, start_rate; /* payload bits per second the encoder is asked for */
    uint64_t seed;
    ns_t start, stop;
};

struct encoder_frame {
    int64_t number; /* 0, 1, 2, ... */
    ns_t captured;
    int64_t bytes; /* >= 1 */
    bool key;
    bps_t target; /* rate in force when it was encoded */
};

struct encoder;

int encoder_new(struct encoder **out, const struct encoder_config *cfg);
void encoder_free(struct encoder *e);
/* Requests a rate (clipped to the limits); obeyed after the model's reaction latency. */
void encoder_set_target(struct encoder *e, bps_t target, ns_t now);
/* The encoder makes a key frame next (start, or a request of the receiver). */
void encoder_request_key(struct encoder *e);
/* When the next frame is due; NS_NEVER after stop. */
ns_t encoder_deadline(const struct encoder *e);
/* Takes the frame that is due at now. Returns false when none is. */
bool encoder_next(struct encoder *e, struct encoder_frame *out, ns_t now);

#endif
