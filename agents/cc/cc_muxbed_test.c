/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The controller by hand; whole connections are in testbed/sim/muxbed_test.c. */
#include "agents/base/err.h"
#include "agents/cc/cc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MS NS_PER_MS
#define BYTES 1250
#define MIN_RATE 400000
#define MAX_RATE 50000000

static const struct cc_config cfg = {
    .start_rate = 1000000, .min_rate = MIN_RATE, .max_rate = MAX_RATE};
static struct cc *cc;

static int set_up(void **state)
{
    (void)state;
    return cc_muxbed_new(&cc, &cfg, 0);
}

static int tear_down(void **state)
{
    (void)state;
    cc_free(cc);
    return 0;
}

#define PENDING_MAX 65536

/* A sender that paces at the target into a link of a rate, 10 ms each way, which it shares with
 * traffic of another that heeds nothing; every 20 ms it is told what has become of its packets.
 * Returns the queue at the end. */
static ns_t drive_beside(bps_t others, bps_t link, ns_t *now, ns_t until)
{
    static struct cc_packet pending[PENDING_MAX];
    ns_t free_at = *now, told = *now;
    size_t first = 0, n = 0;
    ns_t before = *now;

    while (*now < until) {
        assert_true(n < PENDING_MAX);
        free_at = ns_max(free_at, before) +
                  (ns_t)((double)others / (double)link * (double)(*now - before));
        free_at = ns_max(free_at, *now) + rate_duration(link, BYTES);
        before = *now;
        cc_on_sent(cc, BYTES, *now);
        pending[n++] = (struct cc_packet){
            .sent = *now, .arrival = free_at + 10 * MS, .bytes = BYTES, .probe = CC_NO_PROBE};
        if (*now - told >= 20 * MS) {
            size_t known = first;

            while (known < n && pending[known].arrival + 10 * MS <= *now) {
                known++;
            }
            if (known > first) {
                cc_on_feedback(cc, pending + first, known - first, *now - pending[known - 1].sent,
                               *now);
            }
            first = known;
            told = *now;
        }
        *now += rate_duration(cc_target(cc), BYTES);
    }
    return ns_max(free_at - *now, 0);
}

static ns_t drive(bps_t link, ns_t *now, ns_t until)
{
    return drive_beside(0, link, now, until);
}

static void test_finds_and_follows(void **state)
{
    static const bps_t links[] = {5000000, 20000000, 3000000, 6000000};
    ns_t now = 0, queue;

    (void)state;
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        queue = drive(links[i], &now, now + 15 * NS_PER_S);
        assert_in_range(cc_target(cc), links[i] * 93 / 100, links[i] * 104 / 100);
        assert_in_range(queue, 0, 25 * MS);
    }
}

/* Traffic that heeds nothing leaves less and more: we have what is left, with a short queue, and
 * take it for no competitor. */
static void test_beside_constant_traffic(void **state)
{
    static const bps_t others[] = {2000000, 2500000, 3200000, 2000000};
    ns_t now = 0, queue;

    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct cc_state s;

        queue = drive_beside(others[i], 4000000, &now, now + 15 * NS_PER_S);
        cc_state(cc, &s);
        assert_in_range(cc_target(cc), (4000000 - others[i]) * 80 / 100,
                        (4000000 - others[i]) * 120 / 100);
        assert_in_range(queue, 0, 60 * MS);
        assert_int_equal(s.state, CC_STATE_INCREASE);
    }
}

/* What is left has become little: soon after the queue of the step is gone, we have that. */
static void test_is_back_soon(void **state)
{
    (void)state;
    for (ns_t after = 5; after < 10; after++) {
        ns_t now = 0, queue;

        assert_int_equal(cc_muxbed_new(&cc, &cfg, 0), 0);
        (void)drive_beside(1500000, 4000000, &now, 15 * NS_PER_S);
        queue = drive_beside(3200000, 4000000, &now, (15 + after) * NS_PER_S);
        assert_in_range(cc_target(cc), 640000, 960000);
        assert_in_range(queue, 0, 60 * MS);
        cc_free(cc);
    }
    cc = NULL;
}

