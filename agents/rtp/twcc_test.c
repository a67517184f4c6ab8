/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/rtp/twcc.h"

#include "agents/base/err.h"
#include "agents/base/prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define HEAD(length, base, count, reference, number)                                               \
    "\x8f\xcd\0" length "\0\0\0\1\0\0\0\2" base count reference number

static int parse(struct twcc_feedback *f, struct twcc_clock *clock, const void *bytes, size_t len)
{
    struct rtcp_reader r = rtcp_reader_init(bytes, len);
    struct rtcp_packet p;

    assert_int_equal(rtcp_check(bytes, len, true), 0);
    assert_true(rtcp_next(&r, &p));
    return twcc_parse(f, clock, &p);
}

#define PARSE(f, clock, text) parse(f, clock, text, sizeof text - 1)

static void expect(struct twcc_feedback *f, uint16_t seq, int64_t ticks)
{
    struct twcc_status s;

    assert_true(twcc_next(f, &s));
    assert_int_equal(s.seq, seq);
    assert_int_equal(s.received, ticks >= 0);
    if (ticks >= 0) {
        assert_int_equal(s.arrival, ticks * TWCC_TICK);
    }
}

static void expect_end(struct twcc_feedback *f)
{
    struct twcc_status s;

    assert_false(twcc_next(f, &s));
}

/* The draft's example of a one-bit vector, 0x9f1c: one missing, five received, three missing, three
 * received, two missing. */
static void the_drafts_one_bit_vector(void **state)
{
    static const int64_t ticks[] = {-1, 257, 258, 259, 260, 261, -1, -1, -1, 262, 263, 264, -1, -1};
    struct twcc_clock clock = {0};
    struct twcc_feedback f;

    (void)state;
    assert_int_equal(
        PARSE(&f, &clock,
              HEAD("\7", "\xff\xff", "\0\x0e", "\0\0\1", "\x2a") "\x9f\x1c\1\1\1\1\1\1\1\1\0\0"),
        0);
    assert_int_equal(f.sender_ssrc, 1);
    assert_int_equal(f.media_ssrc, 2);
    assert_int_equal(f.base_seq, 65535);
    assert_int_equal(f.feedback_count, 42);
    assert_int_equal(f.reference, 64 * NS_PER_MS);
    for (size_t i = 0; i < 14; i++) {
        expect(&f, (uint16_t)(65535 + i), ticks[i]);
    }
    expect_end(&f);
}

/* The draft's run of 221 missing packets, 0x00dd, before one that came. */
static void the_drafts_run(void **state)
{
    struct twcc_clock clock = {0};
    struct twcc_feedback f;

    (void)state;
    assert_int_equal(
        PARSE(&f, &clock, HEAD("\6", "\0\0", "\0\xde", "\0\0\0", "\0") "\0\xdd\x20\1\x28\0\0\0"),
        0);
    for (uint16_t seq = 0; seq < 221; seq++) {
        expect(&f, seq, -1);
    }
    expect(&f, 221, 40);
    expect_end(&f);
}

static void two_bit_vectors_and_signed_deltas(void **state)
{
    struct twcc_clock clock = {0};
    struct twcc_feedback f;

    (void)state;
    /* small, large negative, missing, large positive; what exceeds the count is ignored */
    assert_int_equal(
        PARSE(&f, &clock,
              HEAD("\7", "\0\5", "\0\4", "\0\0\2", "\0") "\xd8\xbf\x05\xff\xfe\x7f\xff\0\0\0\0\0"),
        0);
    expect(&f, 5, 512 + 5);
    expect(&f, 6, 512 + 3);
    expect(&f, 7, -1);
    expect(&f, 8, 512 + 3 + 32767);
    expect_end(&f);
}

static void what_does_not_add_up(void **state)
{
    struct twcc_clock clock = {0};
    struct twcc_feedback f;

    (void)state;
    /* the header alone */
    assert_int_equal(PARSE(&f, &clock, "\x8f\xcd\0\3\0\0\0\1\0\0\0\2\0\1\0\1"), ERR_MALFORMED);
    /* another kind of packet */
    assert_int_equal(PARSE(&f, &clock, "\x8e\xcd\0\4\0\0\0\1\0\0\0\2\0\1\0\0\0\0\0\0"),
                     ERR_MALFORMED);
    /* chunks missing; a reserved symbol, run and vector; deltas missing */
    assert_int_equal(PARSE(&f, &clock, HEAD("\4", "\0\0", "\0\1", "\0\0\0", "\0")), ERR_MALFORMED);
    assert_int_equal(PARSE(&f, &clock, HEAD("\5", "\0\0", "\0\1", "\0\0\0", "\0") "\x60\1\0\0"),
                     ERR_MALFORMED);
    assert_int_equal(PARSE(&f, &clock, HEAD("\5", "\0\0", "\0\2", "\0\0\0", "\0") "\xcc\0\0\0"),
                     ERR_MALFORMED);
    assert_int_equal(PARSE(&f, &clock, HEAD("\5", "\0\0", "\0\3", "\0\0\0", "\0") "\x20\3\0\0"),
                     ERR_MALFORMED);
    /* empty runs until the packet ends */
    assert_int_equal(PARSE(&f, &clock, HEAD("\5", "\0\0", "\0\1", "\0\0\0", "\0") "\0\0\0\0"),
                     ERR_MALFORMED);
    assert_false(clock.started);
    /* an empty one says nothing */
    assert_int_equal(PARSE(&f, &clock, HEAD("\4", "\0\0", "\0\0", "\0\0\0", "\0")), 0);
    expect_end(&f);
}

