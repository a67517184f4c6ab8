/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/cc/loss_based.h"

#include "agents/base/prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define MBIT INT64_C(1000000)
#define MS NS_PER_MS

static struct loss_based l;
static struct prng r;
static ns_t sent;

static int setup(void **state)
{
    (void)state;
    loss_based_init(&l, 100000, 12 * MBIT);
    prng_init(&r, 1, "loss");
    sent = 0;
    return 0;
}

/* seconds of packets of 1250 bytes at rate through a path that loses a share and all beyond
 * capacity; feedback every 50 ms. */
static void feed(double seconds, bps_t rate, double loss, bps_t capacity, bps_t delay_limit)
{
    ns_t end = sent + (ns_t)(seconds * (double)NS_PER_S), step = rate_duration(rate, 1250);
    double excess = rate > capacity ? 1 - (double)capacity / (double)rate : 0;
    ns_t report = sent;

    for (; sent < end; sent += step) {
        struct cc_packet p = {.sent = sent, .bytes = 1250, .probe = CC_NO_PROBE};
        p.lost = prng_uniform(&r) < loss + (1 - loss) * excess;
        loss_based_add(&l, &p);
        if (sent - report >= 50 * MS) {
            bps_t acked = rate < capacity ? rate : capacity;
            loss_based_update(&l, (bps_t)((double)acked * (1 - loss)), delay_limit, false);
            report = sent;
        }
    }
}

/* seconds of packets that all get lost; acked is what the throughput estimator still says, which
 * leaves the longest pause out. */
static void lose(double seconds, bps_t rate, bps_t acked, bps_t delay_limit)
{
    ns_t end = sent + (ns_t)(seconds * (double)NS_PER_S);

    for (; sent < end; sent += rate_duration(rate, 1250)) {
        struct cc_packet p = {.sent = sent, .bytes = 1250, .lost = true, .probe = CC_NO_PROBE};
        loss_based_add(&l, &p);
        loss_based_update(&l, acked, delay_limit, false);
    }
}

static void needs_three_observations_of_a_quarter_second(void **state)
{
    (void)state;
    feed(.70, MBIT, 0, 10 * MBIT, 2 * MBIT);
    assert_int_equal(l.observations, 2);
    assert_false(loss_based_ready(&l));
    feed(.40, MBIT, 0, 10 * MBIT, 2 * MBIT);
    assert_true(loss_based_ready(&l));
}

static void without_loss_the_delay_limit_rules(void **state)
{
    (void)state;
    feed(3, 2 * MBIT, 0, 10 * MBIT, 2 * MBIT);
    assert_int_equal(loss_based_rate(&l), 2 * MBIT);
    assert_int_equal(l.state, LOSS_BASED_UNLIMITED);
    feed(1, 2 * MBIT, 0, 10 * MBIT, 3 * MBIT);
    assert_int_equal(loss_based_rate(&l), 3 * MBIT);
}

static void a_little_random_loss_is_inherent(void **state)
{
    (void)state;
    feed(30, 2 * MBIT, .01, 10 * MBIT, 2 * MBIT);
    assert_true(loss_based_rate(&l) > 1800000);
    assert_true(l.inherent_loss > .003 && l.inherent_loss < .03);
}

/* ... to what gets through and not below, however much is lost beside it. */
static void loss_beyond_the_capacity_lowers_the_rate_to_it(void **state)
{
    (void)state;
    feed(5, 2 * MBIT, 0, 10 * MBIT, 2 * MBIT);
    feed(5, 2 * MBIT, 0, MBIT, 2 * MBIT); /* half is lost */
    assert_int_equal(loss_based_rate(&l), MBIT);
    assert_int_equal(l.state, LOSS_BASED_DECREASING);
}

/* One observation as bad as can be among good ones is not a loss ratio to act upon ... */
static void a_short_outage_is_no_lasting_loss(void **state)
{
    (void)state;
    feed(5, 4 * MBIT, 0, 10 * MBIT, 4 * MBIT);
    lose(.4, 4 * MBIT, 4 * MBIT, 4 * MBIT);
    feed(1, 4 * MBIT, 0, 10 * MBIT, 4 * MBIT);
    assert_true(l.loss_ratio < .1);
    assert_in_range(loss_based_rate(&l), 3 * MBIT, 4 * MBIT);
}

