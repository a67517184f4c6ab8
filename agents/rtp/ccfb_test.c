/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/rtp/ccfb.h"

#include "agents/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static int parse(struct ccfb_feedback *f, struct ccfb_clock *clock, enum ccfb_num_reports form,
                 const void *bytes, size_t len)
{
    struct rtcp_reader r = rtcp_reader_init(bytes, len);
    struct rtcp_packet p;

    assert_int_equal(rtcp_check(bytes, len, true), 0);
    assert_true(rtcp_next(&r, &p));
    return ccfb_parse(f, clock, form, &p);
}

#define PARSE(f, clock, form, text) parse(f, clock, form, text, sizeof text - 1)

/* Two sources; the report was made at 100 s = 0x00640000. */
#define TWO_SOURCES(n)                                                                             \
    "\x8b\xcd\0\x09\0\0\0\1"                                                                       \
    "\0\0\0\7\xff\xff\0" n "\x80\x40\0\0\xff\xfe\0\0"                                              \
    "\0\0\0\x08\0\x05\0\1\xbf\xff\xbf\xff\0\x64\0\0"

static void a_packet_in_full(void **state)
{
    struct ccfb_clock clock = {0};
    struct ccfb_feedback f;
    struct ccfb_status s;

    (void)state;
    /* the second source has one report and padding, or (other form) two */
    assert_int_equal(PARSE(&f, &clock, CCFB_NUM_REPORTS_COUNT, TWO_SOURCES("\3")), 0);
    assert_int_equal(f.sender_ssrc, 1);
    assert_int_equal(f.made, 100 * NS_PER_S);
    assert_true(ccfb_next(&f, &s));
    assert_int_equal(s.ssrc, 7);
    assert_int_equal(s.seq, 65535);
    assert_true(s.received && s.arrival_known);
    assert_int_equal(s.ecn, 0);
    assert_int_equal(s.arrival, 100 * NS_PER_S - NS_PER_S / 16); /* 64/1024 s before */
    assert_true(ccfb_next(&f, &s));
    assert_int_equal(s.seq, 0);
    assert_false(s.received);
    assert_true(ccfb_next(&f, &s));
    assert_int_equal(s.seq, 1);
    assert_true(s.received);
    assert_int_equal(s.ecn, 3);
    assert_false(s.arrival_known); /* 0x1ffe: too long ago */
    assert_true(ccfb_next(&f, &s));
    assert_int_equal(s.ssrc, 8);
    assert_int_equal(s.seq, 5);
    assert_int_equal(s.ecn, 1);
    assert_false(s.arrival_known); /* 0x1fff: not available */
    assert_false(ccfb_next(&f, &s));
}

static void the_other_reading_of_num_reports(void **state)
{
    struct ccfb_clock clock = {0};
    struct ccfb_feedback f;
    struct ccfb_status s;
    size_t n = 0;

    (void)state;
    assert_int_equal(PARSE(&f, &clock, CCFB_NUM_REPORTS_COUNT_MINUS_ONE, TWO_SOURCES("\3")), 0);
    while (ccfb_next(&f, &s)) {
        n++;
    }
    assert_int_equal(n, 4 + 2);
    assert_int_equal(s.ssrc, 8);
    assert_int_equal(s.seq, 6);
    /* the first source's two metrics end where the next block should begin: nothing fits */
    assert_int_equal(PARSE(&f, &clock, CCFB_NUM_REPORTS_COUNT_MINUS_ONE, TWO_SOURCES("\x30")),
                     ERR_MALFORMED);
}

static void what_does_not_add_up(void **state)
{
    struct ccfb_clock clock = {0};
    struct ccfb_feedback f;
    struct ccfb_status s;

    (void)state;
    /* no room for the timestamp; not ours; a block's header cut; metrics missing */
    assert_int_equal(PARSE(&f, &clock, 0, "\x8b\xcd\0\1\0\0\0\1"), ERR_MALFORMED);
    assert_int_equal(PARSE(&f, &clock, 0, "\x8f\xcd\0\2\0\0\0\1\0\0\0\0"), ERR_MALFORMED);
    assert_int_equal(PARSE(&f, &clock, 0, "\x8b\xcd\0\3\0\0\0\1\0\0\0\7\0\0\0\0"), ERR_MALFORMED);
    assert_int_equal(PARSE(&f, &clock, 0, "\x8b\xcd\0\4\0\0\0\1\0\0\0\7\0\0\0\1\0\0\0\0"),
                     ERR_MALFORMED);
    assert_false(clock.timestamp.started);
    /* no blocks, and a block without metrics ("nothing new") */
    assert_int_equal(PARSE(&f, &clock, 0, "\x8b\xcd\0\2\0\0\0\1\0\1\0\0"), 0);
    assert_false(ccfb_next(&f, &s));
    assert_int_equal(f.made, NS_PER_S);
    assert_int_equal(PARSE(&f, &clock, 0, "\x8b\xcd\0\4\0\0\0\1\0\0\0\7\0\0\0\0\0\2\0\0"), 0);
    assert_false(ccfb_next(&f, &s));
}

