/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/media/encoder.h"

#include "agents/base/err.h"
#include "agents/base/prng.h"

#include <math.h>
#include <stdlib.h>

/* RFC 8593 section 5, table 1 */
#define REACTION_LATENCY (200 * NS_PER_MS) /* tau_v */
#define TRANSIENT_FRAMES 8                 /* K_d */
#define KEY_FRAME_BYTES 13500.0            /* K_B */

/* A rise by more than this part of the rate in force is abrupt (the RFC gives no figure). */
#define ABRUPT_CHANGE 0.5
/* Frames of a transient are not made smaller than this part of the mean frame. */
#define TRANSIENT_FLOOR 0.2
/* The RFC clips interval and size below zero, which lifts both means a little. Clipping the noise
 * on both sides keeps them at the target exactly, and frames never share an RTP timestamp. It
 * concerns one draw in 400. */
#define NOISE_CLIP 0.9
#define PPM 1000000
#define OVERSHOOT_MAX (9 * PPM)
/* A rate transition downwards by more than this part lets an encoder overshoot. */
#define OVERSHOOT_DROP 0.1
#define FPS_MAX 1000
#define RATE_MAX INT64_C(1000000000000)

struct encoder {
    struct encoder_config cfg;
    struct prng prng;
    int64_t number;
    ns_t due;
    ns_t paused; /* how long a pause has put off what follows */
    bps_t rate;
    bool pending; /* a request waits for the reaction latency to pass */
    bps_t pending_rate;
    bool reacted; /* any rate transition so far */
    ns_t reacted_at;
    bps_t asked; /* the last request, as it came */
    ns_t overshoots_until;
    bool key_wanted;
    ns_t key_due;           /* of the next periodic key frame */
    int64_t since_key;      /* frames since the last key frame */
    int64_t transient_left; /* frames of the transient still to come */
    double debt_bytes;      /* what the key frame took in advance from the frames behind it */
    double carry_bytes;     /* rounding carried from frame to frame */
    int64_t carry_bits;     /* the same of the constant mode, exact */
    size_t trace_frame;     /* the next one's place in the trace */
};

static bps_t clip_rate(const struct encoder_config *c, bps_t rate)
{
    return rate < c->min_rate ? c->min_rate : rate > c->max_rate ? c->max_rate : rate;
}

static bool noise_is_valid(int64_t ppm)
{
    return ppm >= 0 && ppm <= PPM;
}

static bool is_valid(const struct encoder_config *c)
{
    if (c->mode == ENCODER_TRACE && (!c->trace || c->trace->fps != c->fps)) {
        return false;
    }
    return c->fps >= 1 && c->fps <= FPS_MAX && c->min_rate >= 1 && c->max_rate >= c->min_rate &&
           c->max_rate <= RATE_MAX && c->start >= 0 && noise_is_valid(c->size_noise_ppm) &&
           noise_is_valid(c->interval_noise_ppm) && c->key_interval >= 0 && c->overshoot_ppm >= 0 &&
           c->overshoot_ppm <= OVERSHOOT_MAX && c->overshoot_time >= 0;
}

static bool keys_are_periodic(const struct encoder *e)
{
    return e->cfg.key_interval > 0 && e->cfg.key_interval < NS_NEVER;
}

/* A frame that would fall into the pause is the first after it, and a key frame: nobody knows what
 * the receiver still has. */
static void skip_pause(struct encoder *e)
{
    if (e->due < e->cfg.pause || e->due >= e->cfg.resume) {
        return;
    }
    e->paused += e->cfg.resume - e->due;
    e->due = e->cfg.resume;
    e->key_wanted = true;
    e->since_key = TRANSIENT_FRAMES;
}

int encoder_new(struct encoder **out, const struct encoder_config *cfg)
{
    struct encoder *e;

    if (!is_valid(cfg)) {
        return ERR_CONFIG;
    }
    e = calloc(1, sizeof *e);
    if (!e) {
        return ERR_NOMEM;
    }
    e->cfg = *cfg;
    e->due = cfg->start;
    e->asked = cfg->start_rate;
    e->rate = clip_rate(cfg, cfg->start_rate);
    e->overshoots_until = cfg->overshoot_time == NS_NEVER ? NS_NEVER : 0;
    e->key_wanted = true;
    e->key_due = NS_NEVER;
    e->since_key = TRANSIENT_FRAMES;
    prng_init(&e->prng, cfg->seed, "encoder");
    skip_pause(e);
    *out = e;
    return 0;
}