static void reference_times_unwrap(void **state)
{
    struct twcc_clock clock = {0};
    struct twcc_feedback f;

    (void)state;
    assert_int_equal(PARSE(&f, &clock, HEAD("\4", "\0\0", "\0\0", "\x7f\xff\xff", "\0")), 0);
    assert_int_equal(f.reference, 0x7fffff * TWCC_REFERENCE);
    assert_int_equal(PARSE(&f, &clock, HEAD("\4", "\0\0", "\0\0", "\x80\0\2", "\0")), 0);
    assert_int_equal(f.reference, 0x800002 * TWCC_REFERENCE);
    assert_int_equal(PARSE(&f, &clock, HEAD("\4", "\0\0", "\0\0", "\x7f\xff\xfe", "\0")), 0);
    assert_int_equal(f.reference, 0x7ffffe * TWCC_REFERENCE); /* reordered */
    assert_int_equal(PARSE(&f, &clock, HEAD("\4", "\0\0", "\0\0", "\xff\xff\xff", "\0")), 0);
    assert_int_equal(PARSE(&f, &clock, HEAD("\4", "\0\0", "\0\0", "\0\0\1", "\0")), 0);
    assert_int_equal(f.reference, 0x1000001 * TWCC_REFERENCE);
}

/* ---- both sides ---- */

#define NUMBERS 65536

struct loop {
    struct twcc_receiver *r;
    struct twcc_clock clock;
    struct rtp_unwrap unwrap;
    size_t packets, statuses;
    uint8_t count;
    ns_t *learned; /* by number; -1: lost, -2: nothing heard */
};

static void loop_open(struct loop *l)
{
    memset(l, 0, sizeof *l);
    assert_int_equal(twcc_receiver_new(&l->r), 0);
    l->learned = malloc(NUMBERS * sizeof *l->learned);
    for (size_t i = 0; i < NUMBERS; i++) {
        l->learned[i] = -2;
    }
}

static void loop_close(struct loop *l)
{
    twcc_receiver_free(l->r);
    free(l->learned);
}

/* Sends all feedback there is, in packets of at most cap bytes. */
static void loop_feedback(struct loop *l, size_t cap)
{
    uint8_t out[2048];
    int len;

    while ((len = twcc_receiver_feedback(l->r, 1, 2, out, cap)) > 0) {
        struct twcc_feedback f;
        struct twcc_status s;

        assert_true((size_t)len <= cap && len % 4 == 0);
        assert_int_equal(parse(&f, &l->clock, out, (size_t)len), 0);
        assert_int_equal(f.feedback_count, l->count);
        l->count++;
        l->packets++;
        while (twcc_next(&f, &s)) {
            int64_t seq = rtp_unwrap16(&l->unwrap, s.seq);

            assert_in_range(seq, 0, NUMBERS - 1);
            l->learned[seq] = s.received ? s.arrival : -1;
            l->statuses++;
        }
    }
    assert_int_equal(len, 0);
    assert_false(twcc_receiver_pending(l->r));
}

static void expect_learned(const struct loop *l, int64_t seq, ns_t arrival)
{
    ns_t error = l->learned[seq] - arrival;

    assert_true(error >= -TWCC_TICK / 2 && error <= TWCC_TICK / 2);
}

static void steady_packets_cost_little(void **state)
{
    struct loop l;
    uint8_t out[1200];

    (void)state;
    loop_open(&l);
    assert_false(twcc_receiver_pending(l.r));
    for (int seq = 0; seq < 50; seq++) {
        twcc_receiver_recv(l.r, (uint16_t)seq, NS_PER_S + seq * 2 * NS_PER_MS);
    }
    /* header 20, one run, 50 deltas */
    assert_int_equal(twcc_receiver_feedback(l.r, 1, 2, out, sizeof out), 20 + 2 + 50);
    assert_int_equal(twcc_receiver_feedback(l.r, 1, 2, out, sizeof out), 0);
    loop_close(&l);
}

