/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/base/ns.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void addition_saturates(void **state)
{
    (void)state;
    assert_int_equal(ns_add(5, 7), 12);
    assert_int_equal(ns_add(-5, 7), 2);
    assert_true(ns_add(NS_NEVER, 0) == NS_NEVER);
    assert_true(ns_add(NS_NEVER, 1) == NS_NEVER);
    assert_true(ns_add(NS_NEVER - 1, 1) == NS_NEVER);
    assert_true(ns_add(NS_NEVER - 1, 2) == NS_NEVER);
    assert_true(ns_add(1, NS_NEVER) == NS_NEVER);
    assert_true(ns_add(INT64_MIN, NS_NEVER) == -1);
}

static void order(void **state)
{
    (void)state;
    assert_int_equal(ns_min(3, -3), -3);
    assert_int_equal(ns_max(3, -3), 3);
    assert_true(ns_min(NS_NEVER, 0) == 0);
    assert_int_equal(ns_clamp(5, 1, 4), 4);
    assert_int_equal(ns_clamp(0, 1, 4), 1);
    assert_int_equal(ns_clamp(2, 1, 4), 2);
}

static void units(void **state)
{
    (void)state;
    assert_true(NS_PER_S == 1000 * NS_PER_MS && NS_PER_MS == 1000 * NS_PER_US);
    assert_true(ns_to_s(1500 * NS_PER_MS) == 1.5);
    assert_true(ns_to_ms(-2500 * NS_PER_US) == -2.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addition_saturates),
        cmocka_unit_test(order),
        cmocka_unit_test(units),
    };

    return cmocka_run_group_tests_name("ns", tests, NULL, NULL);
}
