/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/cc/ce_response.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define MS NS_PER_MS
#define RTT (100 * MS)

static struct ce_response c;

static bool is(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

static void off_ignores_marks(void **state)
{
    (void)state;
    ce_response_init(&c, CC_ECN_OFF);
    assert_true(is(ce_response_marks(&c, 10, 10, RTT, 0), 1));
    assert_true(is(ce_response_marks(&c, 10, 10, RTT, NS_PER_S), 1));
}

static void classic_falls_once_per_round_trip(void **state)
{
    (void)state;
    ce_response_init(&c, CC_ECN_CLASSIC);
    assert_true(is(ce_response_marks(&c, 0, 10, RTT, 0), 1));
    assert_true(is(ce_response_marks(&c, 1, 10, RTT, 1), CE_CLASSIC_FACTOR));
    assert_true(is(ce_response_marks(&c, 10, 10, RTT, RTT), 1));
    assert_true(is(ce_response_marks(&c, 10, 10, RTT, RTT + 1), CE_CLASSIC_FACTOR));
    /* a short round trip counts for 25 ms, an unknown one for 200 */
    assert_true(is(ce_response_marks(&c, 1, 1, MS, RTT + 20 * MS), 1));
    assert_true(is(ce_response_marks(&c, 1, 1, MS, RTT + 1 + CE_ROUND_MIN), CE_CLASSIC_FACTOR));
    assert_true(is(ce_response_marks(&c, 1, 1, 0, RTT + 220 * MS), 1));
}

static void what_fell_already_does_not_fall_again(void **state)
{
    (void)state;
    for (int mode = CC_ECN_CLASSIC; mode <= CC_ECN_L4S; mode++) {
        ce_response_init(&c, (enum cc_ecn)mode);
        ce_response_marks(&c, 0, 1, RTT, 0);
        ce_response_reduced(&c, RTT + 1);
        assert_true(is(ce_response_marks(&c, 5, 5, RTT, 2 * RTT), 1));
        ce_response_marks(&c, 5, 5, RTT, 2 * RTT + 1);
        assert_true(ce_response_marks(&c, 5, 5, RTT, 3 * RTT + 1) < 1);
    }
}

/* alpha follows the share with a gain of 1/16 per round trip, and half of it is what is lost. */
static void l4s_falls_by_the_share_of_marks(void **state)
{
    double alpha = 0;

    (void)state;
    ce_response_init(&c, CC_ECN_L4S);
    for (int i = 0; i < 200; i++) {
        double factor = ce_response_marks(&c, 1, 4, RTT, i * RTT);

        if (i > 0) {
            alpha += (0.25 - alpha) / 16;
            assert_true(is(factor, 1 - alpha / 2));
            assert_true(is(c.alpha, alpha));
        }
    }
    assert_true(alpha > 0.249 && alpha < 0.25);
    /* without marks nothing falls, and the share fades */
    assert_true(is(ce_response_marks(&c, 0, 4, RTT, 200 * RTT), 1));
    assert_true(is(c.alpha, alpha * 15 / 16));
}

/* Feedbacks of one round trip are put together. */
static void l4s_counts_per_round_trip(void **state)
{
    (void)state;
    ce_response_init(&c, CC_ECN_L4S);
    for (int i = 0; i < 10; i++) {
        assert_true(is(ce_response_marks(&c, 1, 2, RTT, i * 10 * MS), 1));
    }
    assert_true(is(ce_response_marks(&c, 0, 20, RTT, RTT), 1 - 0.25 / 16 / 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(off_ignores_marks),
        cmocka_unit_test(classic_falls_once_per_round_trip),
        cmocka_unit_test(what_fell_already_does_not_fall_again),
        cmocka_unit_test(l4s_falls_by_the_share_of_marks),
        cmocka_unit_test(l4s_counts_per_round_trip),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
