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

/* What a distribution that folds beyond `kept` says, against one that keeps all. */
static void is_near(const struct dist_view *folded, const struct dist_view *exact, double from)
{
    static const double fractions[] = {0, 0.001, 0.05, 0.5, 0.95, 0.99, 0.999, 1};

    assert_true(folded->folded && !exact->folded);
    for (size_t i = 0; i < sizeof fractions / sizeof *fractions; i++) {
        double wanted = dist_view_quantile(exact, fractions[i]);
        double off = fabs(dist_view_quantile(folded, fractions[i]) - wanted);

        assert_true(off <= fmax(DIST_ERROR * fabs(wanted - from), DIST_LEAST));
    }
    assert_true(dist_view_max(folded) == dist_view_max(exact));
    assert_true(fabs(dist_view_mean(folded) / dist_view_mean(exact) - 1) < 1e-12);
    assert_true(fabs(dist_view_sd(folded) / dist_view_sd(exact) - 1) < 1e-9);
}

static double less_ten(double v, const void *ctx)
{
    (void)ctx;
    return v / 2 - 10;
}

/* Delays between 20 ms and some seconds in two windows, of which most come when no more are kept.
 */
static void test_folded(void **state)
{
    enum { MANY = 20000, KEPT = 1000 };
    static const struct dist_window windows[] = {{0, MANY}, {500, 12000}};
    struct dist folded, exact = {0}, copy;
    uint64_t random = 7;

    (void)state;
    dist_bound(&folded, KEPT, windows, 2);
    for (int i = 0; i < MANY; i++) {
        double value;

        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        value = 20 + exp((double)(random >> 40) / (1 << 24) * 12 - 4);
        dist_add(&folded, i, i == 300 ? 20 : value);
        dist_add(&exact, i, i == 300 ? 20 : value);
        assert_int_equal(folded.bins != NULL, i >= KEPT);
    }
    dist_sort(&folded);
    dist_sort(&exact);
    dist_copy(&copy, &folded);
    dist_map(&copy, less_ten, NULL);
    for (size_t i = 0; i < 2; i++) {
        struct dist_view v, w, mapped;

        assert_int_equal(dist_view_init(&v, &folded, windows[i].start, windows[i].end), 0);
        assert_int_equal(dist_view_init(&w, &exact, windows[i].start, windows[i].end), 0);
        assert_int_equal(dist_view_init(&mapped, &copy, windows[i].start, windows[i].end), 0);
        is_near(&v, &w, 20);
        same(dist_view_mean(&mapped), dist_view_mean(&v) / 2 - 10);
        same(dist_view_sd(&mapped), dist_view_sd(&v) / 2);
        same(dist_view_quantile(&mapped, 0.7), dist_view_quantile(&v, 0.7) / 2 - 10);
        dist_view_fini(&v);
        dist_view_fini(&w);
        dist_view_fini(&mapped);
    }
    dist_fini(&folded);
    dist_fini(&exact);
    dist_fini(&copy);
}

/* Values of both signs, weighed by how long they held. */
static void test_folded_spans(void **state)
{
    enum { MANY = 5000 };
    static const struct dist_window whole = {0, 3 * MANY};
    struct dist folded, exact = {0};
    struct dist_view v, w;

    (void)state;
    dist_bound(&folded, 100, &whole, 1);
    folded.from_zero = true;
    for (int i = 0; i < MANY; i++) {
        double value = (double)(i * 7919 % 10007) - 3000;

        dist_add_span(&folded, 3 * i, 3 * i + 1 + i % 3, value);
        dist_add_span(&exact, 3 * i, 3 * i + 1 + i % 3, value);
    }
    dist_sort(&folded);
    dist_sort(&exact);
    assert_int_equal(dist_view_init(&v, &folded, whole.start, whole.end), 0);
    assert_int_equal(dist_view_init(&w, &exact, whole.start, whole.end), 0);
    is_near(&v, &w, 0);
    dist_view_fini(&v);
    dist_view_fini(&w);
    dist_fini(&folded);
    dist_fini(&exact);
}

/* Two that have folded or not, put together. */
static void test_add_all(void **state)
{
    static const struct dist_window whole = {0, 1000};

    (void)state;
    for (int kept = 100; kept <= 1000; kept += 100) {
        struct dist both, part, exact = {0};
        struct dist_view v, w;

        dist_bound(&both, (size_t)kept, &whole, 1);
        dist_bound(&part, (size_t)kept, &whole, 1);
        both.from_zero = part.from_zero = true;
        for (int i = 0; i < 1000; i++) {
            dist_add(i < 400 ? &both : &part, i, 1 + i * i % 997);
            dist_add(&exact, i, 1 + i * i % 997);
        }
        dist_add_all(&both, &part);
        assert_int_equal(both.count, 1000);
        dist_sort(&both);
        dist_sort(&exact);
        assert_int_equal(dist_view_init(&v, &both, 0, 1000), 0);
        assert_int_equal(dist_view_init(&w, &exact, 0, 1000), 0);
        if (kept < 1000) {
            is_near(&v, &w, 0);
        } else {
            assert_true(dist_view_quantile(&v, 0.5) == dist_view_quantile(&w, 0.5));
        }
        dist_view_fini(&v);
        dist_view_fini(&w);
        dist_fini(&both);
        dist_fini(&part);
        dist_fini(&exact);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nearest_rank),
        cmocka_unit_test(test_window_bounds),
        cmocka_unit_test(test_spans_count_by_their_duration),
        cmocka_unit_test(test_many_samples),
        cmocka_unit_test(test_folded),
        cmocka_unit_test(test_folded_spans),
        cmocka_unit_test(test_add_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
