/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/cc/trendline.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define MS NS_PER_MS

static struct trendline t;

static int setup(void **state)
{
    (void)state;
    trendline_init(&t);
    return 0;
}

/* n groups sent 10 ms apart whose delay grows by growth each. */
static void feed(int n, ns_t growth, ns_t *arrival)
{
    for (int i = 0; i < n; i++) {
        *arrival += 10 * MS + growth;
        trendline_update(&t, 10 * MS + growth, 10 * MS, *arrival);
    }
}

static void near(double value, double expected, double tolerance)
{
    if (fabs(value - expected) > tolerance) {
        fail_msg("%g is not within %g of %g", value, tolerance, expected);
    }
}

static void a_steady_delay_has_no_trend(void **state)
{
    ns_t arrival = 0;

    (void)state;
    feed(200, 0, &arrival);
    near(t.trend, 0, 1e-12);
    assert_int_equal(t.usage, CC_USAGE_NORMAL);
    near(t.threshold, 6, 1e-9); /* the path is quiet: down to the lowest */
}

static void a_steady_growth_is_its_own_trend(void **state)
{
    ns_t arrival = 0;

    (void)state;
    /* 0.2 ms more every 10.2 ms; after many groups the smoothed delay grows alike */
    feed(400, MS / 5, &arrival);
    near(t.trend, 0.2 / 10.2, 1e-6);
    near(t.modified, 60 * 4.0 * 0.2 / 10.2, 1e-3);
}

static void says_nothing_before_the_window_is_full(void **state)
{
    ns_t arrival = 0;

    (void)state;
    feed(TRENDLINE_WINDOW - 1, 10 * MS, &arrival);
    near(t.trend, 0, 0);
    assert_int_equal(t.usage, CC_USAGE_NORMAL);
    /* 20 groups of 20 ms: smoothed delay s(n) of an accumulated 10 n is 10 n - 90 (1 - 0.9^n) */
    feed(1, 10 * MS, &arrival);
    assert_true(t.trend > 0.25 && t.trend < 0.5);
    near(t.modified, 20 * 4.0 * t.trend, 1e-9);
}

static void overuse_takes_two_samples_10_ms_and_a_rising_trend(void **state)
{
    ns_t arrival = 0;
    int first_above = -1, declared = -1;

    (void)state;
    feed(100, 0, &arrival);
    for (int i = 0; i < 40 && declared < 0; i++) {
        feed(1, MS, &arrival);
        if (first_above < 0 && t.modified > 6) {
            first_above = i;
            assert_int_equal(t.usage, CC_USAGE_NORMAL);
            near(t.overuse_ms, 5, 1e-9); /* half a group */
        }
        if (t.usage == CC_USAGE_OVER) {
            declared = i;
        }
    }
    /* the second sample makes it 15 ms */
    assert_true(first_above >= 0);
    assert_int_equal(declared, first_above + 1);
    near(t.overuse_ms, 0, 0);
}

static void a_draining_queue_is_underuse(void **state)
{
    ns_t arrival = 0;

    (void)state;
    feed(100, 0, &arrival);
    feed(20, MS, &arrival);
    assert_int_equal(t.usage, CC_USAGE_OVER);
    feed(20, -MS, &arrival);
    assert_int_equal(t.usage, CC_USAGE_UNDER);
    feed(100, 0, &arrival);
    assert_int_equal(t.usage, CC_USAGE_NORMAL);
}

static void the_threshold_follows_slowly_up_and_fast_down(void **state)
{
    ns_t arrival = 0;
    double before;

    (void)state;
    feed(200, 0, &arrival);
    feed(1, MS / 10, &arrival);
    before = t.threshold;
    assert_true(t.modified > 0 && t.modified < before);
    /* one more group: k_down is 0.039 per ms towards |modified|, at least 6 */
    near(before, 6, 1e-9);
    t.threshold = 20;
    feed(1, 0, &arrival);
    near(t.threshold, 20 + 0.039 * (t.modified - 20) * 10, 1e-9);
    /* above it k_up is 0.0087 */
    t.threshold = 6;
    while (t.modified < 7) {
        before = t.threshold;
        feed(1, MS / 2, &arrival);
    }
    near(t.threshold, before + 0.0087 * (t.modified - before) * 10.5, 1e-9);
    /* a spike more than 15 above it teaches nothing */
    before = t.threshold;
    feed(10, 20 * MS, &arrival);
    assert_true(t.modified > before + 15);
    before = t.threshold;
    feed(1, 20 * MS, &arrival);
    near(t.threshold, before, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_steady_delay_has_no_trend, setup),
        cmocka_unit_test_setup(a_steady_growth_is_its_own_trend, setup),
        cmocka_unit_test_setup(says_nothing_before_the_window_is_full, setup),
        cmocka_unit_test_setup(overuse_takes_two_samples_10_ms_and_a_rising_trend, setup),
        cmocka_unit_test_setup(a_draining_queue_is_underuse, setup),
        cmocka_unit_test_setup(the_threshold_follows_slowly_up_and_fast_down, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