static void more_metrics_than_allowed(void **state)
{
    const size_t metrics = 16386, len = 8 + 8 + 2 * metrics + 4;
    uint8_t *bytes = calloc(1, len);
    struct ccfb_clock clock = {0};
    struct ccfb_feedback f;

    (void)state;
    memcpy(bytes, "\x8b\xcd", 2);
    bytes[2] = (uint8_t)((len / 4 - 1) >> 8);
    bytes[3] = (uint8_t)(len / 4 - 1);
    bytes[14] = (uint8_t)(metrics >> 8);
    bytes[15] = (uint8_t)metrics;
    assert_int_equal(parse(&f, &clock, 0, bytes, len), ERR_MALFORMED);
    free(bytes);
}

static void timestamps_unwrap(void **state)
{
    struct ccfb_clock clock = {0};
    struct ccfb_feedback f;

    (void)state;
    assert_int_equal(PARSE(&f, &clock, 0, "\x8b\xcd\0\2\0\0\0\1\xff\xff\0\0"), 0);
    assert_int_equal(f.made, 65535 * NS_PER_S);
    assert_int_equal(PARSE(&f, &clock, 0, "\x8b\xcd\0\2\0\0\0\1\0\1\0\0"), 0);
    assert_int_equal(f.made, 65537 * NS_PER_S);
}

/* ---- both sides ---- */

struct heard {
    size_t packets, statuses;
    struct ccfb_status last[2][256]; /* by ssrc - 1 and number */
    bool seen[2][256];
};

static void exchange(struct ccfb_receiver *r, enum ccfb_num_reports form, struct ccfb_clock *clock,
                     struct heard *h, size_t cap, ns_t now)
{
    uint8_t out[2000];
    int len;

    while ((len = ccfb_receiver_feedback(r, 9, out, cap, now)) > 0) {
        struct ccfb_feedback f;
        struct ccfb_status s;

        assert_true((size_t)len <= cap);
        assert_int_equal(parse(&f, clock, form, out, (size_t)len), 0);
        assert_true(f.made <= now && now - f.made < 16 * NS_PER_US);
        h->packets++;
        while (ccfb_next(&f, &s)) {
            assert_in_range(s.ssrc, 1, 2);
            assert_in_range(s.seq, 0, 255);
            /* what was reported as received stays so */
            assert_true(s.received || !h->last[s.ssrc - 1][s.seq].received);
            h->last[s.ssrc - 1][s.seq] = s;
            h->seen[s.ssrc - 1][s.seq] = true;
            h->statuses++;
        }
    }
    assert_int_equal(len, 0);
    assert_false(ccfb_receiver_pending(r));
}

static bool near(ns_t a, ns_t b)
{
    return a - b < NS_PER_S / 1024 && b - a < NS_PER_S / 1024;
}

static void arrivals_come_through(void **state)
{
    for (int form = 0; form < 2; form++) {
        struct ccfb_receiver *r;
        struct ccfb_clock clock = {0};
        struct heard h = {0};
        ns_t at = NS_PER_S;

        (void)state;
        assert_int_equal(ccfb_receiver_new(&r, (enum ccfb_num_reports)form), 0);
        assert_false(ccfb_receiver_pending(r));
        for (uint16_t seq = 0; seq < 200; seq++) {
            at += 3 * NS_PER_MS + 141592;
            if (seq % 7 != 3) {
                assert_int_equal(ccfb_receiver_recv(r, 1, seq, seq % 4, at), 0);
            }
            if (seq % 3 == 0) {
                assert_int_equal(ccfb_receiver_recv(r, 2, seq, 0, at), 0);
            }
            if (seq % 20 == 19) {
                exchange(r, (enum ccfb_num_reports)form, &clock, &h, CCFB_PACKET_BYTES_MIN + seq,
                         at + NS_PER_MS);
            }
        }
        assert_true(h.packets > 10);
        at = NS_PER_S;
        for (uint16_t seq = 0; seq < 199; seq++) {
            const struct ccfb_status *s = &h.last[0][seq];

            at += 3 * NS_PER_MS + 141592;
            assert_true(h.seen[0][seq]);
            assert_int_equal(s->received, seq % 7 != 3);
            if (s->received) {
                assert_int_equal(s->ecn, seq % 4);
                assert_true(s->arrival_known && near(s->arrival, at));
            }
            assert_true(h.seen[1][seq]);
            assert_int_equal(h.last[1][seq].received, seq % 3 == 0);
        }
        ccfb_receiver_free(r);
    }
}

