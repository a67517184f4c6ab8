/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/rtp/rtpstat.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define HZ 90000

/* Packet seq, sent every 10 ms and under way for transit. */
static bool arrive(struct rtpstat *s, int64_t seq, ns_t transit)
{
    return rtpstat_recv(s, (uint16_t)seq, (uint32_t)(seq * HZ / 100), 100,
                        seq * 10 * NS_PER_MS + transit);
}

static void nothing_came(void **state)
{
    struct rtcp_block b;
    struct rtpstat s;

    (void)state;
    rtpstat_init(&s, HZ);
    assert_false(rtpstat_report(&s, 1, &b, NS_PER_S));
    assert_int_equal(rtpstat_expected(&s), 0);
    assert_int_equal(rtpstat_lost(&s), 0);
}

static void losses_per_interval_and_in_all(void **state)
{
    struct rtcp_block b;
    struct rtpstat s;

    (void)state;
    rtpstat_init(&s, HZ);
    for (int seq = 1; seq <= 100; seq++) {
        if (seq % 4) {
            arrive(&s, seq, 0);
        }
    }
    /* 1 .. 99, 24 of them missing */
    assert_true(rtpstat_report(&s, 77, &b, NS_PER_S));
    assert_int_equal(b.ssrc, 77);
    assert_int_equal(b.fraction_lost, 24 * 256 / 99);
    assert_int_equal(b.cumulative_lost, 24);
    assert_int_equal(b.highest_seq, 99);
    assert_int_equal(b.lsr, 0);
    assert_int_equal(b.dlsr, 0);
    for (int seq = 100; seq < 200; seq++) {
        arrive(&s, seq, 0);
    }
    assert_true(rtpstat_report(&s, 77, &b, NS_PER_S));
    assert_int_equal(b.fraction_lost, 0);
    assert_int_equal(b.cumulative_lost, 24);
    /* an interval in which nothing came, and one of duplicates only */
    assert_true(rtpstat_report(&s, 77, &b, NS_PER_S));
    assert_int_equal(b.fraction_lost, 0);
    for (int i = 0; i < 30; i++) {
        arrive(&s, 199, 0);
    }
    assert_true(rtpstat_report(&s, 77, &b, NS_PER_S));
    assert_int_equal(b.fraction_lost, 0);
    assert_int_equal(b.cumulative_lost, -6);
}

static void everything_but_one_lost(void **state)
{
    struct rtcp_block b;
    struct rtpstat s;

    (void)state;
    rtpstat_init(&s, HZ);
    arrive(&s, 0, 0);
    rtpstat_report(&s, 1, &b, 0);
    arrive(&s, 2999, 0);
    assert_true(rtpstat_report(&s, 1, &b, 0));
    assert_int_equal(b.fraction_lost, 255);
    assert_int_equal(b.cumulative_lost, 2998);
}

static void numbers_wrap(void **state)
{
    struct rtcp_block b;
    struct rtpstat s;

    (void)state;
    rtpstat_init(&s, HZ);
    for (int64_t seq = 65530; seq < 3 * 65536 + 10; seq++) {
        assert_true(arrive(&s, seq, 0));
    }
    assert_true(rtpstat_report(&s, 1, &b, 0));
    assert_int_equal(b.highest_seq, 3 * 65536 + 9);
    assert_int_equal(b.cumulative_lost, 0);
    assert_int_equal(rtpstat_expected(&s), 3 * 65536 + 10 - 65530);
}

static void reordering_is_no_loss(void **state)
{
    struct rtcp_block b;
    struct rtpstat s;

    (void)state;
    rtpstat_init(&s, HZ);
    for (int64_t seq = 65500; seq < 65600; seq += 2) { /* over the wrap */
        arrive(&s, seq + 1, 0);
        arrive(&s, seq, 0);
    }
    assert_true(rtpstat_report(&s, 1, &b, 0));
    /* the first packet was 65501: 65500 counts as one too many */
    assert_int_equal(b.cumulative_lost, -1);
    assert_int_equal(b.highest_seq, 65599);
}

static void far_numbers_are_believed_when_two_agree(void **state)
{
    struct rtpstat s;

    (void)state;
    rtpstat_init(&s, HZ);
    for (int64_t seq = 0; seq < 10; seq++) {
        arrive(&s, seq, 0);
    }
    assert_false(arrive(&s, 20000, 0));
    assert_false(arrive(&s, 30000, 0));
    assert_int_equal(rtpstat_lost(&s), 0);
    assert_true(arrive(&s, 30001, 0));
    assert_int_equal(rtpstat_expected(&s), 1);
    assert_int_equal(s.received, 1);
}

/* Transit alternates by 10 ms = 900 ticks: the filter's fixed point is |D| itself. */
static void jitter_settles_at_the_mean_difference(void **state)
{
    struct rtcp_block b;
    struct rtpstat s;

    (void)state;
    rtpstat_init(&s, HZ);
    arrive(&s, 0, 0);
    arrive(&s, 1, 10 * NS_PER_MS);
    assert_true(rtpstat_report(&s, 1, &b, 0));
    assert_int_equal(b.jitter, 900 / 16); /* J += (|D| - J) / 16 */
    for (int64_t seq = 2; seq < 300; seq++) {
        arrive(&s, seq, seq % 2 * 10 * NS_PER_MS);
    }
    assert_true(rtpstat_report(&s, 1, &b, 0));
    assert_in_range(b.jitter, 892, 900);
    for (int64_t seq = 300; seq < 600; seq++) {
        arrive(&s, seq, 123 * NS_PER_MS);
    }
    assert_true(rtpstat_report(&s, 1, &b, 0));
    assert_true(b.jitter < 8);
}

static void enormous_jitter_does_not_wrap(void **state)
{
    struct rtcp_block b;
    struct rtpstat s;

    (void)state;
    rtpstat_init(&s, HZ);
    for (int seq = 0; seq < 100; seq++) {
        rtpstat_recv(&s, (uint16_t)seq, seq % 2 ? 0x7fffffff : 0, 1, 0);
    }
    assert_true(rtpstat_report(&s, 1, &b, 0));
    assert_true(b.jitter > 0x70000000);
}

static void reports_say_when_the_senders_came(void **state)
{
    struct rtcp_block b;
    struct rtpstat s;

    (void)state;
    rtpstat_init(&s, HZ);
    arrive(&s, 0, 0);
    rtpstat_sr(&s, 0x0000b70520001234, 10 * NS_PER_S);
    assert_true(rtpstat_report(&s, 1, &b, 15250 * NS_PER_MS));
    assert_int_equal(b.lsr, 0xb7052000);
    assert_int_equal(b.dlsr, 0x00054000); /* 5.25 s */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_came),
        cmocka_unit_test(losses_per_interval_and_in_all),
        cmocka_unit_test(everything_but_one_lost),
        cmocka_unit_test(numbers_wrap),
        cmocka_unit_test(reordering_is_no_loss),
        cmocka_unit_test(far_numbers_are_believed_when_two_agree),
        cmocka_unit_test(jitter_settles_at_the_mean_difference),
        cmocka_unit_test(enormous_jitter_does_not_wrap),
        cmocka_unit_test(reports_say_when_the_senders_came),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