static void gaps_between_feedbacks_are_reported(void **state)
{
    struct loop l;

    (void)state;
    loop_open(&l);
    twcc_receiver_recv(l.r, 10, NS_PER_S);
    loop_feedback(&l, 1200);
    twcc_receiver_recv(l.r, 14, NS_PER_S + NS_PER_MS);
    loop_feedback(&l, 1200);
    expect_learned(&l, 10, NS_PER_S);
    assert_int_equal(l.learned[11], -1);
    assert_int_equal(l.learned[13], -1);
    expect_learned(&l, 14, NS_PER_S + NS_PER_MS);
    assert_int_equal(l.learned[9], -2);
    loop_close(&l);
}

static void a_late_packet_is_reported_with_what_followed(void **state)
{
    struct loop l;

    (void)state;
    loop_open(&l);
    for (uint16_t seq = 0; seq < 10; seq++) {
        if (seq != 4) {
            twcc_receiver_recv(l.r, seq, seq * NS_PER_MS);
        }
    }
    loop_feedback(&l, 1200);
    assert_int_equal(l.learned[4], -1);
    twcc_receiver_recv(l.r, 4, 50 * NS_PER_MS);
    twcc_receiver_recv(l.r, 4, 60 * NS_PER_MS); /* a copy changes nothing */
    loop_feedback(&l, 1200);
    assert_int_equal(l.statuses, 10 + 6);
    for (uint16_t seq = 0; seq < 10; seq++) {
        expect_learned(&l, seq, seq == 4 ? 50 * NS_PER_MS : seq * NS_PER_MS);
    }
    twcc_receiver_recv(l.r, 4, 70 * NS_PER_MS);
    assert_false(twcc_receiver_pending(l.r));
    loop_close(&l);
}

static void the_back_window_ends(void **state)
{
    struct loop l;

    (void)state;
    loop_open(&l);
    twcc_receiver_recv(l.r, 1, 0);
    twcc_receiver_recv(l.r, 3, NS_PER_MS);
    loop_feedback(&l, 1200);
    twcc_receiver_recv(l.r, 4, 600 * NS_PER_MS); /* 1 and 3 are forgotten */
    loop_feedback(&l, 1200);
    twcc_receiver_recv(l.r, 2, 601 * NS_PER_MS);
    assert_false(twcc_receiver_pending(l.r));
    assert_int_equal(l.learned[2], -1);
    loop_close(&l);
}

/* The first packet seen need not be the first one sent. */
static void what_came_before_the_first(void **state)
{
    struct loop l;

    (void)state;
    loop_open(&l);
    twcc_receiver_recv(l.r, 3, 3 * NS_PER_MS);
    twcc_receiver_recv(l.r, 1, 4 * NS_PER_MS);
    loop_feedback(&l, 1200);
    expect_learned(&l, 1, 4 * NS_PER_MS);
    assert_int_equal(l.learned[2], -1);
    expect_learned(&l, 3, 3 * NS_PER_MS);
    loop_close(&l);
}

static void long_pauses_split_the_feedback(void **state)
{
    struct loop l;

    (void)state;
    loop_open(&l);
    twcc_receiver_recv(l.r, 0, 0);
    twcc_receiver_recv(l.r, 1, 8 * NS_PER_S); /* fits 16 bits */
    twcc_receiver_recv(l.r, 2, 17 * NS_PER_S);
    twcc_receiver_recv(l.r, 3, 18 * NS_PER_S);
    loop_feedback(&l, 1200);
    assert_int_equal(l.packets, 2);
    expect_learned(&l, 0, 0);
    expect_learned(&l, 1, 8 * NS_PER_S);
    expect_learned(&l, 2, 17 * NS_PER_S);
    expect_learned(&l, 3, 18 * NS_PER_S);
    loop_close(&l);
}

static void long_gaps_fit(void **state)
{
    struct loop l;

    (void)state;
    loop_open(&l);
    twcc_receiver_recv(l.r, 0, 0);
    loop_feedback(&l, TWCC_PACKET_BYTES_MIN);
    twcc_receiver_recv(l.r, 32000, NS_PER_MS);
    loop_feedback(&l, TWCC_PACKET_BYTES_MIN);
    expect_learned(&l, 32000, NS_PER_MS);
    assert_int_equal(l.learned[1], -1);
    assert_int_equal(l.learned[31999], -1);
    loop_close(&l);
}

static void too_small_a_packet(void **state)
{
    struct loop l;
    uint8_t out[64];

    (void)state;
    loop_open(&l);
    twcc_receiver_recv(l.r, 0, 0);
    assert_int_equal(twcc_receiver_feedback(l.r, 1, 2, out, 20), ERR_SPACE);
    assert_int_equal(twcc_receiver_feedback(l.r, 1, 2, out, 3), ERR_SPACE);
    assert_true(twcc_receiver_feedback(l.r, 1, 2, out, TWCC_PACKET_BYTES_MIN) > 0);
    loop_close(&l);
}

