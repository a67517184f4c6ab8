/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/cc/inter_arrival.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define MS NS_PER_MS

static struct inter_arrival ia;
static struct inter_arrival_delta delta;

static int setup(void **state)
{
    (void)state;
    inter_arrival_init(&ia);
    return 0;
}

static bool add(ns_t send_ms, ns_t arrival_ms)
{
    return inter_arrival_add(&ia, send_ms * MS, arrival_ms * MS, arrival_ms * MS, &delta);
}

static void tells_the_spacing_of_two_complete_groups(void **state)
{
    (void)state;
    /* groups of 0..5, 10..14 and 20 ms; the last packets of the first two leave 9 ms apart and
     * arrive 13 ms apart */
    assert_false(add(0, 100));
    assert_false(add(5, 108)); /* exactly 5 ms: still the same group */
    assert_false(add(10, 115));
    assert_false(add(14, 121));
    assert_true(add(20, 130));
    assert_int_equal(delta.send, 9 * MS);
    assert_int_equal(delta.arrival, 13 * MS);
    assert_true(add(30, 141));
    assert_int_equal(delta.send, 6 * MS);
    assert_int_equal(delta.arrival, 9 * MS);
}

static void packets_let_go_together_are_one_group(void **state)
{
    (void)state;
    assert_false(add(0, 100));
    /* sent 10 ms apart but arriving 2 ms apart: the queue let them go in one burst */
    for (ns_t i = 1; i < 10; i++) {
        assert_false(add(10 * i, 100 + 2 * i));
    }
    assert_false(add(100, 150)); /* a new group, the first complete one lies behind it */
    assert_true(add(110, 160));
    assert_int_equal(delta.send, 10 * MS);    /* 90 -> 100 */
    assert_int_equal(delta.arrival, 32 * MS); /* 118 -> 150 */
}

static void a_burst_ends_after_100_ms(void **state)
{
    int groups = 0;

    (void)state;
    /* arriving every 4 ms for 10 ms of sending: one endless burst but for the bound */
    for (ns_t i = 0; i < 100; i++) {
        groups += add(10 * i, 100 + 4 * i);
    }
    /* 25 arrivals span 96 ms: 100 packets are four groups, the fourth not complete */
    assert_int_equal(groups, 2);
}

static void ignores_packets_sent_before_the_group(void **state)
{
    (void)state;
    add(0, 100);
    add(10, 110);
    assert_false(add(3, 111));
    assert_true(add(20, 120));
    assert_int_equal(delta.arrival, 10 * MS);
}

static void starts_anew_after_three_reordered_groups(void **state)
{
    (void)state;
    add(0, 1000);
    add(10, 1010);
    add(12, 900); /* joins the group, which now ends before the one before it */
    assert_false(add(30, 1030));
    assert_false(add(40, 1040));
    assert_int_equal(ia.reordered, 2);
    assert_false(add(50, 1050));
    assert_int_equal(ia.reordered, 0);
    assert_false(ia.current.used);
    assert_false(add(60, 1060));
    assert_false(add(70, 1070));
    assert_true(add(80, 1080));
}

static void starts_anew_when_the_receivers_clock_jumps(void **state)
{
    (void)state;
    add(0, 100);
    inter_arrival_add(&ia, 10 * MS, 3110 * MS, 110 * MS, &delta);
    assert_false(inter_arrival_add(&ia, 20 * MS, 3120 * MS, 120 * MS, &delta));
    assert_false(ia.current.used);
    /* a gap that sender and receiver both saw is no jump */
    add(100, 200);
    add(4100, 4200);
    assert_true(add(4110, 4210));
    assert_int_equal(delta.arrival, 4000 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(tells_the_spacing_of_two_complete_groups, setup),
        cmocka_unit_test_setup(packets_let_go_together_are_one_group, setup),
        cmocka_unit_test_setup(a_burst_ends_after_100_ms, setup),
        cmocka_unit_test_setup(ignores_packets_sent_before_the_group, setup),
        cmocka_unit_test_setup(starts_anew_after_three_reordered_groups, setup),
        cmocka_unit_test_setup(starts_anew_when_the_receivers_clock_jumps, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
