/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an encoder can be asked for besides its rate: traces, periodic key frames, overshoot,
 * changing limits. */
#include "agents/media/encoder.h"

#include "agents/base/err.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define MBIT ((bps_t)1000000)
#define TRACE_FRAMES 50

static struct encoder_config config(enum encoder_mode mode, bps_t rate)
{
    return (struct encoder_config){
        .mode = mode,
        .fps = 30,
        .size_noise_ppm = 80000,
        .interval_noise_ppm = 15000,
        .min_rate = 150000,
        .max_rate = 12 * MBIT,
        .start_rate = rate,
        .overshoot_time = NS_NEVER,
        .seed = 1,
        .start = NS_PER_S,
        .stop = NS_NEVER,
    };
}

static struct encoder *make(const struct encoder_config *cfg)
{
    struct encoder *e = NULL;

    assert_int_equal(encoder_new(&e, cfg), 0);
    return e;
}

static struct encoder_frame next(struct encoder *e)
{
    struct encoder_frame f;

    assert_true(encoder_next(e, &f, encoder_deadline(e)));
    return f;
}

/* Bit/s over n frames, by their own capture times. */
static double mean_rate(struct encoder *e, int n)
{
    ns_t begin = encoder_deadline(e);
    double bytes = 0;

    for (int i = 0; i < n; i++) {
        bytes += (double)next(e).bytes;
    }
    return bytes * 8 / ns_to_s(encoder_deadline(e) - begin);
}

/* Frame f of the trace has 1000 + f bytes at 1 Mbit/s and twice that at 2 Mbit/s. */
static struct frame_trace *make_trace(void)
{
    struct frame_trace *t = calloc(1, sizeof *t);

    assert_non_null(t);
    t->fps = 30;
    t->rates = 2;
    t->frames = TRACE_FRAMES;
    t->rate[0] = MBIT;
    t->rate[1] = 2 * MBIT;
    t->bytes = calloc(2 * TRACE_FRAMES, sizeof *t->bytes);
    assert_non_null(t->bytes);
    for (int i = 0; i < 2 * TRACE_FRAMES; i++) {
        t->bytes[i] = (1000 + i % TRACE_FRAMES) * (1 + i / TRACE_FRAMES);
    }
    return t;
}

static void a_trace_is_played_and_repeated(void **state)
{
    struct frame_trace *t = make_trace();
    struct encoder_config cfg = config(ENCODER_TRACE, MBIT);
    struct encoder *e;

    (void)state;
    cfg.trace = t;
    e = make(&cfg);
    for (int i = 0; i < 3 * TRACE_FRAMES; i++) {
        struct encoder_frame f = next(e);
        int place = i < TRACE_FRAMES ? i : 20 + (i - TRACE_FRAMES) % (TRACE_FRAMES - 20);
        assert_int_equal(f.bytes, 1000 + place);
        assert_int_equal(f.key, i == 0);
        assert_int_equal(f.captured, NS_PER_S + i / 30 * NS_PER_S + i % 30 * NS_PER_S / 30);
    }
    encoder_set_target(e, 1500000, encoder_deadline(e));
    assert_int_equal(next(e).bytes, 1500 + 1.5 * 30);
    encoder_request_key(e);
    assert_true(next(e).key);
    assert_int_equal(next(e).bytes, 1501); /* the frame behind the key frame */
    encoder_free(e);
    cfg.fps = 25;
    assert_int_equal(encoder_new(&e, &cfg), ERR_CONFIG);
    cfg.trace = NULL;
    cfg.fps = 30;
    assert_int_equal(encoder_new(&e, &cfg), ERR_CONFIG);
    frame_trace_free(t);
}

