/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/base/err.h"
#include "agents/cc/cc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define MBIT INT64_C(1000000)
#define MS NS_PER_MS

static const struct cc_config config = {
    .start_rate = MBIT, .min_rate = 400000, .max_rate = 5 * MBIT};

static struct cc *start(void)
{
    struct cc *c = NULL;

    assert_int_equal(cc_libwebrtc_new(&c, &config, 0), 0);
    return c;
}

static void refuses_impossible_rates(void **state)
{
    static const struct cc_config bad[] = {
        {.start_rate = MBIT, .min_rate = 0, .max_rate = MBIT},
        {.start_rate = MBIT, .min_rate = 2 * MBIT, .max_rate = 3 * MBIT},
        {.start_rate = 2 * MBIT, .min_rate = MBIT, .max_rate = MBIT},
    };
    struct cc *c = NULL;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(cc_libwebrtc_new(&c, &bad[i], 0), ERR_CONFIG);
        assert_null(c);
    }
    cc_free(NULL);
}

static void starts_at_the_start_rate_and_probes_when_asked(void **state)
{
    struct cc *c = start();
    struct cc_probe p;

    (void)state;
    assert_int_equal(cc_target(c), MBIT);
    cc_expire(c, 60 * NS_PER_S); /* nobody has asked yet */
    assert_true(cc_probe(c, &p, 60 * NS_PER_S));
    assert_int_equal(p.rate, 3 * MBIT);
    assert_true(cc_probe(c, &p, 60 * NS_PER_S));
    assert_int_equal(p.rate, 5 * MBIT); /* six times would exceed the maximum */
    assert_false(cc_probe(c, &p, 60 * NS_PER_S));
    cc_free(c);
}

/* One probe cluster of eight packets, 1 ms apart when sent and arrival_step when received. */
static void play_probe(struct cc *c, ns_t arrival_step)
{
    struct cc_packet packets[8];
    struct cc_probe p;

    assert_true(cc_probe(c, &p, 0));
    for (int i = 0; i < 8; i++) {
        packets[i] = (struct cc_packet){
            .sent = i * MS, .arrival = 10 * MS + i * arrival_step, .bytes = 1000, .probe = p.id};
        cc_on_sent(c, 1000, i * MS);
    }
    cc_on_feedback(c, packets, 8, 20 * MS, 60 * MS);
}

static void takes_a_probes_result_at_once(void **state)
{
    struct cc *c = start();

    (void)state;
    play_probe(c, 2 * MS); /* 4 Mbit/s arrive of 8: 0.95 of it */
    assert_int_equal(cc_target(c), 3800000);
    cc_free(c);
    c = start();
    play_probe(c, MS); /* all arrive: the sending rate, within the maximum */
    assert_int_equal(cc_target(c), 5 * MBIT);
    cc_free(c);
}

static void keeps_within_the_limits_whatever_it_is_told(void **state)
{
    struct cc *c = start();
    struct cc_state s;
    ns_t now = 0;

    (void)state;
    /* everything is lost, or comes seconds late, or out of order */
    for (int i = 0; i < 2000; i++) {
        struct cc_packet packets[3];
        for (int k = 0; k < 3; k++) {
            now += 3 * MS;
            cc_on_sent(c, 1200, now);
            packets[k] = (struct cc_packet){.sent = now,
                                            .arrival = now * (1 + i % 3) - k * 7 * MS,
                                            .bytes = 1200,
                                            .lost = i % 5 < 3,
                                            .probe = i % 11 ? CC_NO_PROBE : i % 7};
        }
        cc_on_feedback(c, packets, 3, i % 2 ? 0 : 4 * NS_PER_S, now + 5 * MS);
        if (now >= cc_deadline(c)) {
            cc_expire(c, now);
        }
        assert_true(cc_target(c) >= config.min_rate && cc_target(c) <= config.max_rate);
    }
    cc_state(c, &s);
    assert_int_equal(s.target, cc_target(c));
    assert_true(s.loss_ppm > 300000);
    assert_int_equal(s.target, config.min_rate);
    cc_free(c);
}

static void silence_of_the_receiver_lowers_the_rate(void **state)
{
    struct cc *c = start();
    ns_t now = 0;

    (void)state;
    for (; now < 10 * NS_PER_S; now += 10 * MS) {
        cc_on_sent(c, 1250, now);
        if (now >= cc_deadline(c)) {
            cc_expire(c, now);
        }
        if (now <= 3 * NS_PER_S) {
            assert_int_equal(cc_target(c), MBIT);
        }
    }
    /* x 0.8 a second from 3 s on: five times at least, to the minimum */
    assert_int_equal(cc_target(c), config.min_rate);
    cc_free(c);
}

static void an_idle_sender_is_not_punished(void **state)
{
    struct cc *c = start();
    ns_t now = 0;

    (void)state;
    cc_on_sent(c, 1250, 0);
    for (; now < 60 * NS_PER_S; now += 25 * MS) {
        cc_expire(c, now);
    }
    assert_int_equal(cc_target(c), MBIT);
    cc_free(c);
}

static void takes_feedback_of_any_size(void **state)
{
    static struct cc_packet packets[3000];
    struct cc *c = start();

    (void)state;
    for (int i = 0; i < 3000; i++) {
        packets[i] = (struct cc_packet){.sent = i * MS,
                                        .arrival = i * MS + (i * 7919 % 13) * MS,
                                        .bytes = 125,
                                        .probe = CC_NO_PROBE};
    }
    cc_on_feedback(c, packets, 0, 0, 3000 * MS);
    assert_int_equal(cc_target(c), MBIT);
    cc_on_feedback(c, packets, 3000, 0, 3000 * MS);
    assert_true(cc_target(c) >= config.min_rate);
    cc_free(c);
}

static void survives_arrival_times_beyond_all_sense(void **state)
{
    static const ns_t arrivals[] = {
        INT64_MAX, INT64_MIN, INT64_MAX / 2, INT64_MIN / 2, INT64_MAX / 9, 0, -1, INT64_MIN / 9};
    struct cc *c = start();

    (void)state;
    for (int i = 0; i < 1000; i++) {
        struct cc_packet p = {.sent = i * 7 * MS,
                              .arrival = arrivals[i * i % 8],
                              .bytes = 1200,
                              .probe = CC_NO_PROBE};
        cc_on_sent(c, 1200, p.sent);
        cc_on_feedback(c, &p, 1, 20 * MS, p.sent + 20 * MS);
        assert_true(cc_target(c) >= config.min_rate && cc_target(c) <= config.max_rate);
    }
    cc_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_impossible_rates),
        cmocka_unit_test(starts_at_the_start_rate_and_probes_when_asked),
        cmocka_unit_test(takes_a_probes_result_at_once),
        cmocka_unit_test(keeps_within_the_limits_whatever_it_is_told),
        cmocka_unit_test(silence_of_the_receiver_lowers_the_rate),
        cmocka_unit_test(an_idle_sender_is_not_punished),
        cmocka_unit_test(takes_feedback_of_any_size),
        cmocka_unit_test(survives_arrival_times_beyond_all_sense),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
