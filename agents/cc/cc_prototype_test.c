/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/cc/cc.h"

#include "agents/base/err.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#define MBIT INT64_C(1000000)
#define MS NS_PER_MS
#define BYTES 1228 /* IP; 1200 as a QUIC packet */
#define STEP (10 * MS)

/* A path without a queue but for what a test puts there. */
struct path {
    struct cc *cc;
    ns_t now;
    ns_t delay;
    double budget; /* bits not sent yet */
    int lose_one_in;
    int64_t sent;
};

static void path_init(struct path *p, bps_t start, bps_t min, bps_t max)
{
    struct cc_config cfg = {.start_rate = start, .min_rate = min, .max_rate = max};

    *p = (struct path){.delay = 20 * MS};
    assert_int_equal(cc_prototype_new(&p->cc, &cfg, 0), 0);
}

/* Sends at rate for a while in packets spread over steps of 10 ms, each step acknowledged at once.
 */
static void feed(struct path *p, bps_t rate, ns_t duration, ns_t delay_growth_per_step)
{
    for (ns_t end = p->now + duration; p->now < end;) {
        struct cc_packet batch[64];
        size_t n = 0;

        p->now += STEP;
        p->delay += delay_growth_per_step;
        p->budget += (double)rate * ns_to_s(STEP);
        for (; p->budget > 0 && n < 64; n++) {
            p->budget -= (BYTES - RATE_UDP_IP_OVERHEAD_BYTES) * 8;
            p->sent++;
            cc_on_sent(p->cc, BYTES, p->now);
            batch[n] = (struct cc_packet){.sent = p->now,
                                          .arrival = p->now + p->delay + (ns_t)n * MS / 4,
                                          .bytes = BYTES,
                                          .probe = CC_NO_PROBE};
            batch[n].lost = p->lose_one_in && p->sent % p->lose_one_in == 0;
        }
        cc_on_feedback(p->cc, batch, n, 2 * p->delay, p->now);
    }
}

static double target(const struct path *p)
{
    return (double)cc_target(p->cc);
}

static void test_first_feedback(void **state)
{
    struct path p;

    (void)state;
    path_init(&p, MBIT, 400000, 30 * MBIT);
    assert_int_equal(cc_target(p.cc), MBIT);
    feed(&p, 100000, STEP, 0); /* one packet: no delivered rate yet */
    assert_int_equal(cc_target(p.cc), 400000);
    cc_free(p.cc);
}

/* 8 % per second and no faster, however empty the path is. */
static void test_growth(void **state)
{
    struct path p;
    double before;

    (void)state;
    path_init(&p, MBIT, 400000, 30 * MBIT);
    feed(&p, MBIT, 5 * NS_PER_S, 0);
    before = target(&p);
    for (int i = 0; i < 1000; i++) {
        feed(&p, cc_target(p.cc), STEP, 0);
    }
    assert_true(fabs(target(&p) / before - pow(1.08, 10)) < 0.02);
    cc_free(p.cc);
}

/* Long enough to grow from the minimum to 1.5 times the rate. */
static void settle(struct path *p, bps_t rate)
{
    feed(p, rate, 60 * NS_PER_S, 0);
    assert_true(fabs(target(p) / (double)rate - 1.5) < 0.01);
}

/* At most 1.5 times the delivered rate, also when that lies below the present target. */
static void test_undershooting_source(void **state)
{
    struct path p;

    (void)state;
    path_init(&p, 4 * MBIT, 400000, 30 * MBIT);
    settle(&p, 4 * MBIT);
    feed(&p, MBIT, 2 * NS_PER_S, 0);
    assert_true(fabs(target(&p) / 1.5e6 - 1) < 0.02);
    for (int i = 0; i < 2000; i++) { /* a source that uses half of what it may: to the bottom */
        feed(&p, cc_target(p.cc) / 2, STEP, 0);
    }
    assert_int_equal(cc_target(p.cc), 400000);
    cc_free(p.cc);
}

