/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/manifest_flows.h"

#include "testbed/scenario/scenario_flows.h"
#include "testbed/scenario/scenario_rates.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A call beside another that sends back, UDP that changes its rate, short TCP, a second bottleneck.
 */
static struct scenario some_flows(void)
{
    struct scenario s = scenario_default();

    s.path_rate = 4000000;
    s.media = true;
    s.media_max_rate = 1500000;
    s.audio_rate = 20000;
    s.audio_interval = 20 * NS_PER_MS;
    s.priority = 2;
    s.calls[1].start = 5 * NS_PER_S;
    s.calls[1].direction = SCENARIO_BACKWARD;
    s.calls[1].priority = 3;
    s.calls[1].extra_delay = 15 * NS_PER_MS;
    s.calls[1].segments = SCENARIO_CROSSES_FIRST + 1;
    s.segments[0] = (struct scenario_segment){.rate = 2000000, .delay = 7 * NS_PER_MS};
    s.udp[SCENARIO_FORWARD] = (struct scenario_udp){
        .rates = {.rate = 1000000, .steps = {{0, 1000000}, {9 * NS_PER_S, 0}}, .step_count = 2},
        .packet_bytes = 1200};
    s.short_tcp = (struct scenario_short_tcp){.flows = 3, .control = SCENARIO_CONTROL_RENO};
    return s;
}

static json_int_t number(const json_t *o, const char *key)
{
    json_t *v = json_object_get(o, key);

    if (!json_is_integer(v)) {
        fail_msg("%s is no number", key);
    }
    return json_integer_value(v);
}

static void test_run(void **state)
{
    struct scenario s = some_flows();
    json_t *o = manifest_others(&s, true), *traffic, *udp, *one;

    (void)state;
    assert_non_null(o);
    assert_int_equal(json_array_size(json_object_get(o, "calls")), 1);
    assert_string_equal(json_string_value(json_array_get(json_object_get(o, "calls"), 0)), "call3");
    assert_int_equal(number(o, "priority"), 2);
    one = json_object_get(o, "segments");
    assert_true(number(one, "first") == 0 && number(one, "last") == 1);
    one = json_object_get(o, "source");
    assert_int_equal(number(one, "max_rate_bps"), 1500000);
    assert_int_equal(number(one, "audio_rate_bps"), 20000);
    assert_int_equal(number(one, "audio_interval_ns"), 20 * NS_PER_MS);
    one = json_array_get(json_object_get(o, "bottlenecks"), 0);
    assert_int_equal(number(one, "rate_bps"), 2000000);
    assert_int_equal(number(one, "delay_ns"), 7 * NS_PER_MS);
    one = json_array_get(json_object_get(o, "back_rates"), 0);
    assert_true(number(one, "time_ns") == 0 && number(one, "rate_bps") == 4000000);
    traffic = json_object_get(o, "traffic");
    assert_int_equal(json_array_size(traffic), 2);
    assert_null(json_object_get(json_array_get(traffic, 0), "rates")); /* it adapts */
    udp = json_array_get(traffic, 1);
    assert_int_equal(number(udp, "packet_bytes"), 1200);
    one = json_array_get(json_object_get(udp, "rates"), 1);
    assert_true(number(one, "time_ns") == 9 * NS_PER_S && number(one, "rate_bps") == 0);
    json_decref(o);
}

static void test_call(void **state)
{
    struct scenario s = some_flows(), call = scenario_of_call(&s, 2);
    json_t *o = manifest_call(&call, 2), *one;

    (void)state;
    assert_non_null(o);
    assert_string_equal(json_string_value(json_object_get(o, "direction")), "backward");
    assert_int_equal(number(o, "priority"), 3);
    assert_int_equal(number(o, "extra_delay_ns"), 15 * NS_PER_MS);
    one = json_object_get(o, "segments");
    assert_true(number(one, "first") == 1 && number(one, "last") == 1);
    assert_int_equal(number(json_object_get(o, "source"), "max_rate_bps"), 1500000);
    json_decref(o);
}

/* A call alone tells of its source only where its path changes, and else of nothing. */
static void test_call_alone(void **state)
{
    struct scenario s = scenario_default();
    json_t *o = manifest_others(&s, false);

    (void)state;
    assert_int_equal(json_object_size(o), 0);
    json_decref(o);
    s.path_rate = 1000000;
    s.path_steps[0] = (struct rate_step){0, 1000000};
    s.path_steps[1] = (struct rate_step){NS_PER_S, 2000000};
    s.path_step_count = 2;
    o = manifest_others(&s, false);
    assert_int_equal(json_object_size(o), 1);
    assert_null(json_object_get(json_object_get(o, "source"), "audio_rate_bps"));
    json_decref(o);
}

/* ... and of its place where that is not the usual one. */
static void test_call_alone_elsewhere(void **state)
{
    struct scenario s = scenario_default();
    json_t *o, *one;

    (void)state;
    s.media = true;
    s.segments[0] = (struct scenario_segment){.rate = 2000000, .delay = 7 * NS_PER_MS};
    o = manifest_others(&s, false);
    assert_null(json_object_get(o, "calls"));
    assert_null(json_object_get(o, "traffic"));
    assert_int_equal(json_array_size(json_object_get(o, "bottlenecks")), 1);
    one = json_array_get(json_object_get(o, "bottlenecks"), 0);
    assert_true(number(one, "rate_bps") == 2000000 && number(one, "delay_ns") == 7 * NS_PER_MS);
    one = json_object_get(o, "segments");
    assert_true(number(one, "first") == 0 && number(one, "last") == 1);
    json_decref(o);
    s.segments[0].rate = NS_NEVER;
    s.extra_delay = 3 * NS_PER_MS;
    o = manifest_others(&s, false);
    assert_int_equal(number(o, "extra_delay_ns"), 3 * NS_PER_MS);
    assert_null(json_object_get(o, "bottlenecks"));
    json_decref(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run),
        cmocka_unit_test(test_call),
        cmocka_unit_test(test_call_alone),
        cmocka_unit_test(test_call_alone_elsewhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
