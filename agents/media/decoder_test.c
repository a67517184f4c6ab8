/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/media/decoder.h"

#include "agents/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define COUNT 3 /* packets of each frame */
#define MS NS_PER_MS

static struct decoder *d;

static int set_up(void **state)
{
    (void)state;
    return decoder_new(&d);
}

static int tear_down(void **state)
{
    (void)state;
    decoder_free(d);
    return 0;
}

static int64_t first_seq(int64_t frame)
{
    return 100 + frame * COUNT;
}

static void give(int64_t frame, int64_t packets, bool key, ns_t now)
{
    const struct decoder_packet p = {
        .frame = frame, .first_seq = first_seq(frame), .count = COUNT, .key = key};

    for (int64_t i = 0; i < packets; i++) {
        decoder_packet(d, &p, now);
    }
}

static void assert_done(int64_t next_frame)
{
    int64_t seq;

    assert_true(decoder_done(d, &seq));
    assert_int_equal(seq, first_seq(next_frame));
}

static void frames_are_decoded_one_after_the_other(void **state)
{
    int64_t seq;

    (void)state;
    give(0, COUNT - 1, true, 0);
    assert_false(decoder_done(d, &seq));
    give(0, 1, true, 1);
    assert_done(1);
    give(2, COUNT, false, 2); /* waits for frame 1, as do all behind it */
    give(3, COUNT, false, 3);
    assert_done(1);
    give(1, COUNT, false, 4);
    assert_done(4);
    give(1, COUNT, false, 5); /* what is decoded comes again */
    assert_done(4);
}

static void a_key_frame_needs_none_before_it(void **state)
{
    int64_t seq;

    (void)state;
    give(0, COUNT, false, 0); /* the beginning is missing */
    assert_false(decoder_done(d, &seq));
    give(7, COUNT, false, 0);
    give(6, COUNT, true, 0);
    assert_done(8);
    give(10, COUNT, true, 0);
    assert_done(11);
}

static void what_waits_is_bounded(void **state)
{
    (void)state;
    give(0, COUNT, true, 0);
    give(2, COUNT, false, 0);
    give(1 + DECODER_FRAMES_MAX, COUNT, false, 0); /* frame 1 is given up */
    assert_done(1);
    give(3, COUNT, false, 0);
    assert_done(1); /* without a key frame nothing goes on */
    give(INT64_C(1) << 40, COUNT, false, 0);
    give((INT64_C(1) << 40) + 1, COUNT, true, 0);
    assert_done((INT64_C(1) << 40) + 2);
}

static void a_key_frame_is_asked_for_after_three_seconds(void **state)
{
    (void)state;
    give(0, COUNT, true, 0);
    for (ns_t t = 100 * MS; t < 2900 * MS; t += 100 * MS) {
        give(t / (100 * MS) + 1, COUNT, false, t); /* frame 1 never comes */
    }
    assert_int_equal(decoder_deadline(d), DECODER_WAIT);
    assert_false(decoder_expire(d, DECODER_WAIT - 1));
    assert_true(decoder_expire(d, DECODER_WAIT));
    assert_false(decoder_expire(d, DECODER_WAIT)); /* once */
    assert_int_equal(decoder_deadline(d), 2 * DECODER_WAIT);
}

static void none_is_asked_for_while_one_comes_or_nothing_does(void **state)
{
    (void)state;
    give(0, COUNT, true, 0);
    give(2, 1, true, DECODER_WAIT - DECODER_WAIT_KEY + 1);
    assert_false(decoder_expire(d, DECODER_WAIT));
    assert_true(decoder_expire(d, 2 * DECODER_WAIT));  /* it did not become whole */
    assert_false(decoder_expire(d, 3 * DECODER_WAIT)); /* no packet for 5 s */
}

static void the_first_one_is_asked_for_soon(void **state)
{
    (void)state;
    assert_int_equal(decoder_deadline(d), NS_NEVER);
    give(3, COUNT, false, 500 * MS);
    assert_int_equal(decoder_deadline(d), 500 * MS + DECODER_WAIT_KEY);
    assert_true(decoder_expire(d, 500 * MS + DECODER_WAIT_KEY));
    assert_int_equal(decoder_deadline(d), 500 * MS + 2 * DECODER_WAIT_KEY);
    give(4, COUNT, true, 800 * MS);
    assert_int_equal(decoder_deadline(d), 800 * MS + DECODER_WAIT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(frames_are_decoded_one_after_the_other),
        TEST(a_key_frame_needs_none_before_it),
        TEST(what_waits_is_bounded),
        TEST(a_key_frame_is_asked_for_after_three_seconds),
        TEST(none_is_asked_for_while_one_comes_or_nothing_does),
        TEST(the_first_one_is_asked_for_soon),
    };

    return cmocka_run_group_tests_name("decoder", tests, NULL, NULL);
}
