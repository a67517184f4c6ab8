/* SPDX-License-Identifier: GPL-3.0-or-later */
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

static struct encoder *make(enum encoder_mode mode, uint64_t seed, bps_t rate)
{
    const struct encoder_config cfg = {
        .mode = mode,
        .fps = 30,
        .size_noise_ppm = 150000,
        .interval_noise_ppm = 150000,
        .min_rate = 150000,
        .max_rate = 12 * MBIT,
        .start_rate = rate,
        .seed = seed,
        .start = NS_PER_S,
        .stop = NS_NEVER,
    };
    struct encoder *e = NULL;

    assert_int_equal(encoder_new(&e, &cfg), 0);
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

static void the_long_run_mean_is_the_target(void **state)
{
    static const bps_t rates[] = {150000, 400000, MBIT, 2500000, 12 * MBIT};
    double sum = 0;
    int n = 0;

    (void)state;
    for (size_t r = 0; r < sizeof rates / sizeof rates[0]; r++) {
        for (uint64_t seed = 1; seed <= 20; seed++, n++) {
            struct encoder *e = make(ENCODER_STATISTICAL, seed, rates[r]);
            double ratio = mean_rate(e, 10000) / (double)rates[r];

            encoder_free(e);
            /* 10,000 draws each of size and interval: a standard deviation of 0.3 % */
            if (fabs(ratio - 1) > 0.01) {
                fail_msg("seed %d at %lld bit/s: %.4f of the target", (int)seed,
                         (long long)rates[r], ratio);
            }
            sum += ratio;
        }
    }
    assert_true(fabs(sum / n - 1) < 0.001);
}

/* Every 20 s the rate jumps, and every second a key frame is asked for. */
static void transients_do_not_move_the_mean(void **state)
{
    struct encoder *e = make(ENCODER_STATISTICAL, 3, MBIT);
    double bits = 0, asked = 0;
    ns_t last = encoder_deadline(e);

    (void)state;
    for (int i = 0; i < 60000; i++) {
        struct encoder_frame f;
        if (i % 600 == 0) {
            encoder_set_target(e, i % 1200 ? MBIT / 2 : 3 * MBIT, encoder_deadline(e));
        }
        if (i % 30 == 0) {
            encoder_request_key(e);
        }
        f = next(e);
        bits += 8.0 * (double)f.bytes;
        asked += (double)f.target * ns_to_s(encoder_deadline(e) - last);
        last = encoder_deadline(e);
    }
    encoder_free(e);
    assert_true(fabs(bits / asked - 1) < 0.005);
}

static void noise_has_the_scale_of_the_model(void **state)
{
    struct encoder *e = make(ENCODER_STATISTICAL, 7, MBIT);
    const double mean_bytes = 1e6 / 8 / 30, mean_ms = 1000.0 / 30;
    double size = 0, interval = 0, min = 1, max = 1;
    ns_t last;
    int n = 20000;

    (void)state;
    mean_rate(e, 100); /* the transient */
    last = encoder_deadline(e);
    for (int i = 0; i < n; i++) {
        double ratio = (double)next(e).bytes / mean_bytes;
        size += fabs(ratio - 1);
        min = fmin(min, ratio);
        max = fmax(max, ratio);
        interval += fabs(ns_to_ms(encoder_deadline(e) - last) / mean_ms - 1);
        last = encoder_deadline(e);
    }
    encoder_free(e);
    /* the mean absolute value of a Laplace variable is its scale; clipping takes 0.2 % */
    assert_true(fabs(size / n - 0.15) < 0.005);
    assert_true(fabs(interval / n - 0.15) < 0.005);
    assert_true(fabs(min - 0.1) < 0.001 && fabs(max - 1.9) < 0.001);
}

static void the_start_is_a_transient_of_eight_frames(void **state)
{
    struct encoder *e = make(ENCODER_STATISTICAL, 1, MBIT);
    struct encoder_frame f = next(e);
    int64_t bytes = f.bytes;
    ns_t captured = f.captured;

    (void)state;
    assert_true(f.key);
    assert_int_equal(f.number, 0);
    assert_int_equal(f.captured, NS_PER_S);
    assert_int_equal(f.bytes, 13500);
    for (int i = 1; i < 8; i++, captured = f.captured) {
        f = next(e);
        assert_false(f.key);
        assert_in_range(f.bytes, 2833, 2834); /* (8 x 4166.7 - 13500) / 7 */
        assert_in_range(f.captured - captured, 33333332, 33333334);
        bytes += f.bytes;
    }
    assert_in_range(bytes, 33332, 33334);
    encoder_free(e);
}

static void a_key_frame_is_never_smaller_than_the_mean_frame(void **state)
{
    struct encoder *e = make(ENCODER_STATISTICAL, 1, 12 * MBIT);

    (void)state;
    assert_int_equal(next(e).bytes, 50000);
    assert_int_equal(next(e).bytes, 50000);
    encoder_free(e);
}

static void requests_within_the_reaction_latency_wait(void **state)
{
    struct encoder *e = make(ENCODER_STATISTICAL, 1, MBIT);
    struct encoder_frame f;
    ns_t accepted;

    (void)state;
    mean_rate(e, 30);
    accepted = encoder_deadline(e);
    encoder_set_target(e, 1100000, accepted);
    assert_int_equal(next(e).target, 1100000);
    encoder_set_target(e, 900000, accepted + 50 * NS_PER_MS);
    encoder_set_target(e, 1200000, accepted + 60 * NS_PER_MS);
    do {
        f = next(e);
        assert_int_equal(f.target, f.captured < accepted + 200 * NS_PER_MS ? 1100000 : 1200000);
        assert_false(f.key);
    } while (f.target != 1200000);
    encoder_free(e);
}

static void an_abrupt_rise_makes_a_key_frame_other_changes_do_not(void **state)
{
    struct encoder *e = make(ENCODER_STATISTICAL, 1, 2 * MBIT);

    (void)state;
    mean_rate(e, 30);
    encoder_set_target(e, 3 * MBIT, encoder_deadline(e)); /* by half, not by more */
    assert_false(next(e).key);
    mean_rate(e, 30);
    encoder_set_target(e, 4600000, encoder_deadline(e)); /* by 53 % */
    assert_true(next(e).key);
    mean_rate(e, 30);
    encoder_set_target(e, 400000, encoder_deadline(e));
    for (int i = 0; i < 30; i++) {
        struct encoder_frame f = next(e);
        assert_int_equal(f.target, 400000);
        assert_false(f.key);
    }
    encoder_free(e);
}

static void key_requests_are_obeyed_but_not_in_a_row(void **state)
{
    struct encoder *e = make(ENCODER_STATISTICAL, 1, MBIT);

    (void)state;
    next(e);
    encoder_request_key(e);
    for (int i = 1; i < 8; i++) {
        assert_false(next(e).key);
    }
    assert_true(next(e).key);
    encoder_free(e);
}

static void targets_are_clipped(void **state)
{
    struct encoder *e = make(ENCODER_STATISTICAL, 1, 1);

    (void)state;
    assert_int_equal(next(e).target, 150000);
    encoder_set_target(e, INT64_MAX, 2 * NS_PER_S);
    assert_int_equal(next(e).target, 12 * MBIT);
    encoder_set_target(e, -5, 10 * NS_PER_S);
    mean_rate(e, 300);
    assert_int_equal(next(e).target, 150000);
    encoder_free(e);
}

static void equal_seeds_and_targets_give_equal_frames(void **state)
{
    struct encoder *a = make(ENCODER_STATISTICAL, 5, MBIT), *b = make(ENCODER_STATISTICAL, 5, MBIT),
                   *c = make(ENCODER_STATISTICAL, 6, MBIT);
    int differ = 0;

    (void)state;
    for (int i = 0; i < 500; i++) {
        struct encoder_frame f, g, h;
        if (i % 50 == 0) {
            encoder_set_target(a, (i + 1) * 10000, encoder_deadline(a));
            encoder_set_target(b, (i + 1) * 10000, encoder_deadline(b));
            encoder_set_target(c, (i + 1) * 10000, encoder_deadline(c));
        }
        f = next(a);
        g = next(b);
        h = next(c);
        assert_true(f.bytes == g.bytes && f.captured == g.captured && f.key == g.key);
        differ += f.bytes != h.bytes;
    }
    assert_true(differ > 400);
    encoder_free(a);
    encoder_free(b);
    encoder_free(c);
}

/* Noise belongs to the frame number: other targets scale the frames, they do not reshuffle them. */
static void noise_does_not_depend_on_the_target(void **state)
{
    struct encoder *a = make(ENCODER_STATISTICAL, 5, MBIT),
                   *b = make(ENCODER_STATISTICAL, 5, 2 * MBIT);

    (void)state;
    for (int i = 0; i < 200; i++) {
        struct encoder_frame f = next(a), g = next(b);
        if (i >= 20) {
            assert_true(llabs(g.bytes - 2 * f.bytes) <= 4);
        }
        assert_int_equal(f.captured, g.captured);
    }
    encoder_free(a);
    encoder_free(b);
}

static void timestamps_never_coincide(void **state)
{
    struct encoder *e = make(ENCODER_STATISTICAL, 11, MBIT);
    ns_t last = 0;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        struct encoder_frame f = next(e);
        assert_true(f.captured - last > 3 * NS_PER_MS);
        assert_true(f.bytes >= 1);
        last = f.captured;
    }
    encoder_free(e);
}

