/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ten seconds of full packets through a link of 5 Mbit/s, by hand. */
#include "analysis/metrics/shortfall.h"

#include "agents/base/rate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define RATE 5000000
#define PACKETS 4128 /* of 1514 bytes: 10 s */
#define FIRST_PATH "{\"path\": {\"rate_bps\": 5000000}}"

struct fixture {
    struct run_packet packets[PACKETS];
    struct rate_step steps[2];
    struct run_data d;
};

static struct fixture x;

/* From slow_from to slow_to the link gives `given` of its rate. */
static void make(ns_t wait, ns_t slow_from, ns_t slow_to, double given)
{
    ns_t full = rate_duration(RATE, 1514), at = 0;

    for (size_t i = 0; i < PACKETS; i++) {
        at += at >= slow_from && at < slow_to ? (ns_t)((double)full / given) : full;
        x.packets[i] =
            (struct run_packet){.sent = at - 10 * NS_PER_MS - (i ? wait : 0), .received = at};
        x.packets[i].ip_bytes = 1500;
    }
    x.steps[0] = (struct rate_step){.at = 0, .rate = RATE};
    json_decref(x.d.info.root);
    x.d = (struct run_data){.link_rate = {.schedule = {.steps = x.steps, .count = 1}}};
    x.d.info.root = json_loads(FIRST_PATH, 0, NULL);
    assert_non_null(x.d.info.root);
}

static uint64_t shortfall_seconds(size_t packets)
{
    struct shortfall s;

    shortfall_init(&s, &x.d);
    for (size_t i = 0; i < packets; i++) {
        shortfall_packet(&s, &x.packets[i]);
    }
    return s.seconds;
}

static int teardown(void **state)
{
    (void)state;
    json_decref(x.d.info.root);
    x.d.info.root = NULL;
    return 0;
}

static void test_a_link_that_gives_its_rate(void **state)
{
    (void)state;
    make(100 * NS_PER_MS, 0, 0, 1);
    assert_int_equal(shortfall_seconds(PACKETS), 0);
    make(100 * NS_PER_MS, 0, 10 * NS_PER_S, 0.985); /* less than is looked for */
    assert_int_equal(shortfall_seconds(PACKETS), 0);
}

static void test_a_link_that_does_not(void **state)
{
    (void)state;
    make(100 * NS_PER_MS, 0, 20 * NS_PER_S, 0.97);
    assert_in_range(shortfall_seconds(PACKETS), 9, 10);
    make(100 * NS_PER_MS, 4 * NS_PER_S, 7 * NS_PER_S, 0.9); /* may share a second with others */
    assert_in_range(shortfall_seconds(PACKETS), 2, 4);
    /* one stall of 50 to 100 ms */
    make(100 * NS_PER_MS, 4 * NS_PER_S, 4 * NS_PER_S + 3 * NS_PER_MS, 0.05);
    assert_int_equal(shortfall_seconds(PACKETS), 1);
}

/* Nobody knows whether there was anything to carry. */
static void test_a_queue_that_was_empty(void **state)
{
    (void)state;
    make(5 * NS_PER_MS, 0, 20 * NS_PER_S, 0.5);
    assert_int_equal(shortfall_seconds(PACKETS), 0);
    make(100 * NS_PER_MS, 0, 20 * NS_PER_S, 0.5);
    for (size_t i = 0; i < PACKETS; i += 100) { /* every half second, at this rate */
        x.packets[i].sent = x.packets[i].received - 10 * NS_PER_MS;
    }
    assert_int_equal(shortfall_seconds(PACKETS), 0);
}

static void test_a_rate_that_changes(void **state)
{
    (void)state;
    make(100 * NS_PER_MS, 4 * NS_PER_S, 5 * NS_PER_S, 0.5);
    x.steps[1] = (struct rate_step){.at = 4500 * NS_PER_MS, .rate = RATE};
    x.d.link_rate.schedule.count = 2;
    assert_int_equal(shortfall_seconds(PACKETS), 0);
    make(100 * NS_PER_MS, 5 * NS_PER_S, 20 * NS_PER_S, 0.5);
    x.steps[1] = (struct rate_step){.at = 5 * NS_PER_S, .rate = RATE / 2};
    x.d.link_rate.schedule.count = 2;
    assert_int_equal(shortfall_seconds(PACKETS), 0);
}

static void test_where_arrivals_do_not_tell(void **state)
{
    static const char *const others[] = {
        "{\"path\": {}, \"calls\": [\"call2\"]}",
        "{\"path\": {}, \"traffic\": [{\"name\": \"tcp\"}]}",
        "{\"path\": {}, \"bottlenecks\": [{\"rate_bps\": 2500000}]}",
        "{\"path\": {\"aqm\": {\"kind\": \"codel\"}}}",
        "{\"path\": {\"impairments\": {\"forward\": {\"loss\": {\"mean\": 0.05}}}}}",
        "{\"path\": {\"impairments\": {\"forward\": {\"jitter_ns\": 5000000}}}}",
        "{\"path\": {\"impairments\": {\"forward\": {\"duplicate\": 0.1}}}}",
        "{\"path\": {\"impairments\": {\"forward\": {\"event\": {\"loss\": 0.1}}}}}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        make(100 * NS_PER_MS, 0, 20 * NS_PER_S, 0.5);
        json_decref(x.d.info.root);
        x.d.info.root = json_loads(others[i], 0, NULL);
        assert_non_null(x.d.info.root);
        assert_int_equal(shortfall_seconds(PACKETS), 0);
    }
    make(100 * NS_PER_MS, 0, 20 * NS_PER_S, 0.5);
    x.d.link_rate.schedule.count = 0;
    assert_int_equal(shortfall_seconds(PACKETS), 0);
    x.d.link_rate.schedule.count = 1;
    assert_int_equal(shortfall_seconds(0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_link_that_gives_its_rate),
        cmocka_unit_test(test_a_link_that_does_not),
        cmocka_unit_test(test_a_queue_that_was_empty),
        cmocka_unit_test(test_a_rate_that_changes),
        cmocka_unit_test(test_where_arrivals_do_not_tell),
    };

    return cmocka_run_group_tests(tests, NULL, teardown);
}
