/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/cc/pacer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* 1000 bytes at 8 Mbit/s take 1 ms. */
#define RATE INT64_C(8000000)
#define MS NS_PER_MS

static void spaces_packets_evenly_without_burst(void **state)
{
    struct pacer p;

    (void)state;
    pacer_init(&p, RATE, 0, 100 * MS);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(pacer_next(&p), (100 + i) * MS);
        pacer_sent(&p, 1000, (100 + i) * MS);
    }
}

static void forgives_a_late_timer_but_saves_no_idle_time(void **state)
{
    struct pacer p;

    (void)state;
    pacer_init(&p, RATE, 0, 0);
    pacer_sent(&p, 1000, 0);
    pacer_sent(&p, 1000, 1 * MS + MS / 2); /* half a packet late: the schedule stays */
    assert_int_equal(pacer_next(&p), 2 * MS);
    /* after a long silence at most 2 ms are caught up */
    pacer_sent(&p, 1000, 100 * MS);
    assert_true(pacer_next(&p) <= 100 * MS);
    pacer_sent(&p, 1000, 100 * MS);
    assert_true(pacer_next(&p) <= 100 * MS);
    pacer_sent(&p, 1000, 100 * MS);
    assert_int_equal(pacer_next(&p), 101 * MS);
}

static void pays_a_whole_burst_before_the_next(void **state)
{
    struct pacer p;

    (void)state;
    pacer_init(&p, RATE, 5 * MS, 0);
    for (int i = 0; i < 5; i++) {
        assert_true(pacer_next(&p) <= 0);
        pacer_sent(&p, 1000, 0);
    }
    /* 5 ms are owed: not below the burst any more, so wait until all is paid */
    assert_int_equal(pacer_next(&p), 5 * MS);
    pacer_sent(&p, 1000, 5 * MS);
    assert_int_equal(pacer_next(&p), 5 * MS);
}

static void a_new_rate_rescales_the_debt(void **state)
{
    struct pacer p;

    (void)state;
    pacer_init(&p, RATE, 0, 0);
    pacer_sent(&p, 4000, 0); /* 4 ms */
    pacer_set_rate(&p, 2 * RATE, 2 * MS);
    assert_int_equal(pacer_next(&p), 3 * MS); /* half is left, at twice the rate */
    pacer_set_rate(&p, RATE / 2, 2 * MS);
    assert_int_equal(pacer_next(&p), 6 * MS);
    pacer_sent(&p, 1000, 6 * MS);
    assert_int_equal(pacer_next(&p), 8 * MS);
}

static void a_probe_sets_the_pace_and_its_bytes_are_owed(void **state)
{
    static const struct cc_probe probe = {.id = 7, .rate = 4 * RATE, .bytes = 4000, .packets = 5};
    struct pacer p;

    (void)state;
    pacer_init(&p, RATE, 0, 0);
    pacer_sent(&p, 10000, 0); /* 10 ms, which the probe does not wait for */
    assert_int_equal(pacer_probe_id(&p), CC_NO_PROBE);
    pacer_start_probe(&p, &probe, 1 * MS);
    for (int i = 0; i < 5; i++) { /* its 4000 bytes are out after four, its packets after five */
        assert_int_equal(pacer_probe_id(&p), 7);
        assert_int_equal(pacer_next(&p), 1 * MS + i * MS / 4);
        pacer_sent(&p, 1000, pacer_next(&p));
    }
    assert_int_equal(pacer_probe_id(&p), CC_NO_PROBE);
    assert_int_equal(pacer_next(&p), 15 * MS);
}

static void a_late_probe_catches_up_at_most_10_ms(void **state)
{
    static const struct cc_probe probe = {.id = 0, .rate = RATE, .bytes = 100000, .packets = 5};
    struct pacer p;

    (void)state;
    pacer_init(&p, RATE, 0, 0);
    pacer_start_probe(&p, &probe, 0);
    pacer_sent(&p, 1000, 5 * MS);
    assert_int_equal(pacer_next(&p), 1 * MS); /* four packets may follow at once */
    pacer_sent(&p, 1000, 50 * MS);
    assert_int_equal(pacer_next(&p), 41 * MS);
}

static void a_swing_keeps_the_mean_rate(void **state)
{
    struct pacer p;
    int64_t first = 0, second = 0;

    (void)state;
    pacer_init(&p, RATE, 0, 0);
    pacer_set_swing(&p, 25000, 350 * MS);
    while (pacer_next(&p) < 700 * MS) {
        *(pacer_next(&p) < 350 * MS ? &first : &second) += 1000;
        pacer_sent(&p, 1000, pacer_next(&p));
    }
    assert_in_range(first, 358000, 360000);  /* 350000 x 1.025 = 358750 */
    assert_in_range(second, 340000, 342000); /* 350000 x 0.975 = 341250 */
    pacer_set_swing(&p, 0, 0);
    first = pacer_next(&p);
    pacer_sent(&p, 1000, first);
    assert_int_equal(pacer_next(&p), first + MS);
}

static void a_huge_burst_is_owed_for_half_a_second_at_most(void **state)
{
    struct pacer p;

    (void)state;
    pacer_init(&p, 8000, 0, 0);
    pacer_sent(&p, 100000, 0); /* 100 s */
    assert_int_equal(pacer_next(&p), 500 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spaces_packets_evenly_without_burst),
        cmocka_unit_test(forgives_a_late_timer_but_saves_no_idle_time),
        cmocka_unit_test(pays_a_whole_burst_before_the_next),
        cmocka_unit_test(a_new_rate_rescales_the_debt),
        cmocka_unit_test(a_probe_sets_the_pace_and_its_bytes_are_owed),
        cmocka_unit_test(a_late_probe_catches_up_at_most_10_ms),
        cmocka_unit_test(a_swing_keeps_the_mean_rate),
        cmocka_unit_test(a_huge_burst_is_owed_for_half_a_second_at_most),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
