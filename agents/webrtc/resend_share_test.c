/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/webrtc/resend_share.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void test_share_of_the_last_second(void **state)
{
    struct resend_share r = {0};
    ns_t t = 0;

    (void)state;
    assert_int_equal(resend_share_ppm(&r, 0), 0);
    for (; t < 3 * NS_PER_S; t += 10 * NS_PER_MS) {
        resend_share_add(&r, 1000, t >= 2 * NS_PER_S && t / (10 * NS_PER_MS) % 4 == 0, t);
    }
    assert_int_equal(resend_share_ppm(&r, t - 1), 250000);
    for (; t < 4 * NS_PER_S; t += 10 * NS_PER_MS) {
        resend_share_add(&r, 1000, false, t);
        assert_true(resend_share_ppm(&r, t) <= 250000);
    }
    assert_int_equal(resend_share_ppm(&r, t - 1), 0);
}

static void test_never_more_than_half(void **state)
{
    struct resend_share r = {0};

    (void)state;
    for (int i = 0; i < 10; i++) {
        resend_share_add(&r, 1000, i > 1, NS_PER_S);
    }
    assert_int_equal(resend_share_ppm(&r, NS_PER_S), RESEND_SHARE_MAX_PPM);
    assert_int_equal(resend_share_ppm(&r, 60 * NS_PER_S), 0); /* a pause forgets */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_share_of_the_last_second),
        cmocka_unit_test(test_never_more_than_half),
    };

    return cmocka_run_group_tests_name("resend share", tests, NULL, NULL);
}
