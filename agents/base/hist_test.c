/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/base/hist.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void test_empty(void **state)
{
    static const struct hist h;

    (void)state;
    assert_int_equal(hist_quantile(&h, 500000), 0);
    assert_int_equal(h.max, 0);
}

static void test_small_values_are_exact(void **state)
{
    static struct hist h;

    (void)state;
    for (ns_t v = 1; v <= 50; v++) {
        hist_add(&h, v);
    }
    assert_int_equal(hist_quantile(&h, 500000), 25);
    assert_int_equal(hist_quantile(&h, 980000), 49);
    assert_int_equal(hist_quantile(&h, 1000000), 50);
    assert_int_equal(hist_quantile(&h, 0), 1);
    assert_int_equal(h.max, 50);
}

static void test_large_values_within_a_64th(void **state)
{
    static struct hist h;
    ns_t p99;

    (void)state;
    for (ns_t v = 1; v <= 1000; v++) {
        hist_add(&h, v * 12345);
    }
    p99 = hist_quantile(&h, 990000);
    assert_in_range(p99, 990 * 12345, 990 * 12345 + 990 * 12345 / 64);
    assert_int_equal(hist_quantile(&h, 1000000), 1000 * 12345);
}

static void test_extremes(void **state)
{
    static struct hist h;

    (void)state;
    hist_add(&h, -5);
    hist_add(&h, NS_NEVER);
    assert_int_equal(h.count, 2);
    assert_int_equal(hist_quantile(&h, 500000), 0);
    assert_int_equal(hist_quantile(&h, 1000000), NS_NEVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_small_values_are_exact),
        cmocka_unit_test(test_large_values_within_a_64th),
        cmocka_unit_test(test_extremes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