static void periodic_key_frames_come_in_time(void **state)
{
    struct frame_trace *t = make_trace();

    (void)state;
    for (enum encoder_mode mode = ENCODER_STATISTICAL; mode <= ENCODER_TRACE; mode++) {
        struct encoder_config cfg = config(mode, MBIT);
        ns_t last = NS_PER_S;
        int keys = 0;
        struct encoder *e;

        cfg.key_interval = 2 * NS_PER_S;
        cfg.trace = t;
        e = make(&cfg);
        for (int i = 0; i < 30 * 60; i++) {
            struct encoder_frame f = next(e);
            if (f.key) {
                /* at the first frame that is due so long after the last key frame */
                assert_true(!keys || (f.captured - last >= 2 * NS_PER_S &&
                                      f.captured - last < 2 * NS_PER_S + 50 * NS_PER_MS));
                assert_int_equal(f.bytes, mode == ENCODER_TRACE ? 1000 : 13500);
                last = f.captured;
                keys++;
            }
        }
        assert_in_range(keys, 29, 30);
        encoder_free(e);
    }
    frame_trace_free(t);
}

/* At any rate and interval: where the frames between could not pay for a full-sized key frame, it
 * is smaller. */
static void periodic_key_frames_do_not_move_the_mean(void **state)
{
    static const bps_t rates[] = {150000, 400000, MBIT, 5 * MBIT};
    static const ns_t intervals[] = {100 * NS_PER_MS, 500 * NS_PER_MS, NS_PER_S, 10 * NS_PER_S};

    (void)state;
    for (enum encoder_mode mode = ENCODER_STATISTICAL; mode <= ENCODER_CONSTANT; mode++) {
        for (size_t k = 0; k < 16; k++) {
            struct encoder_config cfg = config(mode, rates[k / 4]);
            struct encoder *e;
            double ratio;

            cfg.key_interval = intervals[k % 4];
            e = make(&cfg);
            ratio = mean_rate(e, 20000) / (double)cfg.start_rate;
            encoder_free(e);
            if (fabs(ratio - 1) > (mode == ENCODER_CONSTANT ? 0.001 : 0.005)) {
                fail_msg("mode %d at %lld bit/s, every %lld ms: %.4f of the target", (int)mode,
                         (long long)cfg.start_rate, (long long)(cfg.key_interval / NS_PER_MS),
                         ratio);
            }
        }
    }
}

static void a_constant_encoder_has_large_key_frames_only_if_they_are_periodic(void **state)
{
    struct encoder_config cfg = config(ENCODER_CONSTANT, MBIT);
    struct encoder *e = make(&cfg);

    (void)state;
    assert_in_range(next(e).bytes, 4166, 4167);
    encoder_free(e);
    cfg.key_interval = NS_PER_S;
    e = make(&cfg);
    assert_int_equal(next(e).bytes, 13500);
    for (int i = 1; i < 8; i++) {
        assert_in_range(next(e).bytes, 2832, 2834); /* (8 x 4166.7 - 13500) / 7 */
    }
    for (int i = 8; i < 30; i++) {
        assert_in_range(next(e).bytes, 4166, 4167);
    }
    assert_true(next(e).key);
    encoder_free(e);
}

static void overshoot_is_constant_if_it_does_not_end(void **state)
{
    struct frame_trace *t = make_trace();

    (void)state;
    for (enum encoder_mode mode = ENCODER_STATISTICAL; mode <= ENCODER_TRACE; mode++) {
        struct encoder_config cfg = config(mode, MBIT);
        struct encoder *e, *exact;

        cfg.trace = t;
        exact = make(&cfg);
        cfg.overshoot_ppm = 200000;
        e = make(&cfg);
        assert_true(fabs(mean_rate(e, 10000) / mean_rate(exact, 10000) - 1.2) < 0.002);
        encoder_free(e);
        encoder_free(exact);
    }
    frame_trace_free(t);
}

