/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/cc/path_meter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MS NS_PER_MS
#define RATE 5000000
#define BYTES 1250             /* 2 ms at RATE */
#define OFFSET (-7 * NS_PER_S) /* of the receiver's clock */

static struct path_meter meter;
static struct path_sample sample;

static int set_up(void **state)
{
    (void)state;
    path_meter_init(&meter);
    return 0;
}

static void arrive(ns_t sent, ns_t delay)
{
    struct cc_packet p = {
        .sent = sent, .arrival = sent + delay + OFFSET, .bytes = BYTES, .probe = CC_NO_PROBE};

    path_meter_add(&meter, &p);
}

static void lose(ns_t sent)
{
    struct cc_packet p = {.sent = sent, .bytes = BYTES, .lost = true, .probe = CC_NO_PROBE};

    path_meter_add(&meter, &p);
}

static void look(ns_t window)
{
    path_meter_look(&meter, window, 3, RATE, &sample);
}

static void test_nothing(void **state)
{
    (void)state;
    look(100 * MS);
    assert_int_equal(sample.packets, 0);
    assert_int_equal(sample.arrived, 0);
    assert_int_equal(sample.queue, NS_NEVER);
    assert_int_equal(path_meter_base(&meter), NS_NEVER);
}

/* Sent every 1.6 ms, through a link that takes 2 ms for each: they arrive at its rate, and wait. */
static void test_overload(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        arrive(i * 1600 * NS_PER_US, 10 * MS + i * 400 * NS_PER_US);
    }
    look(40 * MS);
    assert_int_equal(sample.arrived, RATE);
    assert_int_equal(sample.sent, RATE * 5 / 4);
    assert_int_equal(sample.packets, 21);
    assert_int_equal(sample.busy, 42 * MS); /* with the way to the packet before the window */
    /* the first of the window waits least: number 29 */
    assert_int_equal(sample.queue, 29 * 400 * NS_PER_US);
    assert_int_equal(sample.span, 40 * MS);
    assert_int_equal(sample.rise, 11 * 400 * NS_PER_US); /* number 40 begins the newer half */
    assert_int_equal(sample.sent_at, 39 * 1600 * NS_PER_US);
    assert_true(sample.saturated);
}

/* Frames of five packets: what lies between them says nothing of the path. */
static void test_pauses(void **state)
{
    (void)state;
    for (int frame = 0; frame < 4; frame++) {
        for (int i = 0; i < 5; i++) {
            arrive(frame * 33 * MS + i * MS, 10 * MS + i * MS);
        }
    }
    look(200 * MS);
    assert_int_equal(sample.arrived, RATE);
    assert_int_equal(sample.sent, 2 * RATE);
    assert_int_equal(sample.bytes, 20 * BYTES);
    assert_int_equal(sample.queue, 0);
    assert_int_equal(sample.rise, 0);
    assert_false(sample.saturated);
}

static void test_losses(void **state)
{
    (void)state;
    for (int i = 0; i < 40; i++) {
        if (i % 10 == 9) {
            lose(i * 2 * MS);
        } else {
            arrive(i * 2 * MS, 10 * MS);
        }
    }
    look(200 * MS);
    assert_int_equal(sample.lost, 4);
    assert_int_equal(sample.packets, 36);
    assert_int_equal(sample.arrived,
                     RATE); /* a gap where a packet is missing is no gap in sending */
}

/* A packet taken for lost that arrives after all comes too late to be counted, and harms nothing.
 */
static void test_late_and_absurd(void **state)
{
    struct cc_packet absurd = {.sent = 50 * MS, .arrival = INT64_MAX, .bytes = BYTES};

    (void)state;
    for (int i = 0; i < 10; i++) {
        arrive(i * 2 * MS, 10 * MS);
    }
    arrive(3 * MS, 10 * MS);
    absurd.arrival = INT64_MAX;
    path_meter_add(&meter, &absurd);
    absurd.arrival = INT64_MIN;
    path_meter_add(&meter, &absurd);
    look(200 * MS);
    assert_int_equal(sample.packets, 10);
    assert_int_equal(sample.arrived, RATE);
}

/* The smallest delay is forgotten after about half a minute, but not while it is held. */
static void test_base(void **state)
{
    (void)state;
    for (int held = 1; held >= 0; held--) {
        ns_t least;

        path_meter_init(&meter);
        path_meter_hold(&meter, held);
        arrive(0, 10 * MS);
        for (int i = 1; i < 60; i++) {
            arrive(i * NS_PER_S, 15 * MS);
        }
        least = path_meter_base(&meter) - OFFSET;
        assert_int_equal(least, held ? 10 * MS : 15 * MS);
    }
}

/* More packets than there is room for: the newest count. */
static void test_many(void **state)
{
    (void)state;
    for (int i = 0; i < 3 * PATH_METER_PACKETS; i++) {
        arrive(i * 2 * MS, 10 * MS);
    }
    look(100 * NS_PER_S);
    assert_int_equal(sample.packets, PATH_METER_PACKETS);
    assert_int_equal(sample.arrived, RATE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_nothing, set_up),
        cmocka_unit_test_setup(test_overload, set_up),
        cmocka_unit_test_setup(test_pauses, set_up),
        cmocka_unit_test_setup(test_losses, set_up),
        cmocka_unit_test_setup(test_late_and_absurd, set_up),
        cmocka_unit_test_setup(test_base, set_up),
        cmocka_unit_test_setup(test_many, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