static void constant_mode_is_exact(void **state)
{
    struct encoder *e = make(ENCODER_CONSTANT, 1, 1000003);
    int64_t bytes = 0;

    (void)state;
    for (int i = 0; i < 30 * 800; i++) {
        struct encoder_frame f = next(e);
        assert_in_range(f.bytes, 4166, 4167);
        assert_int_equal(f.captured, NS_PER_S + i / 30 * NS_PER_S + i % 30 * NS_PER_S / 30);
        assert_true(f.key == (i == 0));
        bytes += f.bytes;
    }
    assert_int_equal(bytes, INT64_C(1000003) * 100);
    encoder_set_target(e, 2 * MBIT, encoder_deadline(e));
    assert_int_equal(next(e).target, 2 * MBIT);
    encoder_free(e);
}

static void frames_end_at_stop_and_none_is_early(void **state)
{
    const struct encoder_config cfg = {
        .mode = ENCODER_CONSTANT,
        .fps = 10,
        .min_rate = 1,
        .max_rate = MBIT,
        .start_rate = MBIT,
        .start = NS_PER_S,
        .stop = 2 * NS_PER_S,
    };
    struct encoder *e = NULL;
    struct encoder_frame f;
    int n = 0;

    (void)state;
    assert_int_equal(encoder_new(&e, &cfg), 0);
    assert_false(encoder_next(e, &f, NS_PER_S - 1));
    assert_int_equal(encoder_deadline(e), NS_PER_S);
    while (encoder_next(e, &f, NS_NEVER)) {
        n++;
    }
    assert_int_equal(n, 10);
    assert_int_equal(encoder_deadline(e), NS_NEVER);
    encoder_free(e);
}

