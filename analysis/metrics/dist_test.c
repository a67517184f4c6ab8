/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/dist.h"

#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define same(a, b) assert_true(fabs((a) - (b)) < 1e-9)

static void test_nearest_rank(void **state)
{
    struct dist d = {0};
    struct dist_view v;

    (void)state;
    for (int i = 20; i >= 1; i--) {
        dist_add(&d, i, i);
    }
    dist_sort(&d);
    assert_int_equal(dist_view_init(&v, &d, 1, 21), 0);
    assert_int_equal(v.count, 20);
    same(dist_view_quantile(&v, 0), 1);
    same(dist_view_quantile(&v, 0.05), 1);
    same(dist_view_quantile(&v, 0.051), 2);
    same(dist_view_quantile(&v, 0.5), 10);
    same(dist_view_quantile(&v, 0.95), 19);
    same(dist_view_quantile(&v, 0.99), 20);
    same(dist_view_quantile(&v, 1), 20);
    same(dist_view_mean(&v), 10.5);
    same(dist_view_sd(&v), sqrt(35));
    dist_view_fini(&v);
    dist_fini(&d);
}

/* A window holds its start and not its end. */
static void test_window_bounds(void **state)
{
    struct dist d = {0};
    struct dist_view v;

    (void)state;
    dist_add(&d, 10, 1);
    dist_add(&d, 20, 2);
    dist_sort(&d);
    assert_int_equal(dist_view_init(&v, &d, 10, 20), 0);
    assert_int_equal(v.count, 1);
    same(dist_view_max(&v), 1);
    assert_true(isnan(dist_view_sd(&v)));
    dist_view_fini(&v);
    assert_int_equal(dist_view_init(&v, &d, 11, 20), 0);
    assert_int_equal(v.count, 0);
    assert_true(isnan(dist_view_mean(&v)));
    assert_true(isnan(dist_view_quantile(&v, 0.5)));
    dist_view_fini(&v);
    dist_fini(&d);
}

static void test_spans_count_by_their_duration(void **state)
{
    struct dist d = {0};
    struct dist_view v;

    (void)state;
    dist_add_span(&d, 0, 90, 4);
    dist_add_span(&d, 90, 100, 14);
    dist_sort(&d);
    assert_int_equal(dist_view_init(&v, &d, 0, 100), 0);
    same(dist_view_mean(&v), 5);
    same(dist_view_quantile(&v, 0.9), 4);
    same(dist_view_quantile(&v, 0.91), 14);
    dist_view_fini(&v);
    assert_int_equal(dist_view_init(&v, &d, 80, 200), 0); /* half of each */
    same(dist_view_mean(&v), 9);
    dist_view_fini(&v);
    dist_fini(&d);
}

/* Many samples, of both signs: their order, and what GSL makes of the same numbers. */
static void test_many_samples(void **state)
{
    enum { MANY = 4000 };
    static double values[MANY];
    struct dist d = {0};
    struct dist_view v;

    (void)state;
    for (int i = 0; i < MANY; i++) {
        values[i] = i % 7 == 0 ? 0 : (i % 2 ? -1 : 1) * (double)(i * 7919 % 10007) / 3;
        dist_add(&d, i, i % 14 == 0 ? -0.0 : values[i]);
    }
    dist_sort(&d);
    for (size_t i = 1; i < MANY; i++) {
        assert_true(d.samples[i - 1].value <= d.samples[i].value);
        assert_true(d.samples[i - 1].value < d.samples[i].value ||
                    d.samples[i - 1].time < d.samples[i].time);
    }
    assert_int_equal(dist_view_init(&v, &d, 0, MANY), 0);
    assert_int_equal(v.count, MANY);
    same(dist_view_mean(&v), gsl_stats_mean(values, 1, MANY));
    same(dist_view_sd(&v), gsl_stats_sd(values, 1, MANY));
    assert_true(dist_view_quantile(&v, 0.25) == d.samples[MANY / 4 - 1].value);
    assert_true(dist_view_max(&v) == d.samples[MANY - 1].value);
    dist_view_fini(&v);
    dist_fini(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nearest_rank),
        cmocka_unit_test(test_window_bounds),
        cmocka_unit_test(test_spans_count_by_their_duration),
        cmocka_unit_test(test_many_samples),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