static void overshoot_follows_drops_for_its_time(void **state)
{
    struct encoder_config cfg = config(ENCODER_CONSTANT, 2 * MBIT);
    struct encoder *e;
    ns_t drop;

    (void)state;
    cfg.overshoot_ppm = 500000;
    cfg.overshoot_time = 2 * NS_PER_S;
    e = make(&cfg);
    assert_true(fabs(mean_rate(e, 300) - 2e6) < 1000);
    encoder_set_target(e, 1900000, encoder_deadline(e)); /* by 5 %: no drop */
    assert_true(fabs(mean_rate(e, 300) - 1.9e6) < 1000);
    encoder_set_target(e, 3 * MBIT, encoder_deadline(e));
    assert_true(fabs(mean_rate(e, 300) - 3e6) < 1000);
    drop = encoder_deadline(e);
    encoder_set_target(e, MBIT, drop);
    for (int i = 0; i < 120; i++) {
        struct encoder_frame f = next(e);
        assert_int_equal(f.target, MBIT);
        assert_in_range(f.bytes, f.captured < drop + 2 * NS_PER_S ? 6249 : 4166,
                        f.captured < drop + 2 * NS_PER_S ? 6250 : 4167);
    }
    encoder_free(e);
}

static void limits_may_change(void **state)
{
    struct encoder_config cfg = config(ENCODER_CONSTANT, 2 * MBIT);
    struct encoder *e = make(&cfg);

    (void)state;
    next(e);
    encoder_set_target(e, 5 * MBIT, encoder_deadline(e));
    assert_int_equal(next(e).target, 5 * MBIT);
    encoder_set_limits(e, 150000, 3 * MBIT, encoder_deadline(e));
    assert_int_equal(next(e).target, 3 * MBIT);
    encoder_set_limits(e, 150000, 12 * MBIT, encoder_deadline(e));
    assert_int_equal(next(e).target, 5 * MBIT); /* what was asked for is not forgotten */
    encoder_set_target(e, 0, encoder_deadline(e));
    assert_int_equal(next(e).target, 150000);
    encoder_set_limits(e, MBIT, 12 * MBIT, encoder_deadline(e));
    assert_int_equal(next(e).target, MBIT);
    encoder_free(e);
}

static void a_pause_has_no_frames_and_a_key_frame_behind_it(void **state)
{
    static const enum encoder_mode modes[] = {ENCODER_STATISTICAL, ENCODER_CONSTANT};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct encoder_config c = config(modes[i], MBIT);
        struct encoder *e;
        struct encoder_frame f = {.captured = 0}, before = f;

        c.pause = 2 * NS_PER_S;
        c.resume = 5 * NS_PER_S;
        e = make(&c);
        while (f.captured < c.pause) {
            before = f;
            f = next(e);
        }
        assert_true(c.pause - before.captured < NS_PER_S / 15);
        assert_int_equal(f.captured, c.resume);
        assert_int_equal(f.number, before.number + 1);
        assert_true(f.key);
        f = next(e);
        assert_false(f.key);
        assert_true(f.captured - c.resume < NS_PER_S / 15);
        encoder_free(e);

        c.resume = NS_NEVER;
        e = make(&c);
        while (encoder_deadline(e) != NS_NEVER) {
            assert_true(next(e).captured < c.pause);
        }
        encoder_free(e);
    }
}

static void impossible_configurations_are_refused(void **state)
{
    struct encoder_config bad[4];
    struct encoder *e = NULL;

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        bad[i] = config(ENCODER_CONSTANT, MBIT);
    }
    bad[0].key_interval = -1;
    bad[1].overshoot_ppm = -1;
    bad[2].overshoot_ppm = 9000001;
    bad[3].overshoot_time = -1;
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(encoder_new(&e, &bad[i]), ERR_CONFIG);
    }
    assert_null(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_is_played_and_repeated),
        cmocka_unit_test(periodic_key_frames_come_in_time),
        cmocka_unit_test(periodic_key_frames_do_not_move_the_mean),
        cmocka_unit_test(a_constant_encoder_has_large_key_frames_only_if_they_are_periodic),
        cmocka_unit_test(overshoot_is_constant_if_it_does_not_end),
        cmocka_unit_test(overshoot_follows_drops_for_its_time),
        cmocka_unit_test(limits_may_change),
        cmocka_unit_test(a_pause_has_no_frames_and_a_key_frame_behind_it),
        cmocka_unit_test(impossible_configurations_are_refused),
    };

    return cmocka_run_group_tests_name("encoder modes", tests, NULL, NULL);
}
