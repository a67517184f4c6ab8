/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/cc/probe_controller.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define MBIT INT64_C(1000000)
#define S NS_PER_S

static struct probe_controller p;
static struct cc_probe probe;

static int setup(void **state)
{
    (void)state;
    probe_controller_init(&p, MBIT, 12 * MBIT, 0);
    return 0;
}

/* Rate of the next cluster, 0 for none. */
static bps_t next(ns_t now)
{
    return probe_controller_next(&p, &probe, now) ? probe.rate : 0;
}

/* Past the start, with nothing pending. */
static void settle(bps_t estimate)
{
    probe_controller_start(&p, 0);
    next(0);
    next(0);
    probe_controller_expire(&p, 2 * S);
    probe_controller_estimate(&p, estimate, PROBE_LIMIT_NONE, 2 * S);
    assert_int_equal(next(2 * S), 0);
}

static void starts_with_three_and_six_times(void **state)
{
    (void)state;
    assert_int_equal(next(0), 0);
    probe_controller_start(&p, 0);
    assert_int_equal(next(0), 3 * MBIT);
    assert_int_equal(probe.id, 0);
    assert_int_equal(probe.packets, 5);
    assert_int_equal(probe.bytes, 5625); /* 15 ms */
    assert_int_equal(next(0), 6 * MBIT);
    assert_int_equal(probe.id, 1);
    assert_int_equal(next(0), 0);
    probe_controller_start(&p, 1);
    assert_int_equal(next(1), 0);
}

static void goes_on_while_the_result_is_above_seven_tenths(void **state)
{
    (void)state;
    probe_controller_start(&p, 0);
    next(0);
    next(0);
    probe_controller_estimate(&p, 4200000, PROBE_LIMIT_NONE, S / 10);
    assert_int_equal(next(S / 10), 0); /* 0.7 x 6 is not above */
    probe_controller_estimate(&p, 4300000, PROBE_LIMIT_NONE, S / 5);
    assert_int_equal(next(S / 5), 8600000);
    probe_controller_estimate(&p, 8 * MBIT, PROBE_LIMIT_NONE, S / 4);
    assert_int_equal(next(S / 4), 12 * MBIT); /* the maximum, and the end of it */
    probe_controller_estimate(&p, 12 * MBIT, PROBE_LIMIT_NONE, S / 3);
    assert_int_equal(next(S / 3), 0);
}

static void waits_a_second_for_a_result(void **state)
{
    (void)state;
    probe_controller_start(&p, 0);
    next(0);
    next(0);
    probe_controller_expire(&p, S + 1);
    probe_controller_estimate(&p, 6 * MBIT, PROBE_LIMIT_NONE, S + 2);
    assert_int_equal(next(S + 2), 0);
}

static void a_start_above_the_maximum_probes_the_maximum(void **state)
{
    (void)state;
    probe_controller_init(&p, MBIT, 2 * MBIT, 0);
    probe_controller_start(&p, 0);
    assert_int_equal(next(0), 2 * MBIT);
    assert_int_equal(next(0), 2 * MBIT);
    assert_int_equal(next(0), 0);
    assert_int_equal(p.state, PROBE_COMPLETE);
}

static void a_limited_source_is_probed_every_five_seconds(void **state)
{
    (void)state;
    settle(2 * MBIT);
    probe_controller_expire(&p, 60 * S);
    assert_int_equal(next(60 * S), 0); /* not limited */
    probe_controller_app_limited(&p, 60 * S, 60 * S);
    probe_controller_expire(&p, 65 * S - 1);
    assert_int_equal(next(65 * S - 1), 0);
    probe_controller_expire(&p, 65 * S);
    assert_int_equal(next(65 * S), 4 * MBIT);
    probe_controller_expire(&p, 66 * S + 1);
    probe_controller_expire(&p, 69 * S);
    assert_int_equal(next(69 * S), 0);
    probe_controller_expire(&p, 70 * S);
    assert_int_equal(next(70 * S), 4 * MBIT);
}

static void no_probe_while_congested(void **state)
{
    (void)state;
    settle(2 * MBIT);
    probe_controller_app_limited(&p, 3 * S, 3 * S);
    probe_controller_estimate(&p, 2 * MBIT, PROBE_LIMIT_DELAY, 4 * S);
    probe_controller_expire(&p, 20 * S);
    assert_int_equal(next(20 * S), 0);
    probe_controller_estimate(&p, 2 * MBIT, PROBE_LIMIT_LOSS, 20 * S);
    probe_controller_expire(&p, 21 * S);
    assert_int_equal(next(21 * S), 0);
    probe_controller_estimate(&p, 2 * MBIT, PROBE_LIMIT_GROWING, 21 * S);
    probe_controller_expire(&p, 22 * S);
    assert_int_equal(next(22 * S), 3 * MBIT); /* at most 1.5 times */
}

