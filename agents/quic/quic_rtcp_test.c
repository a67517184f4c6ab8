/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/quic/quic_rtcp.h"

#include "agents/media/packetizer.h"
#include "agents/quic/quic_agent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SSRC 0x01020304

static const struct quic_rtcp_sent nothing = {.rtp_timestamp = 0};

/* The report that waits, behind RoQ's flow identifier, goes to the peer. */
static void carry(struct quic_rtcp *from, struct quic_rtcp *to, ns_t now)
{
    assert_true(from->len > 1);
    assert_int_equal(from->packet[0], QUIC_AGENT_RTCP_FLOW);
    quic_rtcp_recv(to, from->packet + 1, from->len - 1, now);
    quic_rtcp_taken(from);
    assert_int_equal(from->len, 0);
}

static void media(struct quic_rtcp *r, struct packetizer *p, int64_t frame, ns_t arrival)
{
    const struct encoder_frame f = {
        .number = frame, .captured = frame * NS_PER_S / 25, .bytes = 1000};
    struct packetizer_packet k;

    assert_int_equal(packetizer_next(p, &f, 0, &k), 0);
    if (arrival) {
        quic_rtcp_media(r, k.data, k.len, arrival);
    }
}

static void test_reports(void **state)
{
    const struct quic_rtcp_sent sent = {
        .rtp_timestamp = 1234, .packets = 20, .payload_bytes = 20000};
    struct quic_rtcp s, r;
    struct packetizer p;

    (void)state;
    packetizer_init(&p, 1, 1200);
    quic_rtcp_init(&s, true, true, p.ssrc, 1);
    quic_rtcp_init(&r, true, false, 0, 1);
    assert_true(s.ssrc == p.ssrc && r.ssrc != p.ssrc);
    quic_rtcp_make_rr(&r, NS_PER_S); /* nothing has come: a report without blocks */
    carry(&r, &s, NS_PER_S);
    assert_int_equal(s.received, 1);
    for (int64_t f = 0; f < 20; f++) { /* every fifth is lost */
        media(&r, &p, f, f % 5 == 3 ? 0 : f * NS_PER_S / 25 + 30 * NS_PER_MS);
    }
    quic_rtcp_make_sr(&s, &sent, false, 2 * NS_PER_S);
    carry(&s, &r, 2 * NS_PER_S + 30 * NS_PER_MS);
    quic_rtcp_make_rr(&r, 3 * NS_PER_S);
    carry(&r, &s, 3 * NS_PER_S + 20 * NS_PER_MS);
    assert_int_equal(s.last.cumulative_lost, 4);
    assert_in_range(s.last.fraction_lost, 256 * 4 / 20 - 2, 256 * 4 / 20 + 2);
    assert_int_equal(s.last.jitter, 0);
    assert_in_range(s.rtt, 49 * NS_PER_MS, 51 * NS_PER_MS);
    assert_int_equal(s.received, 2);
    assert_int_equal(r.received, 1);
    assert_int_equal(s.malformed + r.malformed, 0);
}

static void test_times(void **state)
{
    struct quic_rtcp s;
    ns_t now = NS_PER_S, first, sum = 0;

    (void)state;
    quic_rtcp_init(&s, true, true, SSRC, 1);
    assert_true(quic_rtcp_deadline(&s) == NS_NEVER);
    quic_rtcp_start(&s, now);
    first = quic_rtcp_deadline(&s);
    quic_rtcp_start(&s, now + 1); /* once */
    assert_int_equal(quic_rtcp_deadline(&s), first);
    for (int i = 0; i < 1000; i++) {
        ns_t wait = quic_rtcp_deadline(&s) - now;
        assert_in_range(wait, 410 * NS_PER_MS, 1232 * NS_PER_MS);
        sum += wait;
        now = quic_rtcp_deadline(&s);
        quic_rtcp_make_sr(&s, &nothing, false, now);
    }
    assert_in_range(sum / 1000, 790 * NS_PER_MS, 850 * NS_PER_MS);
    quic_rtcp_make_sr(&s, &nothing, true, now);
    assert_true(quic_rtcp_deadline(&s) == NS_NEVER); /* BYE was the last */
}

static void test_off(void **state)
{
    struct quic_rtcp s;

    (void)state;
    quic_rtcp_init(&s, false, true, SSRC, 1);
    quic_rtcp_start(&s, 0);
    assert_true(quic_rtcp_deadline(&s) == NS_NEVER);
    quic_rtcp_counters(&s, NULL);
}

static void test_malformed(void **state)
{
    struct quic_rtcp s, r;

    (void)state;
    quic_rtcp_init(&s, true, true, SSRC, 1);
    quic_rtcp_init(&r, true, false, 0, 1);
    quic_rtcp_make_sr(&s, &nothing, true, NS_PER_S);
    for (size_t len = 0; len + 1 < s.len; len++) { /* every cut but those between packets */
        quic_rtcp_recv(&r, s.packet + 1, len, NS_PER_S);
    }
    assert_int_equal(r.received, 2); /* SR alone, SR and SDES */
    assert_int_equal(r.received + r.malformed, s.len - 1);
    s.packet[1] ^= 0xc0; /* another version */
    quic_rtcp_recv(&r, s.packet + 1, s.len - 1, NS_PER_S);
    assert_int_equal(r.received, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reports),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_off),
        cmocka_unit_test(test_malformed),
    };

    return cmocka_run_group_tests_name("quic rtcp", tests, NULL, NULL);
}