/* Numbers far apart, more than are kept: the oldest are forgotten, nothing breaks. */
static void more_numbers_than_are_kept(void **state)
{
    struct loop l;

    (void)state;
    loop_open(&l);
    for (uint32_t seq = 0; seq < NUMBERS - 1; seq += 16000) {
        twcc_receiver_recv(l.r, (uint16_t)seq, seq * NS_PER_US);
    }
    loop_feedback(&l, 1200);
    expect_learned(&l, 64000, 64 * NS_PER_MS);
    expect_learned(&l, 32000, 32 * NS_PER_MS);
    assert_int_equal(l.learned[0], -2);
    loop_close(&l);
}

/* Loss, reordering, duplicates, jumps in time, small and large packets, over the wrap. */
static void anything_comes_through(void **state)
{
    static ns_t truth[NUMBERS];
    struct prng prng;

    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct loop l;
        ns_t now = NS_PER_S;
        size_t cap;

        loop_open(&l);
        prng_init(&prng, seed, "twcc");
        cap = TWCC_PACKET_BYTES_MIN + prng_u32(&prng) % 400;
        for (size_t i = 0; i < 3000; i++) {
            truth[i] = -2;
        }
        for (int64_t seq = 0; seq < 3000; seq++) {
            uint32_t dice = prng_u32(&prng) % 1000;
            int64_t at = seq - (dice < 100 ? prng_u32(&prng) % 20 : 0);

            now += dice < 3 ? (ns_t)(prng_u32(&prng) % 20) * NS_PER_S
                            : (ns_t)(prng_u32(&prng) % 3000) * NS_PER_US;
            if (dice > 900 || at < 0) {
                continue; /* lost */
            }
            /* late ones beyond the back window do not count */
            twcc_receiver_recv(l.r, (uint16_t)at, now);
            if (truth[at] == -2) {
                truth[at] = now;
            }
            if (dice % 40 == 0) {
                loop_feedback(&l, cap);
            }
        }
        loop_feedback(&l, cap);
        for (int64_t seq = 0; seq < 3000; seq++) {
            if (l.learned[seq] >= 0) {
                assert_true(truth[seq] != -2);
                expect_learned(&l, seq, truth[seq]);
            } else if (truth[seq] != -2 && l.learned[seq] == -2) {
                fail_msg("seed %u: packet %d unreported", (unsigned)seed, (int)seq);
            }
        }
        loop_close(&l);
    }
}

static void the_extension(void **state)
{
    struct rtp_packet p = {.payload_type = 96, .extension_count = 1};
    uint8_t data[TWCC_EXTENSION_BYTES];
    uint16_t seq = 0;

    (void)state;
    twcc_extension(&p.extensions[0], 3, 0x1234, data);
    assert_memory_equal(data, "\x12\x34", 2);
    assert_true(twcc_extension_seq(&p, 3, &seq));
    assert_int_equal(seq, 0x1234);
    assert_false(twcc_extension_seq(&p, 4, &seq));
    p.extensions[0].len = 1;
    assert_false(twcc_extension_seq(&p, 3, &seq));
}

static void the_interval_follows_the_bandwidth(void **state)
{
    (void)state;
    assert_int_equal(twcc_interval(0), 250 * NS_PER_MS);
    assert_int_equal(twcc_interval(43520), 250 * NS_PER_MS); /* 5 % are 68 bytes in 250 ms */
    assert_int_equal(twcc_interval(108800), 100 * NS_PER_MS);
    assert_int_equal(twcc_interval(217600), 50 * NS_PER_MS);
    assert_int_equal(twcc_interval(5000000), 50 * NS_PER_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_drafts_one_bit_vector),
        cmocka_unit_test(the_drafts_run),
        cmocka_unit_test(two_bit_vectors_and_signed_deltas),
        cmocka_unit_test(what_does_not_add_up),
        cmocka_unit_test(reference_times_unwrap),
        cmocka_unit_test(steady_packets_cost_little),
        cmocka_unit_test(gaps_between_feedbacks_are_reported),
        cmocka_unit_test(a_late_packet_is_reported_with_what_followed),
        cmocka_unit_test(the_back_window_ends),
        cmocka_unit_test(what_came_before_the_first),
        cmocka_unit_test(long_pauses_split_the_feedback),
        cmocka_unit_test(long_gaps_fit),
        cmocka_unit_test(too_small_a_packet),
        cmocka_unit_test(more_numbers_than_are_kept),
        cmocka_unit_test(anything_comes_through),
        cmocka_unit_test(the_extension),
        cmocka_unit_test(the_interval_follows_the_bandwidth),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
