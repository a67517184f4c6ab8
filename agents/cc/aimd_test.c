/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/cc/aimd.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define MBIT INT64_C(1000000)
#define MS NS_PER_MS

static struct aimd a;

static int setup(void **state)
{
    (void)state;
    aimd_init(&a, MBIT, 100000);
    return 0;
}

static void grows_by_eight_per_cent_in_a_second(void **state)
{
    (void)state;
    aimd_update(&a, CC_USAGE_NORMAL, MBIT, 0); /* hold -> increase */
    assert_int_equal(a.state, CC_STATE_INCREASE);
    aimd_update(&a, CC_USAGE_NORMAL, MBIT, NS_PER_S);
    assert_int_equal(a.rate, 1081080);                    /* 1000 in the first step, then 8 % */
    aimd_update(&a, CC_USAGE_NORMAL, MBIT, 9 * NS_PER_S); /* never more than a second's worth */
    assert_in_range(a.rate, 1167400, 1167600);
}

static void never_far_above_the_throughput(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        aimd_update(&a, CC_USAGE_NORMAL, 800000, i * NS_PER_S);
    }
    assert_int_equal(a.rate, 1210000); /* 1.5 x 800000 + 10000 */
    /* and where a probe has put it, it stays */
    aimd_set(&a, 4 * MBIT, 100 * NS_PER_S);
    aimd_update(&a, CC_USAGE_NORMAL, 800000, 101 * NS_PER_S);
    assert_int_equal(a.rate, 4 * MBIT);
}

static void an_overuse_lowers_it_below_the_throughput(void **state)
{
    (void)state;
    aimd_update(&a, CC_USAGE_OVER, 900000, 0);
    assert_int_equal(a.rate, 760000); /* 0.85 x 900000 - 5000 */
    assert_int_equal(a.state, CC_STATE_HOLD);
    assert_true(a.capacity.known);
    aimd_update(&a, CC_USAGE_UNDER, 900000, 100 * MS);
    assert_int_equal(a.rate, 760000);
    assert_int_equal(a.state, CC_STATE_HOLD);
}

static void an_overuse_never_raises_it(void **state)
{
    (void)state;
    aimd_update(&a, CC_USAGE_OVER, 900000, 0);
    /* 0.85 x 950000 would be more: take 0.85 of the capacity estimate (0.95 x 900 + 0.05 x 950) */
    aimd_update(&a, CC_USAGE_OVER, 950000, NS_PER_S);
    assert_int_equal(a.rate, 760000);
    a.rate = 800000;
    aimd_update(&a, CC_USAGE_OVER, 1000000, 2 * NS_PER_S);
    assert_in_range(a.rate, 766000, 768500);
}

static void near_the_capacity_it_adds_half_a_packet_per_response_time(void **state)
{
    bps_t before;

    (void)state;
    a.rate = 5 * MBIT;
    a.rtt = 20 * MS;
    /* frames of 166667 bit are 18 packets of 9259 bit; 2 x (20 + 100) ms */
    assert_in_range((int)aimd_near_max_increase(&a), 38580, 38581);
    aimd_update(&a, CC_USAGE_OVER, 5 * MBIT, 0);
    aimd_update(&a, CC_USAGE_NORMAL, 5 * MBIT, NS_PER_S);
    before = a.rate;
    aimd_update(&a, CC_USAGE_NORMAL, 5 * MBIT, 3 * NS_PER_S);
    /* at 4.245 Mbit/s 15 packets of 9433 bit, for 2 s */
    assert_in_range(a.rate - before, 78600, 78620);
    /* a throughput beyond the believed capacity: multiplicative again */
    before = a.rate;
    aimd_update(&a, CC_USAGE_NORMAL, 6 * MBIT, 4 * NS_PER_S);
    assert_in_range(a.rate - before, before * 79 / 1000, before * 81 / 1000);
    assert_false(a.capacity.known);
}

static void reduces_once_per_round_trip(void **state)
{
    (void)state;
    assert_true(aimd_may_reduce(&a, MBIT, 0));
    a.rtt = 50 * MS;
    aimd_update(&a, CC_USAGE_OVER, MBIT, 0);
    assert_false(aimd_may_reduce(&a, MBIT, 49 * MS));
    assert_true(aimd_may_reduce(&a, MBIT, 50 * MS));
    assert_true(aimd_may_reduce(&a, a.rate / 2 - 1, 1 * MS));
    a.rtt = 5 * NS_PER_S;
    assert_true(aimd_may_reduce(&a, MBIT, 200 * MS));
    a.rtt = 1;
    assert_false(aimd_may_reduce(&a, MBIT, 9 * MS));
}

static void the_minimum_holds(void **state)
{
    (void)state;
    aimd_update(&a, CC_USAGE_OVER, 50000, 0);
    assert_int_equal(a.rate, 100000);
    aimd_set(&a, 1, NS_PER_S);
    assert_int_equal(a.rate, 100000);
}

/* Grows as fast as so many together; an overuse, which all see, costs all alike, and a mark less.
 */
static void weight_scales_growth_and_what_a_mark_costs(void **state)
{
    double one = aimd_near_max_increase(&a);
    struct aimd light = a;

    (void)state;
    a.weight = 4;
    assert_true(fabs(aimd_near_max_increase(&a) / one - 4) < 1e-9);
    aimd_congested(&light, 0.85, MBIT, 0);
    aimd_congested(&a, 0.85, MBIT, 0);
    assert_int_equal(light.rate, 850000);
    /* 0.15 / 4^0.6 = 0.0653 */
    assert_true(a.rate > 934000 && a.rate < 936000);
    aimd_set(&a, MBIT, 0);
    aimd_update(&a, CC_USAGE_OVER, MBIT, 0);
    assert_int_equal(a.rate, 845000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(grows_by_eight_per_cent_in_a_second, setup),
        cmocka_unit_test_setup(never_far_above_the_throughput, setup),
        cmocka_unit_test_setup(an_overuse_lowers_it_below_the_throughput, setup),
        cmocka_unit_test_setup(an_overuse_never_raises_it, setup),
        cmocka_unit_test_setup(near_the_capacity_it_adds_half_a_packet_per_response_time, setup),
        cmocka_unit_test_setup(reduces_once_per_round_trip, setup),
        cmocka_unit_test_setup(the_minimum_holds, setup),
        cmocka_unit_test_setup(weight_scales_growth_and_what_a_mark_costs, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
