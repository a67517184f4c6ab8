/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Against values reckoned by hand. */
#include "analysis/report/statistics.h"

#include "agents/base/prng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool is(double value, double wanted)
{
    return fabs(value - wanted) < 1e-12;
}

static void test_interval(void **state)
{
    static const double same[] = {0.1, 0.1, 0.1}, two[] = {3, 5},
                        ten[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 10};
    double lo, hi, lo2, hi2;

    (void)state;
    statistics_interval(two, 0, "x", &lo, &hi);
    assert_true(isnan(lo) && isnan(hi));
    statistics_interval(two, 1, "x", &lo, &hi);
    assert_true(isnan(lo) && isnan(hi));
    statistics_interval(same, 3, "x", &lo, &hi);
    assert_true(lo == 0.1 && hi == 0.1);
    /* a quarter of the resamples of two values each has but one of them */
    statistics_interval(two, 2, "x", &lo, &hi);
    assert_true(lo == 3 && hi == 5);
    /* A resample of ten has the one 10 k times, by the binomial distribution of 10 and 1/10: never
     * in 34.9 % of them, at most twice in 93.0 %, at most three times in 98.7 %. So the mean k is
     * from 0 to 3. */
    statistics_interval(ten, 10, "x", &lo, &hi);
    assert_true(lo == 0 && is(hi, 3));
    statistics_interval(ten, 10, "x", &lo2, &hi2);
    assert_true(lo == lo2 && hi == hi2);
}

/* How often it holds the true mean of thirty values evenly from 0 to 1: about 94 times in 100. */
static void test_coverage(void **state)
{
    double x[30], lo, hi;
    struct prng random;
    int held = 0;

    (void)state;
    prng_init(&random, 3, "coverage");
    for (int i = 0; i < 200; i++) {
        for (int k = 0; k < 30; k++) {
            x[k] = prng_uniform(&random);
        }
        statistics_interval(x, 30, "x", &lo, &hi);
        held += lo <= 0.5 && 0.5 <= hi;
    }
    assert_true(held >= 178 && held <= 198);
}

static void test_median_and_fences(void **state)
{
    static const double four[] = {1, 2, 3, 4}, five[] = {1, 2, 3, 4, 100};
    double lo, hi;

    (void)state;
    assert_true(isnan(statistics_median(four, 0)));
    assert_true(is(statistics_median(four, 4), 2.5));
    assert_true(is(statistics_median(five, 5), 3));
    statistics_fences(five, 0, &lo, &hi);
    assert_true(isnan(lo) && isnan(hi));
    /* quartiles 2 and 4 */
    statistics_fences(five, 5, &lo, &hi);
    assert_true(is(lo, -1) && is(hi, 7));
    /* quartiles 1.75 and 3.25, between two values */
    statistics_fences(four, 4, &lo, &hi);
    assert_true(is(lo, -0.5) && is(hi, 5.5));
    statistics_fences(five, 1, &lo, &hi);
    assert_true(lo == 1 && hi == 1);
}

static void test_effect(void **state)
{
    static const double d[] = {1, 2, 3}, other[] = {-2, 4, -2, 4}, same[] = {2, 2, 2};

    (void)state;
    assert_true(isnan(statistics_effect(d, 0)) && isnan(statistics_effect(d, 1)));
    assert_true(isnan(statistics_effect(same, 3)));
    assert_true(is(statistics_effect(d, 3), 2)); /* mean 2, deviation 1 */
    assert_true(is(statistics_effect(other, 4), 1 / sqrt(12)));
}

static void test_dominance(void **state)
{
    static const double a[] = {1, 2}, b[] = {2, 3}, c[] = {9, 0};

    (void)state;
    assert_true(isnan(statistics_dominance(a, b, 0)));
    assert_true(is(statistics_dominance(a, b, 2), 0.75)); /* three of four above, one equal */
    assert_true(is(statistics_dominance(b, a, 2), -0.75));
    assert_true(is(statistics_dominance(a, c, 2), 0)); /* two above, two below */
    assert_true(is(statistics_dominance(a, a, 2), 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interval),          cmocka_unit_test(test_coverage),
        cmocka_unit_test(test_median_and_fences), cmocka_unit_test(test_effect),
        cmocka_unit_test(test_dominance),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
