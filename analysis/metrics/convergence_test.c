/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/convergence.h"

#include "analysis/metrics/flow_set_test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define S NS_PER_S
#define near flow_set_test_near

static const struct rate_step constant[] = {{0, 1000000}};

static bool came(struct metric_time t, double s)
{
    return !t.never && near(t.s, s);
}

static bool never_came(struct metric_time t, double s)
{
    return t.never && near(t.s, s);
}

/* One call alone on 1 Mbit/s for 30 s. */
static int setup(void **state)
{
    static struct flow_set set;

    assert_int_equal(flow_set_init(&set, 30 * S), 0);
    set.capacity[0][0].schedule = (struct rate_schedule){.steps = constant, .count = 1};
    *state = &set;
    return 0;
}

static int teardown(void **state)
{
    flow_set_fini(*state);
    return 0;
}

static void test_reaches_its_share(void **state)
{
    struct flow_set *set = *state;
    struct path_flow *f = flow_set_test_add(set, "call1", 2 * S, 10 * S, 0.4e6);

    flow_set_test_send(f, 10 * S, 30 * S, 0.9e6);
    flow_set_finish(set);
    /* the second that begins at 10 s is the first of which all is at 0.9; that from 9.8 s on has
     * the mean 0.8, which is no 15 % of the share */
    assert_true(came(convergence_s(f, 2 * S, 30 * S), 8));
    assert_true(came(convergence_s(f, 20 * S, 30 * S), 0)); /* it is there */
    assert_true(came(convergence_all_s(set, false, 2 * S, 30 * S), 8));
    assert_true(isnan(convergence_all_s(set, true, 2 * S, 30 * S).s));
    /* three seconds of seconds need 3.8 s: in less of them it has not converged in 11.6 s */
    assert_true(never_came(convergence_s(f, 2 * S, 13600 * NS_PER_MS), 11.6));
    assert_true(came(convergence_s(f, 2 * S, 13800 * NS_PER_MS), 8));
}

static void test_passing_through_is_not_staying(void **state)
{
    struct flow_set *set = *state;
    struct path_flow *f = flow_set_test_add(set, "call1", 0, 3 * S, 0.9e6);

    flow_set_test_send(f, 3 * S, 12 * S, 1.5e6); /* too much is not there either */
    flow_set_test_send(f, 12 * S, 30 * S, 1.1e6);
    flow_set_finish(set);
    assert_true(came(convergence_s(f, 0, 30 * S), 12));
}

static void test_never(void **state)
{
    struct flow_set *set = *state;
    struct path_flow *f = flow_set_test_add(set, "call1", 0, 25 * S, 0.84e6);

    flow_set_finish(set);
    assert_true(never_came(convergence_s(f, 0, 15 * S), 15));
    assert_true(never_came(convergence_all_s(set, false, 0, 15 * S), 15));
    assert_true(never_came(convergence_s(f, 0, 30 * S), 25));
    assert_true(isnan(convergence_s(f, 0, 3600 * NS_PER_MS).s)); /* too short to tell */
    assert_true(isnan(convergence_s(f, 26 * S, 30 * S).s));
    assert_true(isnan(convergence_s(f, 40 * S, 50 * S).s));
}

static void test_all_wait_for_the_last(void **state)
{
    struct flow_set *set = *state;
    struct path_flow *first = flow_set_test_add(set, "call1", 0, 12 * S, 1e6), *second;

    second = flow_set_test_add(set, "call2", 10 * S, 15 * S, 0.2e6);
    flow_set_test_send(first, 12 * S, 30 * S, 0.5e6);
    flow_set_test_send(second, 15 * S, 30 * S, 0.5e6);
    flow_set_finish(set);
    /* from 14.8 s on a second has the mean 0.44, which is near enough */
    assert_true(came(convergence_s(second, 10 * S, 30 * S), 4.8));
    assert_true(came(convergence_s(first, 10 * S, 30 * S), 2));
    assert_true(came(convergence_all_s(set, false, 10 * S, 30 * S), 4.8));
}

/* The share of the others grows when one leaves. */
static void test_leaving(void **state)
{
    struct flow_set *set = *state;
    struct path_flow *first = flow_set_test_add(set, "call1", 0, 14 * S, 0.5e6);

    flow_set_test_add(set, "call2", 0, 10 * S, 0.5e6);
    flow_set_test_send(first, 14 * S, 30 * S, 1e6);
    flow_set_finish(set);
    assert_true(came(convergence_all_s(set, false, 10 * S, 30 * S), 3.8));
}

static void test_oscillations(void **state)
{
    struct flow_set *set = *state;
    struct path_flow *f = flow_set_test_add(set, "call1", 0, 30 * S, 0.5e6);

    /* 20.0: to four times at once; 20.4 back, within 400 ms; 25: slowly down, which is none. The
     * mean stays a little above 0.5. */
    flow_set_test_send(f, 20 * S, 20 * S + 2 * FLOW_SERIES_BIN, 1.0e6);
    f->series.bins[102].sent_bytes /= 10;
    f->series.bins[103].sent_bytes /= 10;
    f->series.bins[125].sent_bytes /= 10;
    flow_set_finish(set);
    assert_true(near(convergence_oscillations(set, f, 0, 30 * S), 1));
    assert_true(near(convergence_oscillations(set, f, 0, 15 * S), 0));
    assert_true(isnan(convergence_oscillations(set, f, 0, 2 * S))); /* not static yet */
}

static void test_variation(void **state)
{
    struct flow_set *set = *state;
    struct path_flow *f = flow_set_test_add(set, "call1", 0, 30 * S, 0.5e6);

    flow_set_finish(set);
    assert_true(near(1 + convergence_variation(set, f, 0, 30 * S), 1));
    for (size_t i = 0; i < f->series.count; i++) {
        if (i / FLOW_SERIES_PER_SECOND % 2) {
            f->series.bins[i].sent_bytes =
                3 * f->series.bins[i].sent_bytes + 2 * RATE_ETHERNET_OVERHEAD_BYTES;
        }
    }
    /* 1.5 and 0.5 by turns from 4 s to 14 s: mean 1, standard deviation of ten sqrt(10/9)/2 */
    assert_true(near(convergence_variation(set, f, 4 * S, 14 * S), sqrt(10 * 0.25 / 9)));
    assert_true(isnan(convergence_variation(set, f, 4 * S, 6 * S)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_reaches_its_share, setup, teardown),
        cmocka_unit_test_setup_teardown(test_passing_through_is_not_staying, setup, teardown),
        cmocka_unit_test_setup_teardown(test_never, setup, teardown),
        cmocka_unit_test_setup_teardown(test_all_wait_for_the_last, setup, teardown),
        cmocka_unit_test_setup_teardown(test_leaving, setup, teardown),
        cmocka_unit_test_setup_teardown(test_oscillations, setup, teardown),
        cmocka_unit_test_setup_teardown(test_variation, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
