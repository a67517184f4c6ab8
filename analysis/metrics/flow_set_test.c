/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/flow_set.h"

#include "analysis/metrics/flow_set_test.h"
#include "analysis/metrics/steps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define S NS_PER_S
#define near flow_set_test_near

static const struct rate_step varying[] = {{0, 4000000}, {10 * S, 2000000}, {20 * S, 3000000}};
static const struct rate_step constant[] = {{0, 4000000}};
static const struct rate_step udp[] = {{0, 0}, {5 * S, 1000000}, {10 * S, 3000000}};

static int setup(void **state)
{
    static struct flow_set set;

    assert_int_equal(flow_set_init(&set, 30 * S), 0);
    *state = &set;
    return 0;
}

static int teardown(void **state)
{
    flow_set_fini(*state);
    return 0;
}

static size_t bin(ns_t t)
{
    return (size_t)(t / FLOW_SERIES_BIN);
}

static void test_series(void **state)
{
    struct flow_series s;

    (void)state;
    assert_int_equal(flow_series_init(&s, 2 * S + NS_PER_MS), 0);
    assert_int_equal(s.count, 10);
    flow_series_packet(&s, 0, 300 * NS_PER_MS, 986);
    flow_series_packet(&s, 100 * NS_PER_MS, NS_NEVER, 986);
    flow_series_packet(&s, 1900 * NS_PER_MS, 2100 * NS_PER_MS, 986); /* arrives behind the end */
    flow_series_packet(&s, -5, 5 * S, 986);
    flow_series_goodput(&s, 350 * NS_PER_MS, 900);
    assert_int_equal(s.bins[0].sent_packets, 2);
    assert_int_equal(s.bins[0].lost_packets, 1);
    assert_int_equal(s.bins[0].delayed, 1);
    assert_true(near(s.bins[0].delay_sum_ms, 300));
    assert_int_equal(s.bins[1].received_packets, 1);
    assert_true(near(s.bins[1].goodput_bytes, 900));
    assert_true(near(flow_series_sent_bps(&s, 0), 16000)); /* 2 x 1000 bytes in a second */
    assert_true(near(flow_series_bin_sent_bps(&s, 0), 80000));
    assert_true(near(flow_series_bin_received_bps(&s, 1), 40000));
    assert_true(near(flow_series_sent_bps(&s, 9), 40000)); /* the last 200 ms */
    assert_true(flow_series_sent_bps(&s, 10) == 0);
    assert_int_equal(flow_series_at(&s, 1999 * NS_PER_MS), 9);
    assert_int_equal(flow_series_at(&s, 99 * S), 10);
    flow_series_fini(&s);
}

static void test_steps(void **state)
{
    struct flow_set *set = *state;
    struct steps steps;
    char name[STEPS_NAME_MAX];

    set->capacity[0][0].schedule = (struct rate_schedule){.steps = varying, .count = 3};
    set->capacity[1][0].schedule = (struct rate_schedule){.steps = constant, .count = 1};
    set->taken[1].schedule = (struct rate_schedule){.steps = udp, .count = 3};
    flow_set_find_steps(set);
    assert_int_equal(set->event_count, 4);
    assert_true(set->events[0].at == 5 * S && set->events[0].backward && set->events[0].down);
    assert_true(set->events[3].at == 20 * S && !set->events[3].backward && !set->events[3].down);
    assert_true(near(flow_set_capacity_bps(set, false, 10 * S), 2e6));
    assert_true(near(flow_set_capacity_bps(set, true, 10 * S), 1e6));
    steps_init(&steps, set, false);
    assert_int_equal(steps.count, 3);
    assert_true(steps.at[1].start == 10 * S && steps.at[1].end == 20 * S);
    assert_true(steps.at[2].end == 30 * S);
    steps_init(&steps, set, true);
    assert_int_equal(steps.count, 3);
    assert_true(steps.at[1].start == 5 * S);
    assert_string_equal(steps_name(name, 2, "loss_ratio"), "step2_loss_ratio");
}

/* A rate that changes with what UDP takes leaves one step, at most. */
static void test_steps_of_both_at_once(void **state)
{
    static const struct rate_step rate[] = {{0, 4000000}, {10 * S, 2000000}};
    static const struct rate_step same[] = {{0, 2000000}, {10 * S, 1000000}};
    static const struct rate_step evens_out[] = {{0, 3000000}, {10 * S, 1000000}};
    struct flow_set *set = *state;
    struct steps steps;

    set->capacity[0][0].schedule = (struct rate_schedule){.steps = rate, .count = 2};
    set->taken[0].schedule = (struct rate_schedule){.steps = same, .count = 2};
    flow_set_find_steps(set);
    assert_int_equal(set->event_count, 1);
    set->event_count = 0;
    set->taken[0].schedule.steps = evens_out;
    flow_set_find_steps(set);
    assert_int_equal(set->event_count, 0);
    steps_init(&steps, set, false);
    assert_int_equal(steps.count, 0);
}

static void test_more_steps_than_are_told(void **state)
{
    struct rate_step many[STEPS_MAX + 1];
    struct flow_set *set = *state;
    struct steps steps;

    for (int i = 0; i <= STEPS_MAX; i++) {
        many[i] = (struct rate_step){i * S, 1000000 + i};
    }
    set->capacity[0][0].schedule = (struct rate_schedule){.steps = many, .count = STEPS_MAX + 1};
    steps_init(&steps, set, false);
    assert_int_equal(steps.count, 0);
    set->capacity[0][0].schedule.count = STEPS_MAX;
    steps_init(&steps, set, false);
    assert_int_equal(steps.count, STEPS_MAX);
}

