/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/flow_metrics.h"

#include "analysis/metrics/flow_set_test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define S NS_PER_S

static const struct rate_step first[] = {{0, 4000000}}, second[] = {{0, 1000000}};
static const struct rate_step back[] = {{0, 2000000}}, udp[] = {{0, 1000000}, {10 * S, 2000000}};

struct fixture {
    struct flow_set set;
    struct metric_set out;
};

static int setup(void **state)
{
    static struct fixture x;

    assert_int_equal(flow_set_init(&x.set, 20 * S), 0);
    assert_int_equal(metric_set_init(&x.out), 0);
    x.set.capacity[0][0].schedule = (struct rate_schedule){.steps = first, .count = 1};
    x.set.capacity[1][0].schedule = (struct rate_schedule){.steps = back, .count = 1};
    *state = &x;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *x = *state;

    flow_set_fini(&x->set);
    metric_set_fini(&x->out);
    return 0;
}

static double value(const struct fixture *x, const char *metric)
{
    json_t *v = json_object_get(json_object_get(x->out.root, metric), "whole");

    return json_is_number(v) ? json_number_value(v) : NAN;
}

static void check(const struct fixture *x, const char *metric, double wanted)
{
    if (!flow_set_test_near(value(x, metric), wanted)) {
        fail_msg("%s is %.9g, not %.9g", metric, value(x, metric), wanted);
    }
}

static void check_never(const struct fixture *x, const char *metric, double waited_s)
{
    struct metric_time t =
        metric_time_of(json_object_get(json_object_get(x->out.root, metric), "whole"));

    if (!t.never || !flow_set_test_near(t.s, waited_s)) {
        fail_msg("%s is %s %.9g", metric, t.never ? "never within" : "after", t.s);
    }
}

/* A flow at a rate all the time, as what the links carry, too. */
static struct path_flow *add(struct fixture *x, const char *name, unsigned segments, double bps)
{
    struct path_flow *f = flow_set_test_add(&x->set, name, 0, 20 * S, bps);

    f->segments = segments;
    for (ns_t t = 0; t < 20 * S; t += FLOW_SERIES_BIN) {
        flow_set_carry(&x->set, false, segments, t,
                       bps / 8 * ns_to_s(FLOW_SERIES_BIN) - RATE_ETHERNET_OVERHEAD_BYTES);
    }
    return f;
}

static void put(struct fixture *x)
{
    flow_set_find_steps(&x->set);
    flow_set_finish(&x->set);
    flow_metrics_put(&x->set, &x->out);
    assert_false(x->out.failed);
}

static void test_use_of_bottlenecks_in_line(void **state)
{
    struct fixture *x = *state;

    x->set.capacity[0][1].schedule = (struct rate_schedule){.steps = second, .count = 1};
    add(x, "call1", 3, 0.6e6);
    add(x, "call2", 1, 1e6);
    add(x, "call3", 2, 0.3e6);
    put(x);
    check(x, "path_utilisation_ratio", 1.6 / 4);
    check(x, "path2_utilisation_ratio", 0.9);
    assert_true(isnan(value(x, "path3_utilisation_ratio")));
    assert_true(isnan(value(x, "path_back_utilisation_ratio"))); /* only feedback */
    /* the first two cannot be compared: one crosses more than the other */
    assert_true(isnan(value(x, "self_fairness_ratio")));
}

static void test_use_of_what_udp_leaves(void **state)
{
    struct fixture *x = *state;

    x->set.taken[0].schedule = (struct rate_schedule){.steps = udp, .count = 2};
    add(x, "call1", 1, 1.5e6);
    add(x, "udp", 7, 1e6);
    put(x);
    check(x, "step0_path_utilisation_ratio", 1.5 / 3);
    check(x, "step1_path_utilisation_ratio", 1.5 / 2);
    check(x, "path_utilisation_ratio", 1.5 / 2.5);
    check_never(x, "step0_convergence_s", 10); /* half of the 3 Mbit/s */
    check(x, "udp.oscillation_count", 0);
    assert_true(isnan(value(x, "udp.convergence_s")));
}

static void test_arrival_and_departure(void **state)
{
    struct fixture *x = *state;
    struct path_flow *f = add(x, "call1", 1, 2e6);

    f->most_bps = 2e6;
    flow_set_test_add(&x->set, "call2", 5 * S, 12 * S, 2e6)->most_bps = 2e6;
    flow_set_test_add(&x->set, "call3", 13 * S, 20 * S, 0.1e6);
    flow_set_test_add(&x->set, "short-tcp", 6 * S, 8 * S, 2e6)->kind = FLOW_SHORT_TCP;
    put(x);
    check(x, "convergence_s", 0);
    check(x, "arrival_convergence_s", 0);
    check(x, "call2.arrival_convergence_s", 0);
    check(x, "call2.departure_convergence_s", 0);
    check_never(x, "call3.convergence_s", 7);
    check_never(x, "call3.arrival_convergence_s", 7);
    assert_true(isnan(value(x, "short_tcp.arrival_convergence_s")));
    assert_true(isnan(value(x, "departure_convergence_s")));
}

static void test_capacity(void **state)
{
    struct fixture *x = *state;
    json_t *c, *forward;

    x->set.taken[0].schedule = (struct rate_schedule){.steps = udp, .count = 2};
    add(x, "call1", 1, 1.5e6);
    put(x);
    c = flow_metrics_capacity(&x->set);
    forward = json_object_get(c, "forward");
    assert_int_equal(json_array_size(forward), 2);
    assert_int_equal(json_array_size(json_object_get(c, "backward")), 0);
    assert_true(json_number_value(json_object_get(json_array_get(forward, 1), "time_s")) == 10);
    assert_true(json_number_value(json_object_get(json_array_get(forward, 1), "bps")) == 2e6);
    json_decref(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_use_of_bottlenecks_in_line, setup, teardown),
        cmocka_unit_test_setup_teardown(test_use_of_what_udp_leaves, setup, teardown),
        cmocka_unit_test_setup_teardown(test_arrival_and_departure, setup, teardown),
        cmocka_unit_test_setup_teardown(test_capacity, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