static void a_large_drop_of_a_limited_source_is_checked_once(void **state)
{
    (void)state;
    settle(4 * MBIT);
    probe_controller_app_limited(&p, 10 * S, 10 * S);
    probe_controller_estimate(&p, 2 * MBIT, PROBE_LIMIT_NONE, 11 * S);
    probe_controller_recovered(&p, 12 * S);
    assert_int_equal(next(12 * S), 3400000); /* 0.85 x 4 Mbit/s */
    probe_controller_recovered(&p, 13 * S);
    assert_int_equal(next(13 * S), 0);
    /* not after five seconds, nor when the source had filled the path */
    probe_controller_estimate(&p, 4 * MBIT, PROBE_LIMIT_NONE, 20 * S);
    probe_controller_estimate(&p, 2 * MBIT, PROBE_LIMIT_NONE, 21 * S);
    probe_controller_recovered(&p, 26 * S);
    assert_int_equal(next(26 * S), 0);
    probe_controller_app_limited(&p, NS_NEVER, 27 * S);
    probe_controller_estimate(&p, 1 * MBIT, PROBE_LIMIT_NONE, 30 * S);
    probe_controller_recovered(&p, 31 * S);
    assert_int_equal(next(31 * S), 0);
}

static void a_demand_is_probed_as_soon_as_it_may(void **state)
{
    (void)state;
    settle(2 * MBIT);
    probe_controller_demand(&p, 10 * S);
    assert_int_equal(next(10 * S), 4 * MBIT);
    probe_controller_expire(&p, 12 * S);
    probe_controller_estimate(&p, 2 * MBIT, PROBE_LIMIT_DELAY, 12 * S);
    probe_controller_demand(&p, 12 * S);
    assert_int_equal(next(12 * S), 0);
    probe_controller_estimate(&p, 2 * MBIT, PROBE_LIMIT_NONE, 12 * S + S / 2);
    probe_controller_expire(&p, 12 * S + S / 2);
    assert_int_equal(next(12 * S + S / 2), 4 * MBIT);
    /* a second later nobody waits any more */
    probe_controller_expire(&p, 14 * S);
    probe_controller_estimate(&p, 2 * MBIT, PROBE_LIMIT_LOSS, 14 * S);
    probe_controller_demand(&p, 14 * S);
    probe_controller_estimate(&p, 2 * MBIT, PROBE_LIMIT_NONE, 15 * S + 1);
    probe_controller_expire(&p, 15 * S + 1);
    assert_int_equal(next(15 * S + 1), 0);
}

static void a_cluster_nobody_asks_for_is_dropped(void **state)
{
    (void)state;
    probe_controller_start(&p, 0);
    assert_int_equal(next(5 * S + 1), 0);
    assert_int_equal(p.queued, 0);
}

static void nothing_is_probed_in_a_pause(void **state)
{
    (void)state;
    settle(MBIT);
    probe_controller_demand(&p, 3 * S);
    probe_controller_pause(&p, true);
    assert_int_equal(next(3 * S), 0); /* not even what waited */
    probe_controller_app_limited(&p, 3 * S, 3 * S);
    for (ns_t t = 3 * S; t < 20 * S; t += S / 10) {
        probe_controller_expire(&p, t);
        assert_int_equal(next(t), 0);
    }
    probe_controller_pause(&p, false);
    probe_controller_demand(&p, 20 * S);
    assert_int_equal(next(20 * S), 2 * MBIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(starts_with_three_and_six_times, setup),
        cmocka_unit_test_setup(goes_on_while_the_result_is_above_seven_tenths, setup),
        cmocka_unit_test_setup(waits_a_second_for_a_result, setup),
        cmocka_unit_test_setup(a_start_above_the_maximum_probes_the_maximum, setup),
        cmocka_unit_test_setup(a_limited_source_is_probed_every_five_seconds, setup),
        cmocka_unit_test_setup(no_probe_while_congested, setup),
        cmocka_unit_test_setup(a_large_drop_of_a_limited_source_is_checked_once, setup),
        cmocka_unit_test_setup(a_demand_is_probed_as_soon_as_it_may, setup),
        cmocka_unit_test_setup(a_cluster_nobody_asks_for_is_dropped, setup),
        cmocka_unit_test_setup(nothing_is_probed_in_a_pause, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