/* Marks on each round trip of a short path lower the target no more often than it grows. */
static void test_marks_of_a_short_path(void **state)
{
    struct cc_config with_ecn = cfg;
    ns_t now = 0;
    bps_t before;

    (void)state;
    with_ecn.ecn = CC_ECN_CLASSIC;
    assert_int_equal(cc_muxbed_new(&cc, &with_ecn, 0), 0);
    (void)drive(5000000, &now, 5 * NS_PER_S);
    before = cc_target(cc);
    for (int i = 0; i < 12; i++) { /* 240 ms */
        cc_on_marks(cc, 1, 10, now + i * 20 * MS);
    }
    assert_in_range(cc_target(cc), before / 2, before * 9 / 10);
    cc_on_marks(cc, 1, 10, now + 260 * MS);
    assert_true(cc_target(cc) < before * 3 / 4);
}

/* Whatever a peer says, the target stays within its limits and is a number. */
static void test_absurd_feedback(void **state)
{
    static const ns_t arrivals[] = {0, 1, INT64_MAX - 9, INT64_MIN, -1, NS_PER_S, 1000 * NS_PER_S};
    ns_t now = 0;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        struct cc_packet p[2] = {
            {.sent = now,
             .arrival = arrivals[(i / 7) % 7] + i % 5,
             .bytes = i % 3 ? BYTES : 65535,
             .probe = CC_NO_PROBE},
            {.sent = now - 5 * MS, .lost = i % 11 == 0, .bytes = 1, .probe = CC_NO_PROBE}};

        now += i % 13 * MS;
        cc_on_sent(cc, BYTES, now);
        cc_on_feedback(cc, p, 2, i % 17 ? i % 400 * MS : INT64_MAX / 16, now);
        cc_expire(cc, now);
        assert_in_range(cc_target(cc), MIN_RATE, MAX_RATE);
    }
}

/* Everything lost: down to the minimum never, for nothing arrives to measure; but not up either. */
static void test_silence(void **state)
{
    ns_t now = 0;

    (void)state;
    (void)drive(5000000, &now, 5 * NS_PER_S);
    for (int i = 0; i < 1000; i++) {
        struct cc_packet p = {.sent = now, .bytes = BYTES, .lost = true, .probe = CC_NO_PROBE};

        now += 2 * MS;
        cc_on_sent(cc, BYTES, now);
        cc_on_feedback(cc, &p, 1, 0, now);
    }
    assert_in_range(cc_target(cc), MIN_RATE, 5300000);
}

static void test_configurations(void **state)
{
    const struct cc_config bad[] = {{.start_rate = 1, .min_rate = 0, .max_rate = 1},
                                    {.start_rate = 1, .min_rate = 2, .max_rate = 3},
                                    {.start_rate = 4, .min_rate = 2, .max_rate = 3}};
    struct cc *none = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(cc_muxbed_new(&none, &bad[i], 0), ERR_CONFIG);
        assert_null(none);
    }
}

/* The first calls for a probe give those of the start. */
static void test_probes(void **state)
{
    struct cc_probe p;

    (void)state;
    assert_true(cc_probe(cc, &p, 0));
    assert_int_equal(p.rate, 3 * cfg.start_rate);
    assert_true(cc_probe(cc, &p, 0));
    assert_int_equal(p.rate, 6 * cfg.start_rate);
    assert_false(cc_probe(cc, &p, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_finds_and_follows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_beside_constant_traffic, set_up, tear_down),
        cmocka_unit_test(test_is_back_soon),
        cmocka_unit_test_teardown(test_marks_of_a_short_path, tear_down),
        cmocka_unit_test_setup_teardown(test_absurd_feedback, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_silence, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_probes, set_up, tear_down),
        cmocka_unit_test(test_configurations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
