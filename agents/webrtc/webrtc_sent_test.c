/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/webrtc/webrtc_sent.h"

#include "agents/base/buf.h"
#include "agents/rtp/rtcp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Sender's memory, receiver's log, and the feedback between them. */
struct loop {
    struct webrtc_sent sent;
    struct twcc_receiver *receiver;
    const struct cc_packet *packets;
    size_t n;
    int64_t lost_rows, lost_datagram, lost_sent;
    struct record_sink sink;
};

static void put(void *ctx, enum record_kind kind, const char *name, const int64_t *v)
{
    struct loop *l = ctx;

    (void)name;
    assert_int_equal(kind, RECORD_PACKET_LOST);
    l->lost_rows++;
    l->lost_datagram = v[1];
    l->lost_sent = v[2];
}

static void loop_init(struct loop *l)
{
    memset(l, 0, sizeof *l);
    l->sink = (struct record_sink){.put = put, .ctx = l};
    assert_int_equal(webrtc_sent_init(&l->sent), 0);
    assert_int_equal(twcc_receiver_new(&l->receiver), 0);
}

static void loop_fini(struct loop *l)
{
    twcc_receiver_free(l->receiver);
    webrtc_sent_fini(&l->sent);
}

/* Sends one packet at t, which arrives 10 ms later unless lost. Returns its number. */
static uint16_t send_one(struct loop *l, ns_t t, bool lost)
{
    uint16_t seq = webrtc_sent_seq(&l->sent);

    webrtc_sent_add(&l->sent, 1000, l->sent.next + 100, seq % 2 ? CC_NO_PROBE : 7, t);
    if (!lost) {
        twcc_receiver_recv(l->receiver, seq, t + 10 * NS_PER_MS);
    }
    return seq;
}

static void feedback(struct loop *l, ns_t now)
{
    uint8_t data[1200];
    struct rtcp_reader r;
    struct rtcp_packet p;
    int n = twcc_receiver_feedback(l->receiver, 1, 2, data, sizeof data);

    assert_true(n > 0);
    assert_int_equal(rtcp_check(data, (size_t)n, true), 0);
    r = rtcp_reader_init(data, (size_t)n);
    assert_true(rtcp_next(&r, &p));
    l->n = webrtc_sent_feedback(&l->sent, &p, &l->sink, &l->packets, now);
}

static void test_arrivals(void **state)
{
    struct loop l;

    (void)state;
    loop_init(&l);
    for (int i = 0; i < 5; i++) {
        send_one(&l, i * NS_PER_MS, false);
    }
    feedback(&l, 50 * NS_PER_MS);
    assert_int_equal(l.n, 5);
    for (int i = 0; i < 5; i++) {
        const struct cc_packet *p = &l.packets[i];
        assert_int_equal(p->sent, i * NS_PER_MS);
        assert_int_equal(p->arrival, i * NS_PER_MS + 10 * NS_PER_MS);
        assert_int_equal(p->bytes, 1000);
        assert_false(p->lost);
        assert_int_equal(p->probe, i % 2 ? 7 : CC_NO_PROBE);
    }
    assert_int_equal(l.lost_rows, 0);
    loop_fini(&l);
}

/* In flight is what was sent after the newest packet a feedback knows of; what is lost before it is
 * no more, and what is forgotten neither. */
static void test_in_flight(void **state)
{
    struct loop l;

    (void)state;
    loop_init(&l);
    for (int i = 0; i < 5; i++) {
        send_one(&l, i * NS_PER_MS, i == 1);
    }
    assert_int_equal(l.sent.in_flight_bytes, 5000);
    feedback(&l, 50 * NS_PER_MS);
    assert_int_equal(l.sent.in_flight_bytes, 0);
    send_one(&l, 60 * NS_PER_MS, false);
    send_one(&l, 61 * NS_PER_MS, true);
    send_one(&l, 62 * NS_PER_MS, true);
    feedback(&l, 100 * NS_PER_MS);
    assert_int_equal(l.sent.in_flight_bytes, 2000);
    for (int i = 0; i < WEBRTC_SENT_MAX + 10; i++) {
        send_one(&l, 200 * NS_PER_MS, true);
    }
    assert_int_equal(l.sent.in_flight_bytes, INT64_C(1000) * WEBRTC_SENT_MAX);
    loop_fini(&l);
}

