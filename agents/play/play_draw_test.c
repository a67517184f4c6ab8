/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/play/play_draw.h"

#include "agents/play/play_content.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define PLAYS 4000

static const struct play_config config = {.players = 3,
                                          .count = PLAYS,
                                          .track_min = 30 * NS_PER_S,
                                          .track_max = 60 * NS_PER_S,
                                          .skip_ppm = 250000,
                                          .skip_within = 20 * NS_PER_S,
                                          .think = 2 * NS_PER_S};

/* Four standard deviations of a share of PLAYS. */
static void assert_share(int n, double share)
{
    assert_true(n > PLAYS * share - 4 * 32 && n < PLAYS * share + 4 * 32);
}

static void draws_follow_their_distributions(void **state)
{
    int low = 0, high = 0, skips = 0;
    double length = 0, skip = 0, think = 0;

    (void)state;
    for (int i = 0; i < PLAYS; i++) {
        struct play_draw d = play_draw(&config, 7, 1, i);

        low += d.bit_rate == 96000;
        high += d.bit_rate == 320000;
        assert_true(d.bit_rate == 160000 || d.bit_rate == 96000 || d.bit_rate == 320000);
        assert_true(d.length >= config.track_min && d.length <= config.track_max);
        assert_int_equal(d.length % NS_PER_MS, 0);
        assert_int_equal(d.bytes, d.bit_rate / 1000 * (d.length / NS_PER_MS) / 8);
        length += ns_to_s(d.length) / PLAYS;
        think += ns_to_s(d.think) / PLAYS;
        if (d.skip_at != NS_NEVER) {
            assert_in_range(d.skip_at, 0, config.skip_within);
            skips++;
            skip += ns_to_s(d.skip_at);
        }
    }
    assert_share(low, 0.2);
    assert_share(high, 0.2);
    assert_share(skips, 0.25);
    assert_true(length > 44.4 && length < 45.6);            /* 45 s, 4 sd of the mean */
    assert_true(think > 1.87 && think < 2.13);              /* 2 s */
    assert_true(skip / skips > 9.2 && skip / skips < 10.8); /* 10 s */
}

static bool equal(const struct play_draw *a, const struct play_draw *b)
{
    return a->bit_rate == b->bit_rate && a->length == b->length && a->skip_at == b->skip_at &&
           a->think == b->think;
}

static void draws_depend_on_seed_and_name_alone(void **state)
{
    struct play_draw a = play_draw(&config, 7, 1, 5), b = play_draw(&config, 7, 1, 5);
    struct play_draw play = play_draw(&config, 7, 1, 6), player = play_draw(&config, 7, 2, 5);
    struct play_draw seed = play_draw(&config, 8, 1, 5), other;
    struct play_config c = config;

    (void)state;
    assert_true(equal(&a, &b));
    assert_false(equal(&a, &play));
    assert_false(equal(&a, &player));
    assert_false(equal(&a, &seed));
    /* another setting leaves the rest as it was */
    c.skip_ppm = 1000000;
    c.think = 0;
    c.bit_rate = PLAY_BIT_RATE_320K;
    other = play_draw(&c, 7, 1, 5);
    assert_int_equal(other.length, a.length);
    assert_int_equal(other.bit_rate, 320000);
    assert_int_equal(other.think, 0);
    assert_true(other.skip_at != NS_NEVER);
}

static void content_does_not_depend_on_the_pieces(void **state)
{
    struct play_content c = play_content(1, 2, 3), d = play_content(1, 3, 2);
    uint8_t whole[1000], piece[1000];
    int differ = 0;

    (void)state;
    play_content_fill(&c, 12345, whole, sizeof whole);
    for (size_t cut = 1; cut < 40; cut++) {
        for (size_t at = 0; at < sizeof piece; at += cut) {
            size_t n = sizeof piece - at < cut ? sizeof piece - at : cut;

            play_content_fill(&c, 12345 + at, piece + at, n);
        }
        assert_memory_equal(piece, whole, sizeof whole);
        assert_true(play_content_is(&c, 12345 + cut, whole + cut, sizeof whole - cut));
        assert_false(play_content_is(&c, 12345 + cut + 1, whole + cut, sizeof whole - cut));
    }
    assert_false(play_content_is(&d, 12345, whole, sizeof whole));
    whole[999] ^= 1;
    assert_false(play_content_is(&c, 12345, whole, sizeof whole));
    whole[999] ^= 1;
    play_content_fill(&d, 12345, piece, sizeof piece);
    for (size_t i = 0; i < sizeof whole; i++) {
        differ += whole[i] != piece[i];
    }
    assert_true(differ > 950);
    assert_true(play_content_is(&c, 0, whole, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_follow_their_distributions),
        cmocka_unit_test(draws_depend_on_seed_and_name_alone),
        cmocka_unit_test(content_does_not_depend_on_the_pieces),
    };

    return cmocka_run_group_tests_name("play_draw", tests, NULL, NULL);
}