static void test_who_comes_and_goes(void **state)
{
    struct flow_set *set = *state;
    struct path_flow *paused;

    set->capacity[0][0].schedule = (struct rate_schedule){.steps = constant, .count = 1};
    flow_set_test_add(set, "call1", 0, 30 * S, 1e6)->most_bps = 3e6;
    paused = flow_set_test_add(set, "call2", 5 * S, 10 * S, 1e6);
    flow_set_test_send(paused, 20 * S, 30 * S, 1e6);
    flow_set_test_add(set, "tcp", 25 * S, 30 * S, 1e6);
    flow_set_find_steps(set);
    flow_set_finish(set);
    assert_int_equal(set->event_count, 5);
    assert_true(set->events[0].at == 0 && set->events[0].flow == 0);
    assert_true(set->events[1].at == 5 * S && set->events[1].kind == FLOW_EVENT_ARRIVAL);
    assert_true(set->events[2].at == 10 * S && set->events[2].kind == FLOW_EVENT_DEPARTURE);
    assert_true(set->events[3].at == 20 * S && set->events[3].flow == 1);
    assert_true(set->events[4].at == 25 * S && set->events[4].flow == 2);
    assert_true(!flow_set_is_static(set, 2 * S) && flow_set_is_static(set, 4 * S));
    assert_true(!flow_set_is_static(set, 12 * S) && flow_set_is_static(set, 13 * S));
    /* the first can use 3 Mbit/s alone; then both share 4; then three do */
    assert_true(near(set->flows[0].fair_bps[bin(2 * S)], 3e6));
    assert_true(near(set->flows[0].fair_bps[bin(7 * S)], 2e6));
    assert_true(near(set->flows[1].fair_bps[bin(7 * S)], 2e6));
    assert_true(set->flows[1].fair_bps[bin(15 * S)] == 0);
    assert_true(near(set->flows[2].fair_bps[bin(27 * S)], 4e6 / 3));
}

static void test_directions_do_not_share(void **state)
{
    struct flow_set *set = *state;

    set->capacity[0][0].schedule = (struct rate_schedule){.steps = constant, .count = 1};
    set->capacity[1][0].schedule = (struct rate_schedule){.steps = varying, .count = 3};
    flow_set_test_add(set, "call1", 0, 30 * S, 1e6);
    flow_set_test_add(set, "call2", 0, 30 * S, 1e6)->backward = true;
    flow_set_finish(set);
    assert_true(near(set->flows[0].fair_bps[bin(15 * S)], 4e6));
    assert_true(near(set->flows[1].fair_bps[bin(15 * S)], 2e6));
}

static void test_too_many(void **state)
{
    struct flow_set *set = *state;

    for (int i = 0; i < FLOW_SET_FLOWS_MAX; i++) {
        assert_non_null(flow_set_add(set, "call", FLOW_CALL));
    }
    assert_null(flow_set_add(set, "call", FLOW_CALL));
}

/* More steps than there is room for: flows are seen to come all the same, and nothing is taken for
 * static because its steps are not told. */
static void test_more_steps_than_room(void **state)
{
    struct flow_set *set = *state;
    static struct rate_step many[2500];
    size_t arrivals = 0;

    for (size_t i = 0; i < 2500; i++) {
        many[i] = (struct rate_step){(ns_t)i * 10 * NS_PER_MS, 1000000 + (bps_t)(i % 2)};
    }
    set->capacity[0][0].schedule = (struct rate_schedule){.steps = many, .count = 2500};
    flow_set_find_steps(set);
    flow_set_test_add(set, "call1", 26 * S, 30 * S, 1e6);
    flow_set_finish(set);
    for (size_t i = 0; i < set->event_count; i++) {
        arrivals += set->events[i].kind == FLOW_EVENT_ARRIVAL;
    }
    assert_int_equal(set->event_count, FLOW_SET_STEPS_MAX + 1);
    assert_int_equal(arrivals, 1);
    assert_true(set->untold == (FLOW_SET_STEPS_MAX + 1) * 10 * NS_PER_MS);
    assert_false(flow_set_is_static(set, 10 * S));
    assert_false(flow_set_is_static(set, 24 * S));
    assert_false(flow_set_is_static(set, 29900 * NS_PER_MS));
}

/* Without a call what the run is about is not in the set: nobody's share can be told. */
static void test_a_set_without_a_call(void **state)
{
    struct flow_set *set = *state;
    struct path_flow *f = flow_set_test_add(set, "tcp", 0, 30 * S, 1e6);

    f->kind = FLOW_TCP;
    set->capacity[0][0].schedule = (struct rate_schedule){.steps = constant, .count = 1};
    assert_false(flow_set_is_whole(set));
    flow_set_finish(set);
    assert_true(f->fair_bps[bin(10 * S)] == 0);
    assert_int_equal(set->event_count, 1); /* it came */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_series),
        cmocka_unit_test_setup_teardown(test_steps, setup, teardown),
        cmocka_unit_test_setup_teardown(test_steps_of_both_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_more_steps_than_are_told, setup, teardown),
        cmocka_unit_test_setup_teardown(test_who_comes_and_goes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_directions_do_not_share, setup, teardown),
        cmocka_unit_test_setup_teardown(test_too_many, setup, teardown),
        cmocka_unit_test_setup_teardown(test_more_steps_than_room, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_set_without_a_call, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
