/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/cc/link_capacity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void knows_nothing_at_first(void **state)
{
    struct link_capacity l;

    (void)state;
    link_capacity_init(&l);
    assert_false(l.known);
    assert_int_equal(link_capacity_lower(&l), 0);
    assert_true(link_capacity_upper(&l) == INT64_MAX);
}

static void averages_and_bounds(void **state)
{
    struct link_capacity l;

    (void)state;
    link_capacity_init(&l);
    link_capacity_overuse(&l, 1000000);
    assert_int_equal(link_capacity_estimate(&l), 1000000);
    /* the least variance, 0.4: three times sqrt(0.4 x 1000) = 20 kbit/s */
    assert_int_equal(link_capacity_upper(&l), 1060000);
    assert_int_equal(link_capacity_lower(&l), 940000);
    link_capacity_overuse(&l, 1200000);
    assert_int_equal(link_capacity_estimate(&l), 1010000); /* 0.95 x 1000 + 0.05 x 1200 */
    /* error 190: 0.95 x 0.4 + 0.05 x 190^2 / 1010 = 2.167; 3 sqrt(2.167 x 1010) = 140.4 */
    assert_in_range(link_capacity_upper(&l), 1150000, 1150700);
    for (int i = 0; i < 50; i++) {
        link_capacity_overuse(&l, i % 2 ? 100000 : 2000000);
    }
    assert_true(l.variance_kbps <= 2.5);
    assert_true(link_capacity_lower(&l) >= 0);
    link_capacity_reset(&l);
    assert_false(l.known);
    link_capacity_overuse(&l, 300000);
    assert_int_equal(link_capacity_estimate(&l), 300000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_nothing_at_first),
        cmocka_unit_test(averages_and_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