static void test_loss_and_late_arrival(void **state)
{
    struct loop l;
    uint16_t late;

    (void)state;
    loop_init(&l);
    send_one(&l, 0, false);
    late = send_one(&l, NS_PER_MS, true);
    send_one(&l, 2 * NS_PER_MS, false);
    feedback(&l, 50 * NS_PER_MS);
    assert_int_equal(l.n, 3);
    assert_true(l.packets[1].lost);
    assert_int_equal(l.lost_rows, 1);
    assert_int_equal(l.lost_datagram, 102);
    assert_int_equal(l.lost_sent, NS_PER_MS);
    assert_int_equal(l.sent.lost, 1);

    twcc_receiver_recv(l.receiver, late, 60 * NS_PER_MS);
    feedback(&l, 80 * NS_PER_MS); /* repeats the third, too, which is no news */
    assert_int_equal(l.n, 1);
    assert_false(l.packets[0].lost);
    assert_int_equal(l.packets[0].sent, NS_PER_MS);
    assert_int_equal(l.packets[0].arrival, 60 * NS_PER_MS);
    assert_int_equal(l.sent.spurious, 1);
    assert_int_equal(l.lost_rows, 1);
    loop_fini(&l);
}

/* Numbers wrap after 2^16 packets, and old ones are forgotten after WEBRTC_SENT_MAX. */
static void test_long_run(void **state)
{
    struct loop l;
    int64_t received = 0;

    (void)state;
    loop_init(&l);
    for (int64_t i = 0; i < 70000; i++) {
        send_one(&l, i * NS_PER_MS, i % 100 == 99);
        if (i % 50 == 49) {
            feedback(&l, i * NS_PER_MS + 20 * NS_PER_MS);
            for (size_t k = 0; k < l.n; k++) {
                received += !l.packets[k].lost;
                assert_true(l.packets[k].lost ||
                            l.packets[k].arrival == l.packets[k].sent + 10 * NS_PER_MS);
            }
        }
    }
    assert_int_equal(received, 70000 - 700);
    assert_int_equal(l.sent.unknown, 0);
    loop_fini(&l);
}

static void test_feedback_on_what_was_not_sent(void **state)
{
    struct loop l;

    (void)state;
    loop_init(&l);
    twcc_receiver_recv(l.receiver, 4711, NS_PER_MS);
    twcc_receiver_recv(l.receiver, 4712, NS_PER_MS);
    feedback(&l, 50 * NS_PER_MS);
    assert_int_equal(l.n, 0);
    assert_int_equal(l.sent.unknown, 2);
    assert_int_equal(l.lost_rows, 0);
    loop_fini(&l);
}

static void test_malformed(void **state)
{
    static const uint8_t data[20] = {0x8f, 205, 0, 4, 0, 0, 0, 1, 0, 0, 0, 2, 0, 1, 0xff, 0xff};
    struct rtcp_packet p = {.type = RTCP_RTPFB, .count = RTCP_FMT_TWCC, .data = data, .len = 20};
    struct loop l;

    (void)state;
    loop_init(&l);
    assert_int_equal(webrtc_sent_feedback(&l.sent, &p, &l.sink, &l.packets, 0), 0);
    assert_int_equal(l.sent.malformed, 1);
    assert_int_equal(l.sent.feedbacks, 0);
    loop_fini(&l);
}

