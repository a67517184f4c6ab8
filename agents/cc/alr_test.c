/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/cc/alr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define MS NS_PER_MS

static void a_source_at_the_estimate_is_not_limited(void **state)
{
    struct alr a;

    (void)state;
    alr_init(&a, 1000000);
    for (int i = 0; i < 1000; i++) {
        alr_on_sent(&a, 1250, i * 10 * MS); /* 1 Mbit/s */
        assert_false(alr_active(&a));
    }
}

static void a_quiet_source_is_limited_after_its_budget_is_two_fifths_full(void **state)
{
    struct alr a;

    (void)state;
    alr_init(&a, 1000000);
    /* fills with 80 %, 1000 bytes per 10 ms; 500 are spent: 500 a step of the 20000 that count
     * as 40 % of 500 ms */
    for (int i = 0; i <= 40; i++) {
        alr_on_sent(&a, 500, i * 10 * MS);
    }
    assert_false(alr_active(&a));
    alr_on_sent(&a, 500, 410 * MS);
    assert_true(alr_active(&a));
    assert_int_equal(a.since, 410 * MS);
    /* it ends only when 60 % are overdrawn */
    for (int i = 0; i < 40; i++) {
        alr_on_sent(&a, 2000, 420 * MS + i * 10 * MS);
    }
    assert_true(alr_active(&a));
    for (int i = 0; i < 40; i++) {
        alr_on_sent(&a, 2000, 820 * MS + i * 10 * MS);
    }
    assert_false(alr_active(&a));
}

static void a_lower_estimate_shrinks_the_budget(void **state)
{
    struct alr a;

    (void)state;
    alr_init(&a, 1000000);
    alr_on_sent(&a, 0, 0);
    alr_on_sent(&a, 0, 10 * NS_PER_S);
    assert_true(a.budget_bytes == 50000);
    alr_set_estimate(&a, 100000);
    assert_true(a.budget_bytes == 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_source_at_the_estimate_is_not_limited),
        cmocka_unit_test(a_quiet_source_is_limited_after_its_budget_is_two_fifths_full),
        cmocka_unit_test(a_lower_estimate_shrinks_the_budget),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
