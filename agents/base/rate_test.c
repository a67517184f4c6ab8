/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/base/rate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define GBIT INT64_C(1000000000)

static void duration_is_rounded_up(void **state)
{
    (void)state;
    assert_int_equal(rate_duration(1000000, 1500), 12 * NS_PER_MS);
    assert_int_equal(rate_duration(3, 1), 2666666667);
    assert_int_equal(rate_duration(8 * GBIT, 1), 1);
    assert_int_equal(rate_duration(40 * GBIT, 1), 1);
    assert_int_equal(rate_duration(5000000, 0), 0);
}

static void duration_saturates(void **state)
{
    (void)state;
    assert_true(rate_duration(1, INT64_MAX) == NS_NEVER);
    assert_true(rate_duration(1, GBIT) == 8 * GBIT * NS_PER_S);
    assert_true(rate_duration(1, 2 * GBIT) == NS_NEVER);
}

static void bytes_are_rounded_down(void **state)
{
    (void)state;
    assert_int_equal(rate_bytes(1000000, 12 * NS_PER_MS), 1500);
    assert_int_equal(rate_bytes(1000000, 12 * NS_PER_MS - 1), 1499);
    assert_int_equal(rate_bytes(1000000, 7999), 0);
    assert_int_equal(rate_bytes(100 * GBIT, 1000 * NS_PER_S),
                     12500 * GBIT); /* beyond 2^64 bit ns */
}

static void the_conversions_agree(void **state)
{
    static const bps_t rates[] = {1, 400000, 999983, 5000000, 10 * GBIT};

    (void)state;
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        for (int64_t bytes = 1; bytes < 100000; bytes = bytes * 3 + 1) {
            ns_t t = rate_duration(rates[i], bytes);
            assert_true(rate_bytes(rates[i], t) >= bytes);
            assert_true(rate_bytes(rates[i], t - 1) < bytes);
        }
    }
}

static void mean_rate(void **state)
{
    (void)state;
    assert_int_equal(rate_of(1500, 12 * NS_PER_MS), 1000000);
    assert_int_equal(rate_of(0, 1), 0);
    assert_int_equal(rate_of(1, 3 * NS_PER_S), 2);
    assert_true(rate_of(INT64_C(1) << 50, NS_PER_S) == INT64_C(1) << 53);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(duration_is_rounded_up),
        cmocka_unit_test(duration_saturates),
        cmocka_unit_test(bytes_are_rounded_down),
        cmocka_unit_test(the_conversions_agree),
        cmocka_unit_test(mean_rate),
    };

    return cmocka_run_group_tests_name("rate", tests, NULL, NULL);
}