/* RFC 8888: three sources, each with numbers of its own, reported one behind the other. */
static void test_by_source(void **state)
{
    static const uint32_t ssrcs[] = {7, 8, 7, 9, 7, 8};
    static const uint16_t seqs[] = {65535, 3, 0, 100, 1, 4};
    struct ccfb_receiver *receiver;
    struct rtcp_packet p;
    struct rtcp_reader r;
    struct loop l;
    uint8_t data[1200];
    int64_t told, marked;
    int n;

    (void)state;
    loop_init(&l);
    assert_int_equal(webrtc_sent_by_source(&l.sent), 0);
    assert_int_equal(ccfb_receiver_new(&receiver, CCFB_NUM_REPORTS_COUNT), 0);
    for (int i = 0; i < 6; i++) {
        webrtc_sent_name(&l.sent, ssrcs[i], seqs[i]);
        webrtc_sent_add(&l.sent, 1000, i, CC_NO_PROBE, i * NS_PER_MS);
        if (i != 2) { /* lost; the last two come marked */
            assert_int_equal(ccfb_receiver_recv(receiver, ssrcs[i], seqs[i], i > 3 ? 3 : 1,
                                                (10 + i) * NS_PER_MS),
                             0);
        }
    }
    webrtc_sent_name(&l.sent, 11, 0); /* a fourth source is not remembered */
    n = ccfb_receiver_feedback(receiver, 1, data, sizeof data, 50 * NS_PER_MS);
    assert_true(n > 0);
    r = rtcp_reader_init(data, (size_t)n);
    assert_true(rtcp_next(&r, &p));
    l.n = webrtc_sent_ccfb(&l.sent, &p, &l.sink, &l.packets, 60 * NS_PER_MS);
    assert_int_equal(l.n, 6);
    for (int i = 0; i < 6; i++) { /* in the order they were sent */
        ns_t late = l.packets[i].arrival - (10 + i) * NS_PER_MS;

        assert_int_equal(l.packets[i].sent, i * NS_PER_MS);
        assert_int_equal(l.packets[i].lost, i == 2);
        assert_true(i == 2 || (late > -NS_PER_MS && late < NS_PER_MS));
    }
    assert_int_equal(l.lost_rows, 1);
    assert_int_equal(l.lost_datagram, 2);
    assert_int_equal(l.sent.in_flight_bytes, 0);
    webrtc_sent_take_marks(&l.sent, &told, &marked);
    assert_int_equal(told, 5);
    assert_int_equal(marked, 2);
    /* the same once more says nothing new */
    assert_int_equal(webrtc_sent_ccfb(&l.sent, &p, &l.sink, &l.packets, 70 * NS_PER_MS), 0);
    webrtc_sent_take_marks(&l.sent, &told, &marked);
    assert_int_equal(told + marked, 0);
    ccfb_receiver_free(receiver);
    loop_fini(&l);
}

/* A sequence number that was never sent is nobody's, also where one that was has its place. */
static void test_by_source_of_what_was_not_sent(void **state)
{
    struct ccfb_receiver *receiver;
    struct rtcp_packet p;
    struct rtcp_reader r;
    struct loop l;
    uint8_t data[1200];
    int n;

    (void)state;
    loop_init(&l);
    assert_int_equal(webrtc_sent_by_source(&l.sent), 0);
    assert_int_equal(ccfb_receiver_new(&receiver, CCFB_NUM_REPORTS_COUNT), 0);
    webrtc_sent_name(&l.sent, 7, 5);
    webrtc_sent_add(&l.sent, 1000, 0, CC_NO_PROBE, 0);
    assert_int_equal(ccfb_receiver_recv(receiver, 7, 5 + WEBRTC_SENT_MAX, 1, 10 * NS_PER_MS), 0);
    n = ccfb_receiver_feedback(receiver, 1, data, sizeof data, 50 * NS_PER_MS);
    assert_true(n > 0);
    r = rtcp_reader_init(data, (size_t)n);
    assert_true(rtcp_next(&r, &p));
    assert_int_equal(webrtc_sent_ccfb(&l.sent, &p, &l.sink, &l.packets, 60 * NS_PER_MS), 0);
    assert_int_equal(l.sent.unknown, 1);
    assert_int_equal(l.sent.in_flight_bytes, 1000);
    ccfb_receiver_free(receiver);
    loop_fini(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arrivals),  cmocka_unit_test(test_loss_and_late_arrival),
        cmocka_unit_test(test_long_run),  cmocka_unit_test(test_feedback_on_what_was_not_sent),
        cmocka_unit_test(test_malformed), cmocka_unit_test(test_in_flight),
        cmocka_unit_test(test_by_source), cmocka_unit_test(test_by_source_of_what_was_not_sent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