static void duplicates_and_late_packets(void **state)
{
    struct ccfb_receiver *r;
    struct ccfb_clock clock = {0};
    struct heard h = {0};

    (void)state;
    assert_int_equal(ccfb_receiver_new(&r, CCFB_NUM_REPORTS_COUNT), 0);
    ccfb_receiver_recv(r, 1, 5, 2, NS_PER_S);
    ccfb_receiver_recv(r, 1, 5, 3, 2 * NS_PER_S); /* a marked copy */
    ccfb_receiver_recv(r, 1, 8, 1, 2 * NS_PER_S);
    ccfb_receiver_recv(r, 1, 8, 2, 2 * NS_PER_S); /* a copy with another mark changes nothing */
    exchange(r, 0, &clock, &h, 200, 3 * NS_PER_S);
    assert_int_equal(h.statuses, 4);
    assert_int_equal(h.last[0][5].ecn, 3);
    assert_true(near(h.last[0][5].arrival, NS_PER_S));
    assert_int_equal(h.last[0][8].ecn, 1);
    ccfb_receiver_recv(r, 1, 6, 0, 4 * NS_PER_S);
    exchange(r, 0, &clock, &h, 200, 5 * NS_PER_S);
    assert_int_equal(h.statuses, 4 + 3); /* 6, 7, 8 */
    assert_true(h.last[0][6].received);
    assert_false(h.last[0][7].received);
    assert_true(near(h.last[0][8].arrival, 2 * NS_PER_S));
    ccfb_receiver_recv(r, 1, 3, 0, 5 * NS_PER_S); /* before the first */
    exchange(r, 0, &clock, &h, 200, 5 * NS_PER_S);
    assert_true(h.last[0][3].received);
    ccfb_receiver_free(r);
}

static void ages_at_their_limits(void **state)
{
    static const struct {
        ns_t age;
        uint16_t metric;
    } cases[] = {
        {0, 0x8000},
        {NS_PER_S, 0x8000 | 1024},
        {8189 * NS_PER_S / 1024, 0x8000 | 8189},
        {8191 * NS_PER_S / 1024, 0x8000 | 0x1ffe},
        {100 * NS_PER_S, 0x8000 | 0x1ffe},
        {-NS_PER_MS, 0x8000 | 0x1fff}, /* after the report was made */
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ccfb_receiver *r;
        uint8_t out[64];

        assert_int_equal(ccfb_receiver_new(&r, CCFB_NUM_REPORTS_COUNT), 0);
        ccfb_receiver_recv(r, 1, 0, 0, 1000 * NS_PER_S - cases[i].age);
        assert_int_equal(ccfb_receiver_feedback(r, 9, out, sizeof out, 1000 * NS_PER_S), 24);
        assert_int_equal(out[16] << 8 | out[17], cases[i].metric);
        ccfb_receiver_free(r);
    }
}

static void bounds(void **state)
{
    struct ccfb_receiver *r;
    uint8_t out[64];

    (void)state;
    assert_int_equal(ccfb_receiver_new(&r, CCFB_NUM_REPORTS_COUNT), 0);
    for (uint32_t ssrc = 1; ssrc <= CCFB_SOURCES_MAX; ssrc++) {
        assert_int_equal(ccfb_receiver_recv(r, ssrc, 0, 0, 0), 0);
    }
    assert_int_equal(ccfb_receiver_recv(r, 99, 0, 0, 0), ERR_LIMIT);
    assert_int_equal(ccfb_receiver_feedback(r, 9, out, CCFB_PACKET_BYTES_MIN - 1, 0), ERR_SPACE);
    /* one source at a time where there is room for no more */
    for (int i = 0; i < CCFB_SOURCES_MAX; i++) {
        assert_int_equal(ccfb_receiver_feedback(r, 9, out, CCFB_PACKET_BYTES_MIN, 0), 24);
    }
    assert_int_equal(ccfb_receiver_feedback(r, 9, out, CCFB_PACKET_BYTES_MIN, 0), 0);
    ccfb_receiver_free(r);
}

/* A gap longer than what is kept: only the newest numbers are reported, and too old ones ignored.
 */
static void long_gaps(void **state)
{
    struct ccfb_receiver *r;
    struct ccfb_feedback f;
    struct ccfb_clock clock = {0};
    struct ccfb_status s;
    uint8_t *out = malloc(40000);
    size_t n = 0;
    int len;

    (void)state;
    assert_int_equal(ccfb_receiver_new(&r, CCFB_NUM_REPORTS_COUNT), 0);
    ccfb_receiver_recv(r, 1, 0, 0, 0);
    ccfb_receiver_recv(r, 1, 30000, 0, NS_PER_S);
    ccfb_receiver_recv(r, 1, 5000, 0, NS_PER_S);
    len = ccfb_receiver_feedback(r, 9, out, 40000, NS_PER_S);
    assert_int_equal(len, 8 + 8 + 2 * 16384 + 4);
    assert_int_equal(parse(&f, &clock, 0, out, (size_t)len), 0);
    while (ccfb_next(&f, &s)) {
        assert_int_equal(s.received, s.seq == 30000);
        n++;
    }
    assert_int_equal(n, 16384);
    ccfb_receiver_free(r);
    free(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_packet_in_full),
        cmocka_unit_test(the_other_reading_of_num_reports),
        cmocka_unit_test(what_does_not_add_up),
        cmocka_unit_test(more_metrics_than_allowed),
        cmocka_unit_test(timestamps_unwrap),
        cmocka_unit_test(arrivals_come_through),
        cmocka_unit_test(duplicates_and_late_packets),
        cmocka_unit_test(ages_at_their_limits),
        cmocka_unit_test(bounds),
        cmocka_unit_test(long_gaps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
