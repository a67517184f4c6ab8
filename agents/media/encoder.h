/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Video encoder model: frames of a certain size at certain times for a requested rate.
 *
 * ENCODER_STATISTICAL is RFC 8593 section 5: Laplace noise on size and interval; after a rate
 * transition others wait for the reaction latency of 200 ms, when the newest is obeyed; an abrupt
 * transition (by more than half), the start, and a request make a key frame of 13.5 kB (at least a
 * mean frame), which the frames behind it pay back. Noise is clipped at +-0.9 on both sides, so
 * that the long-run mean is the target and no two frames share an RTP timestamp. Frame n has the
 * same noise for equal seeds, whatever the targets were: equal seeds and equal target sequences
 * give equal frames.
 *
 * ENCODER_CONSTANT makes frames of equal size (within one byte) at exact intervals and obeys at
 * once; its key frames are no larger than the others. */
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
    /* Statistical mode: Laplace scale of a frame's size and interval relative to their means,
     * SCALE_B and SCALE_t of RFC 8593, in 1e-6; 0..1e6. */
    int64_t size_noise_ppm, interval_noise_ppm;
    uint64_t seed;
    ns_t start, stop; /* frames are captured in [start, stop) */
};

struct encoder_frame {
    int64_t number; /* 0, 1, 2, ... */
    ns_t captured;
    int64_t bytes; /* >= 1 */
    bool key;
    bps_t target; /* rate in force when it was encoded */
};

struct encoder;

/* Returns 0, ERR_NOMEM or ERR_CONFIG (fps not in 1..1000, a limit not in 1 bit/s..1 Tbit/s, the
 * lower above the upper, a noise outside its range, start below 0). */
int encoder_new(struct encoder **out, const struct encoder_config *cfg);
void encoder_free(struct encoder *e);
/* Requests a rate (clipped to the limits); obeyed after the model's reaction latency. */
void encoder_set_target(struct encoder *e, bps_t target, ns_t now);
/* The encoder makes a key frame next (a request of the receiver), but not within 8 frames of the
 * last one. */
void encoder_request_key(struct encoder *e);
/* When the next frame is due; NS_NEVER after stop. */
ns_t encoder_deadline(const struct encoder *e);
/* Takes the oldest frame that is due at now; captured is when it was due, however late the call.
 * Returns false when none is. */
bool encoder_next(struct encoder *e, struct encoder_frame *out, ns_t now);

#endif