static void test_overuse(void **state)
{
    struct path p;
    struct cc_state s;

    (void)state;
    path_init(&p, 2 * MBIT, 400000, 30 * MBIT);
    settle(&p, 2 * MBIT);
    feed(&p, 2 * MBIT, 400 * MS, MS); /* the delay grows by a tenth of the time */
    cc_state(p.cc, &s);
    assert_int_equal(s.usage, CC_USAGE_OVER);
    assert_int_equal(s.state, CC_STATE_DECREASE);
    assert_true(fabs((double)s.delay_based / (0.85 * (double)s.acked) - 1) < 1e-5);
    assert_int_equal(cc_target(p.cc), s.delay_based);
    assert_int_equal(s.threshold_ppm, 6000000); /* it does not adapt */
    feed(&p, 2 * MBIT, 2 * NS_PER_S, 0);
    cc_state(p.cc, &s);
    assert_int_equal(s.usage, CC_USAGE_NORMAL);
    assert_int_equal(s.state, CC_STATE_INCREASE);
    feed(&p, 2 * MBIT, 200 * MS, -MS);
    cc_state(p.cc, &s);
    assert_int_equal(s.usage, CC_USAGE_UNDER);
    assert_int_equal(s.state, CC_STATE_HOLD);
    cc_free(p.cc);
}

static void test_loss(void **state)
{
    struct path p;
    struct cc_state s;
    bps_t before;

    (void)state;
    path_init(&p, 2 * MBIT, 400000, 30 * MBIT);
    settle(&p, 4 * MBIT);
    cc_state(p.cc, &s);
    before = s.loss_based;
    assert_true(before >= 59 * MBIT / 10); /* up to 1.5 times what arrives ... */
    feed(&p, MBIT, 5 * NS_PER_S, 0);
    cc_state(p.cc, &s);
    assert_int_equal(s.loss_based, before); /* ... and never down without loss */
    p.lose_one_in = 2;
    feed(&p, 4 * MBIT, 3 * NS_PER_S, 0);
    assert_int_equal(cc_target(p.cc), 400000);
    cc_state(p.cc, &s);
    assert_in_range(s.loss_ppm, 400000, 600000);
    cc_free(p.cc);
}

static void test_limits(void **state)
{
    struct cc_config bad[] = {{.start_rate = 1, .min_rate = 0, .max_rate = 2},
                              {.start_rate = 1, .min_rate = 2, .max_rate = 3},
                              {.start_rate = 4, .min_rate = 2, .max_rate = 3}};
    struct cc_probe probe;
    struct cc_packet nonsense = {.arrival = INT64_MIN + 1, .bytes = 1200, .probe = CC_NO_PROBE};
    struct cc *c = NULL;
    struct path p;

    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(cc_prototype_new(&c, &bad[i], 0), ERR_CONFIG);
    }
    assert_null(c);
    path_init(&p, MBIT, MBIT, MBIT);
    feed(&p, 3 * MBIT, NS_PER_S, 0);
    cc_on_feedback(p.cc, &nonsense, 1, 0, p.now);
    cc_on_feedback(p.cc, NULL, 0, 0, p.now + NS_PER_S);
    cc_demand(p.cc, p.now);
    assert_false(cc_probe(p.cc, &probe, p.now));
    assert_int_equal(cc_deadline(p.cc), NS_NEVER);
    cc_expire(p.cc, p.now);
    assert_int_equal(cc_target(p.cc), MBIT);
    cc_free(p.cc);
}

/* Faster than the memory of arrivals is long. */
static void test_many_packets(void **state)
{
    struct path p;
    struct cc_state s;

    (void)state;
    path_init(&p, 400 * MBIT, 400000, 1000 * MBIT);
    for (int i = 0; i < 20000; i++) {
        struct cc_packet k = {.sent = p.now, .arrival = p.now, .bytes = BYTES, .probe = -1};
        p.now += 24 * NS_PER_US; /* 400 Mbit/s */
        cc_on_feedback(p.cc, &k, 1, MS, p.now);
    }
    cc_state(p.cc, &s);
    assert_in_range(s.acked, 399 * MBIT, 401 * MBIT);
    cc_free(p.cc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_feedback),
        cmocka_unit_test(test_growth),
        cmocka_unit_test(test_undershooting_source),
        cmocka_unit_test(test_overuse),

        cmocka_unit_test(test_loss),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_many_packets),
    };

    return cmocka_run_group_tests_name("cc prototype", tests, NULL, NULL);
}