void encoder_free(struct encoder *e)
{
    free(e);
}

/* The rate transition itself; an abrupt one begins a transient with a key frame. The RFC means both
 * directions, but deployed encoders answer a lower rate with smaller frames, and a key frame is
 * what a path that has just collapsed can carry least. */
static void accept_rate(struct encoder *e, bps_t rate, ns_t now)
{
    double change = fabs((double)(rate - e->rate)) / (double)e->rate;

    e->pending = false;
    if (rate == e->rate) {
        return;
    }
    if (e->cfg.mode == ENCODER_STATISTICAL && rate > e->rate && change > ABRUPT_CHANGE) {
        e->key_wanted = true;
    }
    if (rate < e->rate && change > OVERSHOOT_DROP && e->cfg.overshoot_time != NS_NEVER) {
        e->overshoots_until = ns_add(now, e->cfg.overshoot_time);
    }
    e->rate = rate;
    e->reacted = true;
    e->reacted_at = now;
}

static bool may_react(const struct encoder *e, ns_t now)
{
    return e->cfg.mode == ENCODER_CONSTANT || !e->reacted ||
           now >= ns_add(e->reacted_at, REACTION_LATENCY);
}

void encoder_set_target(struct encoder *e, bps_t target, ns_t now)
{
    bps_t rate = clip_rate(&e->cfg, target);

    e->asked = target;
    if (!e->number) {
        e->rate = rate; /* nothing has been encoded that it could be a transition from */
    } else if (may_react(e, now)) {
        accept_rate(e, rate, now);
    } else {
        e->pending = true;
        e->pending_rate = rate;
    }
}

void encoder_set_limits(struct encoder *e, bps_t min_rate, bps_t max_rate, ns_t now)
{
    e->cfg.min_rate = min_rate;
    e->cfg.max_rate = max_rate;
    encoder_set_target(e, e->asked, now);
}

void encoder_request_key(struct encoder *e)
{
    e->key_wanted = true;
}

ns_t encoder_deadline(const struct encoder *e)
{
    return e->due < e->cfg.stop ? e->due : NS_NEVER;
}

/* What a transient frame takes off the debt, so that the mean over the transient is the rate. */
static double repay(struct encoder *e, double mean_bytes)
{
    double part = e->debt_bytes / (double)(e->transient_left > 1 ? e->transient_left : 1);
    double most = (1 - TRANSIENT_FLOOR) * mean_bytes;

    part = part < most ? part : most;
    e->debt_bytes -= part;
    return part;
}

/* A key frame of the model's size. With periodic ones it is not larger than the frames before the
 * next one can pay back, what they already owe included. */
static double key_bytes(const struct encoder *e, double mean_bytes)
{
    double bytes = KEY_FRAME_BYTES;

    if (keys_are_periodic(e)) {
        double frames = ns_to_s(e->cfg.key_interval) * (double)e->cfg.fps;
        double behind = (frames > TRANSIENT_FRAMES ? frames : TRANSIENT_FRAMES) - 1;
        double most = mean_bytes * (1 + (1 - TRANSIENT_FLOOR) * behind) - e->debt_bytes;
        bytes = bytes < most ? bytes : most;
    }
    return bytes > mean_bytes ? bytes : mean_bytes;
}

/* Size before rounding. Section 5.2: within a transient sizes carry no noise. A transient lasts
 * K_d frames, and longer where the floor does not let these repay the key frame. */
static double model_bytes(struct encoder *e, double mean_bytes, double size_noise, bool key)
{
    if (key) {
        double bytes = key_bytes(e, mean_bytes);
        e->debt_bytes += bytes - mean_bytes;
        e->transient_left = TRANSIENT_FRAMES - 1;
        return bytes;
    }
    if (e->transient_left || e->debt_bytes > 0.5) {
        double bytes = mean_bytes - repay(e, mean_bytes);
        e->transient_left -= e->transient_left > 0;
        return bytes;
    }
    return mean_bytes * (1 + size_noise);
}

