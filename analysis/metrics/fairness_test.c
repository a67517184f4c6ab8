/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/fairness.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool is(double value, double wanted)
{
    return fabs(value - wanted) < 1e-12;
}

static void test_index(void **state)
{
    static const double even[] = {7, 7, 7}, uneven[] = {1, 2, 3}, one[] = {0, 5, 0, 0};

    (void)state;
    assert_true(isnan(fairness_index(even, 0)));
    assert_true(isnan(fairness_index(one, 1)));
    assert_true(is(fairness_index(even, 3), 1));
    assert_true(is(fairness_index(uneven, 3), 36.0 / 42)); /* 6^2 / (3 x 14) */
    assert_true(is(fairness_index(one, 4), 0.25));
}

/* What is found of a run; NAN: nothing. */
static double found(const struct traffic *t, const struct run_data *d, struct metric_set *m,
                    const char *window)
{
    json_t *v;

    assert_int_equal(fairness_put(t, d, m), 0);
    v = json_object_get(json_object_get(m->root, "fairness_ratio"), window);
    return v ? json_number_value(v) : NAN;
}

static void test_call_and_file(void **state)
{
    const struct traffic none = {0};
    const struct run_data d = {0};
    struct metric_set m;

    (void)state;
    assert_int_equal(metric_set_init(&m), 0);
    metric_set_put(&m, "media_goodput_bps", WINDOW_DURING, 3e6);
    assert_true(isnan(found(&none, &d, &m, "during"))); /* alone */
    metric_set_put(&m, "file_goodput_bps", WINDOW_DURING, 1e6);
    assert_true(is(found(&none, &d, &m, "during"), 16.0 / 20)); /* 4^2 / (2 x 10) */
    assert_true(isnan(found(&none, &d, &m, "whole")));
    metric_set_fini(&m);
}

static void test_flows_of_programs(void **state)
{
    struct flow flows[4] = {[2] = {.reverse = true}};
    struct traffic_flow sums[] = {{.goodput_bytes = 1000},
                                  {.goodput_bytes = 3000},
                                  {.goodput_bytes = 500},
                                  {.goodput_bytes = 39}}; /* controls the others */
    struct traffic t = {.flows = sums, .count = 4, .all = {.goodput_bytes = 4039}};
    const struct run_data d = {.flows = {.flows = flows, .count = 4}};
    struct metric_set m;

    (void)state;
    assert_int_equal(metric_set_init(&m), 0);
    assert_true(is(found(&t, &d, &m, "whole"), 0.8));
    metric_set_fini(&m);
    assert_int_equal(metric_set_init(&m), 0);
    sums[1].goodput_bytes = 0;
    t.all.goodput_bytes = 1039;
    sums[3].goodput_bytes = 10; /* one flow is left */
    assert_true(isnan(found(&t, &d, &m, "whole")));
    metric_set_fini(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_index),
        cmocka_unit_test(test_call_and_file),
        cmocka_unit_test(test_flows_of_programs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