/* ... and after a long one the rate is what comes through again, not a tenth of it. */
static void a_long_outage_leaves_what_is_acknowledged(void **state)
{
    (void)state;
    feed(5, 4 * MBIT, 0, 10 * MBIT, 4 * MBIT);
    lose(2, 4 * MBIT, 2 * MBIT, 4 * MBIT);
    assert_true(l.loss_ratio > .2);
    assert_int_equal(loss_based_rate(&l), 2 * MBIT);
    for (int i = 0; i < 40 && l.state != LOSS_BASED_UNLIMITED; i++) {
        bps_t before = loss_based_rate(&l);
        feed(.25, before, 0, 10 * MBIT, 4 * MBIT);
        assert_true(loss_based_rate(&l) <= before * 3 / 2 + 1);
    }
    assert_int_equal(loss_based_rate(&l), 4 * MBIT);
}

/* A second decrease right after the first is held for longer, and not exceeded meanwhile. */
static void holds_after_a_decrease(void **state)
{
    ns_t first, end;

    (void)state;
    feed(5, 2 * MBIT, 0, 10 * MBIT, 2 * MBIT);
    feed(1, 2 * MBIT, 0, MBIT, 2 * MBIT);
    first = l.hold_time;
    assert_int_equal(l.state, LOSS_BASED_DECREASING);
    assert_true(first > 300 * MS);
    for (int i = 0; i < 40 && l.state == LOSS_BASED_DECREASING; i++) {
        feed(.25, MBIT, 0, MBIT, 2 * MBIT);
    }
    assert_int_equal(l.state, LOSS_BASED_INCREASING);
    feed(1, 2 * MBIT, 0, MBIT, 2 * MBIT);
    assert_true(l.hold_time >= 2 * first);
    end = l.hold_until;
    while (sent < end) {
        feed(.05, MBIT, 0, MBIT, 2 * MBIT);
        if (l.state == LOSS_BASED_DECREASING && l.observed < l.hold_until) {
            assert_true(l.result <= l.hold_rate);
        }
    }
}

static void grows_back_stepwise_when_the_loss_ends(void **state)
{
    bps_t low, before;

    (void)state;
    feed(5, 2 * MBIT, 0, 10 * MBIT, 2 * MBIT);
    feed(5, 2 * MBIT, 0, MBIT, 2 * MBIT);
    low = loss_based_rate(&l);
    for (int i = 0; i < 120 && l.state != LOSS_BASED_UNLIMITED; i++) {
        before = loss_based_rate(&l);
        feed(.25, before, 0, 10 * MBIT, 2 * MBIT);
        assert_true(l.bandwidth <= 2e6);
    }
    assert_true(loss_based_rate(&l) > low);
    assert_int_equal(loss_based_rate(&l), 2 * MBIT);
}

static void a_late_packet_takes_its_loss_back(void **state)
{
    struct cc_packet p = {.sent = 10 * MS, .bytes = 1000, .lost = true};

    (void)state;
    loss_based_add(&l, &p);
    p.sent = 20 * MS;
    p.lost = false;
    loss_based_add(&l, &p);
    assert_int_equal(l.lost, 1000);
    p.sent = 10 * MS;
    loss_based_add(&l, &p);
    assert_int_equal(l.lost, 0);
    assert_int_equal(l.bytes, 2000);
    loss_based_add(&l, &p); /* once */
    assert_int_equal(l.lost, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(needs_three_observations_of_a_quarter_second, setup),
        cmocka_unit_test_setup(without_loss_the_delay_limit_rules, setup),
        cmocka_unit_test_setup(a_little_random_loss_is_inherent, setup),
        cmocka_unit_test_setup(loss_beyond_the_capacity_lowers_the_rate_to_it, setup),
        cmocka_unit_test_setup(a_short_outage_is_no_lasting_loss, setup),
        cmocka_unit_test_setup(a_long_outage_leaves_what_is_acknowledged, setup),
        cmocka_unit_test_setup(holds_after_a_decrease, setup),
        cmocka_unit_test_setup(grows_back_stepwise_when_the_loss_ends, setup),
        cmocka_unit_test_setup(a_late_packet_takes_its_loss_back, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
