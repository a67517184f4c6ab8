/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/run_bounds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

static void test_end(void **state)
{
    struct scenario s = {
        .duration = NS_NEVER, .time_limit = 60 * NS_PER_S, .linger = 100 * NS_PER_S};

    (void)state;
    /* A file that arrives at the last moment is lingered after like any other. */
    assert_int_equal(run_bounds_end(&s), 160 * NS_PER_S);
    s.duration = 7 * NS_PER_S;
    assert_int_equal(run_bounds_end(&s), 7 * NS_PER_S);
    s = (struct scenario){.duration = NS_NEVER, .time_limit = NS_NEVER, .linger = NS_PER_S};
    assert_int_equal(run_bounds_end(&s), NS_NEVER);
}

static void test_path(void **state)
{
    struct scenario s = {.path_rate = 1000000, .path_delay = 4 * NS_PER_S};

    (void)state;
    s.path_queue_bytes = 125000; /* a second, and the packet that is being sent: 12.112 ms */
    assert_int_equal(run_bounds_path(&s), 5 * NS_PER_S + 12112000);
    s.path_queue_bytes = 0;
    s.path_queue_time = 60 * NS_PER_S;
    s.path_rate = 10000;
    s.path_delay = 10 * NS_PER_S;
    assert_int_equal(run_bounds_path(&s), 70 * NS_PER_S + 1211200000);
    /* filled at 8 Mbit/s, a second is a million bytes, which drain at 1 Mbit/s */
    s = (struct scenario){.path_rate = 2000000, .path_queue_time = NS_PER_S, .path_step_count = 3};
    s.path_steps[0].rate = 2000000;
    s.path_steps[1] = (struct rate_step){NS_PER_S, 8000000};
    s.path_steps[2] = (struct rate_step){2 * NS_PER_S, 1000000};
    assert_int_equal(run_bounds_path(&s), 8 * NS_PER_S + 12112000);
    assert_true(run_bounds_events(&s, NS_PER_S) > 8000000 / 8000 * 6);
}

/* Each way by its own rate; a further bottleneck and the longest extra delay of a call add up. */
static void test_path_of_many(void **state)
{
    struct scenario s = {.path_rate = 1000000, .path_queue_time = NS_PER_S};
    const ns_t packet = 12112000; /* 1514 bytes at 1 Mbit/s */
    uint64_t events = run_bounds_events(&s, NS_PER_S);

    (void)state;
    s.back_rates.rate = 100000000; /* its second of queue is gone in a second */
    assert_int_equal(run_bounds_path(&s), NS_PER_S + packet);
    s.back_rates.rate = 500000;
    assert_int_equal(run_bounds_path(&s), NS_PER_S + 2 * packet);
    s.back_rates.rate = 0;
    s.segments[0] =
        (struct scenario_segment){.rate = 1000000, .delay = 30 * NS_PER_MS, .queue.bytes = 125000};
    assert_int_equal(run_bounds_path(&s), 2 * NS_PER_S + 2 * packet + 30 * NS_PER_MS);
    s.calls[1] = (struct scenario_call){.priority = 1, .extra_delay = 90 * NS_PER_MS};
    s.calls[2] = (struct scenario_call){.priority = 1, .extra_delay = 40 * NS_PER_MS};
    assert_int_equal(run_bounds_path(&s), 2 * NS_PER_S + 2 * packet + 120 * NS_PER_MS);
    assert_true(run_bounds_events(&s, NS_PER_S) > events + 2 * 200000);
    s.short_tcp.flows = 10;
    assert_true(run_bounds_events(&s, NS_PER_S) > events + 12 * 200000);
}

/* The highest rate a scenario may have, full of packets of 1000 bytes, each sent, received and
 * acknowledged; for a day. */
static void test_events(void **state)
{
    struct scenario s = {.path_rate = INT64_C(10000000000)};
    uint64_t day = 86400, packets = (uint64_t)s.path_rate / 8000;

    (void)state;
    assert_true(run_bounds_events(&s, (ns_t)day * NS_PER_S) > day * packets * 6);
    assert_true(run_bounds_events(&s, 0) > packets * 6);
    s.path_rate = 10000;
    assert_true(run_bounds_events(&s, NS_PER_S) > 100000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_end),
        cmocka_unit_test(test_path),
        cmocka_unit_test(test_path_of_many),
        cmocka_unit_test(test_events),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
