/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/flow_fairness.h"

#include "analysis/metrics/flow_set_test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define S NS_PER_S

/* A packet's Ethernet header is no throughput: rates of IP bytes differ by a little. */
static bool near(double a, double b)
{
    return fabs(a - b) <= 0.01 * fabs(b);
}

static const struct rate_step constant[] = {{0, 4000000}};

static int setup(void **state)
{
    static struct flow_set set;

    assert_int_equal(flow_set_init(&set, 60 * S), 0);
    set.capacity[0][0].schedule = (struct rate_schedule){.steps = constant, .count = 1};
    *state = &set;
    return 0;
}

static int teardown(void **state)
{
    flow_set_fini(*state);
    return 0;
}

static void test_alone(void **state)
{
    struct flow_set *set = *state;

    flow_set_test_add(set, "call1", 0, 60 * S, 1e6);
    flow_set_finish(set);
    assert_true(isnan(flow_fairness_self(set, S).min));
    assert_true(isnan(flow_fairness_cross(set, S).max));
    assert_true(isnan(flow_fairness_index(set, false)));
}

static void test_two_calls(void **state)
{
    struct flow_set *set = *state;
    struct path_flow *second;

    flow_set_test_add(set, "call1", 0, 60 * S, 1e6);
    second = flow_set_test_add(set, "call2", 10 * S, 33 * S, 1e6);
    flow_set_test_send(second, 33 * S, 60 * S, 2e6);
    flow_set_finish(set);
    /* static and together from 13 s on, in intervals of 20 s: the first ends at 33 s */
    assert_true(near(flow_fairness_self(set, 20 * S).max, 1));
    assert_true(near(flow_fairness_self(set, 20 * S).min, 0.5));
    assert_true(near(flow_fairness_self(set, S).max, 1));
    assert_true(isnan(flow_fairness_self(set, 50 * S).min));
    /* the last 40 s: 40 against 13 + 54 */
    assert_true(near(flow_fairness_index(set, false),
                     (40 + 67.) * (40 + 67.) / (2 * (40 * 40. + 67 * 67))));
}

static void test_priority_is_no_unfairness(void **state)
{
    struct flow_set *set = *state;

    flow_set_test_add(set, "call1", 0, 60 * S, 2e6)->weight = 2;
    flow_set_test_add(set, "call2", 0, 60 * S, 1e6);
    flow_set_finish(set);
    assert_true(near(flow_fairness_self(set, 5 * S).min, 1));
    assert_true(near(flow_fairness_index(set, false), 1));
}

static void test_others(void **state)
{
    struct flow_set *set = *state;

    flow_set_test_add(set, "call1", 5 * S, 60 * S, 0.5e6);
    flow_set_test_add(set, "tcp", 0, 60 * S, 1.5e6);
    flow_set_test_add(set, "udp", 0, 60 * S, 1e6);
    flow_set_test_add(set, "call2", 0, 60 * S, 3e6)->backward = true;
    flow_set_test_add(set, "call3", 0, 60 * S, 3e6)->segments = 2;
    flow_set_finish(set);
    assert_true(near(flow_fairness_cross(set, 5 * S).min, 1 / 3.));
    assert_true(near(flow_fairness_cross(set, 5 * S).max, 1 / 3.));
    assert_true(isnan(flow_fairness_self(set, S).min)); /* nobody to compare with */
    assert_true(near(flow_fairness_index(set, true), 4 / (2 * 2.5)));
    assert_true(isnan(flow_fairness_index(set, false)));
}

/* One that gets nothing makes a number, too. */
static void test_starved(void **state)
{
    struct flow_set *set = *state;
    struct path_flow *f;

    flow_set_test_add(set, "call1", 0, 60 * S, 1e6);
    f = flow_set_test_add(set, "call2", 0, 60 * S, 1e6);
    for (size_t i = 0; i < f->series.count; i++) {
        f->series.bins[i].received_bytes = 0;
    }
    flow_set_finish(set);
    assert_true(flow_fairness_self(set, S).max > 1e5);
    assert_true(near(flow_fairness_index(set, false), 0.5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(test_two_calls, setup, teardown),
        cmocka_unit_test_setup_teardown(test_priority_is_no_unfairness, setup, teardown),
        cmocka_unit_test_setup_teardown(test_others, setup, teardown),
        cmocka_unit_test_setup_teardown(test_starved, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
