/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/base/rate_schedule.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define S NS_PER_S
#define MBIT INT64_C(1000000)

static const struct rate_step steps[] = {{0, 5 * MBIT}, {30 * S, MBIT}, {60 * S, 4 * MBIT}};
static const struct rate_schedule once = {steps, 3, 0}, over = {steps, 3, 100 * S},
                                  constant = {steps, 1, 0};

static void rates_by_time(void **state)
{
    static const struct {
        ns_t at;
        bps_t once, over;
    } cases[] = {
        {0, 5 * MBIT, 5 * MBIT},
        {30 * S - 1, 5 * MBIT, 5 * MBIT},
        {30 * S, MBIT, MBIT},
        {60 * S, 4 * MBIT, 4 * MBIT},
        {100 * S - 1, 4 * MBIT, 4 * MBIT},
        {100 * S, 4 * MBIT, 5 * MBIT},
        {130 * S, 4 * MBIT, MBIT},
        {1000000 * S + 59 * S, 4 * MBIT, MBIT},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(rate_schedule_at(&once, cases[i].at), cases[i].once);
        assert_int_equal(rate_schedule_at(&over, cases[i].at), cases[i].over);
        assert_int_equal(rate_schedule_at(&constant, cases[i].at), 5 * MBIT);
    }
    assert_int_equal(rate_schedule_min(&over), MBIT);
    assert_int_equal(rate_schedule_max(&over), 5 * MBIT);
    assert_int_equal(rate_schedule_min(&constant), 5 * MBIT);
}

static void cursor_goes_round(void **state)
{
    static const ns_t times[] = {30 * S, 60 * S, 100 * S, 130 * S, 160 * S, 200 * S};
    static const bps_t rates[] = {MBIT, 4 * MBIT, 5 * MBIT, MBIT, 4 * MBIT, 5 * MBIT};
    struct rate_cursor c;

    (void)state;
    rate_cursor_init(&c, &over);
    assert_int_equal(rate_cursor_rate(&c), 5 * MBIT);
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        assert_int_equal(rate_cursor_next(&c), times[i]);
        rate_cursor_advance(&c);
        assert_int_equal(rate_cursor_rate(&c), rates[i]);
    }
    rate_cursor_init(&c, &once);
    rate_cursor_advance(&c);
    rate_cursor_advance(&c);
    assert_int_equal(rate_cursor_next(&c), NS_NEVER);
    rate_cursor_init(&c, &constant);
    assert_int_equal(rate_cursor_next(&c), NS_NEVER);
}

static void same(double a, double b)
{
    assert_true(fabs(a - b) < 1);
}

static void integral_and_its_inverse(void **state)
{
    (void)state;
    same(rate_schedule_bits(&once, 0, 100 * S), 150e6 + 30e6 + 160e6);
    same(rate_schedule_bits(&once, 29 * S, 31 * S), 6e6);
    same(rate_schedule_bits(&over, 90 * S, 140 * S), 40e6 + 150e6 + 10e6);
    same(rate_schedule_bits(&constant, 7 * S, 8 * S), 5e6);
    same(rate_schedule_bits(&once, 8 * S, 8 * S), 0);
    same(rate_schedule_bits(&once, 8 * S, 7 * S), 0);

    assert_int_equal(rate_schedule_end(&once, 29 * S, 6e6), 31 * S);
    assert_int_equal(rate_schedule_end(&once, 0, 150e6), 30 * S);
    assert_int_equal(rate_schedule_end(&over, 90 * S, 200e6), 140 * S);
    assert_int_equal(rate_schedule_end(&constant, 2 * S, 5e6), 3 * S);
    assert_int_equal(rate_schedule_end(&constant, 2 * S, 0), 2 * S);
    assert_int_equal(rate_schedule_end(&over, 90 * S, 200e6 + 3 * 340e6), 440 * S);
    assert_int_equal(rate_schedule_end(&once, 0, 1e30), NS_NEVER);
    assert_int_equal(rate_schedule_end(&over, 0, 1e30), NS_NEVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_by_time),
        cmocka_unit_test(cursor_goes_round),
        cmocka_unit_test(integral_and_its_inverse),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