static double noise(struct encoder *e, int64_t scale_ppm)
{
    double x = prng_laplace(&e->prng, (double)scale_ppm / PPM);

    return x < -NOISE_CLIP ? -NOISE_CLIP : x > NOISE_CLIP ? NOISE_CLIP : x;
}

/* The rate in force as the encoder hits it. */
static bps_t output_rate(const struct encoder *e)
{
    if (e->due >= e->overshoots_until) {
        return e->rate;
    }
    return (bps_t)((__int128)e->rate * (PPM + e->cfg.overshoot_ppm) / PPM);
}

/* Whole bytes, the rest of them left to the next frame. */
static int64_t round_bytes(struct encoder *e, double bytes)
{
    int64_t whole;

    bytes += e->carry_bytes;
    whole = bytes < 1 ? 1 : (int64_t)bytes;
    e->carry_bytes = bytes < 1 ? 0 : bytes - (double)whole;
    return whole;
}

/* From the start, not from the last frame: the rounding of 1/fps must not add up. */
static ns_t exact_due(const struct encoder *e, int64_t n)
{
    int64_t fps = e->cfg.fps;

    return ns_add(e->cfg.start + e->paused, n / fps * NS_PER_S + n % fps * NS_PER_S / fps);
}

static void encode_statistical(struct encoder *e, struct encoder_frame *f)
{
    /* Two draws for every frame, used or not: frame n has the same noise whatever came before. */
    double size_noise = noise(e, e->cfg.size_noise_ppm);
    double interval_noise = noise(e, e->cfg.interval_noise_ppm);
    double interval = (double)NS_PER_S / (double)e->cfg.fps;
    double mean_bytes = (double)output_rate(e) / (8.0 * (double)e->cfg.fps);
    bool transient;

    f->bytes = round_bytes(e, model_bytes(e, mean_bytes, size_noise, f->key));
    transient = e->transient_left || e->debt_bytes > 0.5;
    e->due = ns_add(e->due, (ns_t)(interval * (transient ? 1 : 1 + interval_noise)));
}

static void encode_constant(struct encoder *e, struct encoder_frame *f)
{
    int64_t unit = 8 * e->cfg.fps, bytes;

    e->carry_bits += output_rate(e);
    bytes = e->carry_bits / unit;
    e->carry_bits -= bytes * unit;
    f->bytes =
        keys_are_periodic(e) ? round_bytes(e, model_bytes(e, (double)bytes, 0, f->key)) : bytes;
    if (f->bytes < 1) {
        f->bytes = 1;
        e->carry_bits = 0;
    }
    e->due = exact_due(e, e->number + 1);
}

static void encode_trace(struct encoder *e, struct encoder_frame *f)
{
    const struct frame_trace *t = e->cfg.trace;

    if (f->key) {
        e->trace_frame = 0;
    }
    f->key = e->trace_frame == 0;
    f->bytes = round_bytes(e, frame_trace_bytes(t, output_rate(e), e->trace_frame));
    e->trace_frame = frame_trace_after(t, e->trace_frame);
    e->due = exact_due(e, e->number + 1);
}

bool encoder_next(struct encoder *e, struct encoder_frame *out, ns_t now)
{
    if (e->due >= e->cfg.stop || e->due > now) {
        return false;
    }
    if (e->pending && may_react(e, e->due)) {
        accept_rate(e, e->pending_rate, e->due);
    }
    if (e->due >= e->key_due) {
        e->key_wanted = true;
    }
    /* Key frames come no closer than one transient, however often they are asked for. */
    *out = (struct encoder_frame){
        .number = e->number,
        .captured = e->due,
        .key = e->key_wanted && e->since_key >= TRANSIENT_FRAMES,
        .target = e->rate,
    };
    switch (e->cfg.mode) {
    case ENCODER_CONSTANT: encode_constant(e, out); break;
    case ENCODER_TRACE: encode_trace(e, out); break;
    default: encode_statistical(e, out); break;
    }
    if (out->key) {
        e->key_wanted = false;
        e->since_key = 0;
        e->key_due = keys_are_periodic(e) ? ns_add(out->captured, e->cfg.key_interval) : NS_NEVER;
    }
    e->since_key++;
    e->number++;
    skip_pause(e);
    return true;
}
