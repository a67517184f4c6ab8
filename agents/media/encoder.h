/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Video encoder model: frames of a certain size at certain times for a requested rate.
 *
 * ENCODER_STATISTICAL is RFC 8593 section 5: Laplace noise on size and interval; after a rate
 * transition others wait for the reaction latency of 200 ms, when the newest is obeyed; an abrupt
 * transition (upwards by more than half; the RFC's model makes no difference between up and down),
 * the start, and a request make a key frame of 13.5 kB (at least a mean frame), which the frames
 * behind it pay back. Noise is clipped at +-0.9 on both sides, so that the long-run mean is the
 * target and no two frames share an RTP timestamp. Frame n has the same noise for equal seeds,
 * whatever the targets were: equal seeds and equal target sequences give equal frames.
 *
 * ENCODER_CONSTANT makes frames of equal size (within one byte) at exact intervals and obeys at
 * once; its key frames are no larger than the others, unless periodic ones are asked for.
 *
 * ENCODER_TRACE is RFC 8593 section 6: the sizes of real frames (frame_trace.h), scaled to the
 * rate, at exact intervals; a key frame starts the trace again.
 *
 * Periodic key frames come on top of that in every mode. Those of the statistical mode, and then of
 * the constant one too, are made smaller where the frames up to the next one could not pay them
 * back, so that the mean stays the target at any rate.
 *
 * An encoder that overshoots makes all its frames larger than its target asks for, always or for
 * some time after each rate transition downwards by more than a tenth: real ones miss a lower
 * target until their own rate control has caught up. */
#ifndef AGENTS_MEDIA_ENCODER_H
#define AGENTS_MEDIA_ENCODER_H

#include "agents/base/ns.h"
#include "agents/base/rate.h"
#include "agents/media/frame_trace.h"

#include <stdbool.h>
#include <stdint.h>

enum encoder_mode { ENCODER_STATISTICAL, ENCODER_CONSTANT, ENCODER_TRACE };

struct encoder_config {
    enum encoder_mode mode;
    int64_t fps;
    bps_t min_rate, max_rate, start_rate; /* payload bits per second the encoder is asked for */
    /* Statistical mode: Laplace scale of a frame's size and interval relative to their means,
     * SCALE_B and SCALE_t of RFC 8593, in 1e-6; 0..1e6. */
    int64_t size_noise_ppm, interval_noise_ppm;
    ns_t key_interval; /* between periodic key frames; 0 or NS_NEVER: none */
    /* By how much frames are too large, in 1e-6 of their size, 0..9e6, and for how long after a
     * rate transition downwards; NS_NEVER: always. */
    int64_t overshoot_ppm;
    ns_t overshoot_time;
    ns_t pause, resume; /* no frame in [pause, resume), a key frame then; equal: none */
    const struct frame_trace *trace; /* trace mode: outlives the encoder; its fps must be fps */
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
 * lower above the upper, a noise, a time or the overshoot outside its range, start below 0, or the
 * trace is missing or of another frame rate). */
int encoder_new(struct encoder **out, const struct encoder_config *cfg);
void encoder_free(struct encoder *e);
/* Requests a rate (clipped to the limits); obeyed after the model's reaction latency. */
void encoder_set_target(struct encoder *e, bps_t target, ns_t now);
/* Other limits from now on; what was requested last is clipped to them. min_rate is at least 1 and
 * not above max_rate. */
void encoder_set_limits(struct encoder *e, bps_t min_rate, bps_t max_rate, ns_t now);
/* The encoder makes a key frame next (a request of the receiver), but not within 8 frames of the
 * last one. */
void encoder_request_key(struct encoder *e);
/* When the next frame is due; NS_NEVER after stop. */
ns_t encoder_deadline(const struct encoder *e);
/* Takes the oldest frame that is due at now; captured is when it was due, however late the call.
 * Returns false when none is. */
bool encoder_next(struct encoder *e, struct encoder_frame *out, ns_t now);

#endif
