/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/fair_share.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-6 * fabs(b) + 1e-9;
}

static void test_one_link(void **state)
{
    static const double link[] = {3.5e6};
    static const struct fair_flow flows[] = {
        {1, 1.5e6, 1}, {1, 1.5e6, 1}, {1, 1.5e6, 1}, {1, 9e6, 0}};
    double out[4];

    (void)state;
    fair_share(link, 1, flows, 2, out); /* both have their most, a part of the link stays free */
    assert_true(near(out[0], 1.5e6) && near(out[1], 1.5e6));
    fair_share(link, 1, flows, 4, out);
    assert_true(near(out[0], 3.5e6 / 3) && near(out[2], 3.5e6 / 3));
    assert_true(out[3] == 0); /* takes no part */
}

static void test_what_one_leaves_is_the_others(void **state)
{
    static const double link[] = {2e6};
    static const struct fair_flow flows[] = {{1, 0.3e6, 1}, {1, INFINITY, 1}, {1, INFINITY, 1}};
    double out[3];

    (void)state;
    fair_share(link, 1, flows, 3, out);
    assert_true(near(out[0], 0.3e6));
    assert_true(near(out[1], 0.85e6) && near(out[2], 0.85e6));
}

static void test_weights(void **state)
{
    static const double link[] = {2e6};
    static const struct fair_flow flows[] = {{2, 1.5e6, 1}, {1, 1.5e6, 1}, {1, 1.5e6, 1}};
    double out[3];

    (void)state;
    fair_share(link, 1, flows, 3, out);
    assert_true(near(out[0], 1e6) && near(out[1], 0.5e6) && near(out[2], 0.5e6));
}

/* RFC 8867 section 6.3 with sources that know no bound: the first flow crosses all three links. */
static void test_links_in_line(void **state)
{
    static const double links[] = {2e6, 8e6, 1.5e6};
    static const struct fair_flow flows[] = {{1, INFINITY, 7}, {1, INFINITY, 1}, {1, INFINITY, 4}};
    double out[3];

    (void)state;
    fair_share(links, 3, flows, 3, out);
    assert_true(near(out[0], 0.75e6));
    assert_true(near(out[1], 1.25e6)); /* what the long one cannot use behind */
    assert_true(near(out[2], 0.75e6));
}

static void test_nothing_to_share(void **state)
{
    static const double link[] = {0};
    static const struct fair_flow flows[] = {{1, 1e6, 1}};
    double out[1] = {7};

    (void)state;
    fair_share(link, 1, flows, 1, out);
    assert_true(out[0] == 0);
    fair_share(link, 1, flows, 0, out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_link),
        cmocka_unit_test(test_what_one_leaves_is_the_others),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_links_in_line),
        cmocka_unit_test(test_nothing_to_share),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