static void impossible_configurations_are_refused(void **state)
{
    const struct encoder_config good = {.fps = 30, .min_rate = 1, .max_rate = 2, .start_rate = 1};
    struct encoder_config bad[7];
    struct encoder *e = NULL;

    (void)state;
    for (size_t i = 0; i < 7; i++) {
        bad[i] = good;
    }
    bad[0].fps = 0;
    bad[1].fps = 100000;
    bad[2].min_rate = 0;
    bad[3].min_rate = 3;
    bad[4].start = -1;
    bad[5].size_noise_ppm = 1000001;
    bad[6].interval_noise_ppm = -1;
    for (size_t i = 0; i < 7; i++) {
        assert_int_equal(encoder_new(&e, &bad[i]), ERR_CONFIG);
    }
    assert_null(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_long_run_mean_is_the_target),
        cmocka_unit_test(transients_do_not_move_the_mean),
        cmocka_unit_test(noise_has_the_scale_of_the_model),
        cmocka_unit_test(the_start_is_a_transient_of_eight_frames),
        cmocka_unit_test(a_key_frame_is_never_smaller_than_the_mean_frame),
        cmocka_unit_test(requests_within_the_reaction_latency_wait),
        cmocka_unit_test(an_abrupt_rise_makes_a_key_frame_other_changes_do_not),
        cmocka_unit_test(key_requests_are_obeyed_but_not_in_a_row),
        cmocka_unit_test(targets_are_clipped),
        cmocka_unit_test(equal_seeds_and_targets_give_equal_frames),
        cmocka_unit_test(noise_does_not_depend_on_the_target),
        cmocka_unit_test(timestamps_never_coincide),
        cmocka_unit_test(constant_mode_is_exact),
        cmocka_unit_test(frames_end_at_stop_and_none_is_early),
        cmocka_unit_test(impossible_configurations_are_refused),
    };

    return cmocka_run_group_tests_name("encoder", tests, NULL, NULL);
}
