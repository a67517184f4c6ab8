/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/quic/receive_ts.h"

#include "agents/base/buf.h"
#include "agents/base/err.h"
#include "agents/base/prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

static struct receive_ts_log log_;

/* Two ranges, largest acknowledged 100: 100..96 at 380 370 360 355 350 and 91..87 at 330 320 310
 * 305 300 after the basis. */
static const struct receive_ts_entry example[] = {
    {100, 380}, {99, 370}, {98, 360}, {97, 355}, {96, 350},
    {91, 330},  {90, 320}, {89, 310}, {88, 305}, {87, 300},
};
/* 380 is the two-byte varint 0x417c */
static const uint8_t example_bytes[] = {2, 0, 5, 0x41, 0x7c, 10, 10, 5, 5, 9, 5, 20, 10, 10, 5, 5};

static void decodes_the_drafts_example(void **state)
{
    struct receive_ts_entry out[16];
    size_t n;
    int rv = receive_ts_decode(example_bytes, sizeof example_bytes, 100, 0, out, 16, &n);

    (void)state;
    assert_int_equal(rv, sizeof example_bytes);
    assert_int_equal(n, COUNT(example));
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(out[i].packet, example[i].packet);
        assert_int_equal(out[i].time_us, example[i].time_us);
    }
}

static void encodes_the_drafts_example(void **state)
{
    uint8_t out[64];
    size_t reported;

    (void)state;
    receive_ts_log_init(&log_);
    log_.started = true; /* basis 0, as in the example */
    for (size_t i = COUNT(example); i-- > 0;) {
        receive_ts_log_add(&log_, example[i].packet, example[i].time_us * NS_PER_US);
    }
    assert_int_equal(receive_ts_encode(&log_, 100, 64, 0, out, sizeof out, &reported),
                     sizeof example_bytes);
    assert_memory_equal(out, example_bytes, sizeof example_bytes);
    assert_int_equal(reported, COUNT(example));
}

/* The draft's second example: 92..95 arrive late. */
static void encodes_the_drafts_late_packets(void **state)
{
    static const struct receive_ts_entry late[] = {{92, 390}, {93, 392}, {94, 394}, {95, 395}};
    static const uint8_t expected[] = {3,  5,  4, 0x41, 0x8b, 1, 2,  2,  0,  5, 10,
                                       10, 10, 5, 5,    9,    5, 20, 10, 10, 5, 5};
    uint8_t out[64];
    size_t reported;

    encodes_the_drafts_example(state);
    for (size_t i = 0; i < COUNT(late); i++) {
        receive_ts_log_add(&log_, late[i].packet, late[i].time_us * NS_PER_US);
    }
    assert_int_equal(receive_ts_encode(&log_, 100, 64, 0, out, sizeof out, &reported),
                     sizeof expected);
    assert_memory_equal(out, expected, sizeof expected);
    assert_int_equal(reported, 14);
}

/* Encodes the log and decodes it again. Returns the number of entries. */
static size_t pass(int64_t largest, uint64_t max, uint64_t exponent, size_t cap,
                   struct receive_ts_entry *out)
{
    uint8_t *bytes = malloc(cap); /* its own allocation, so that a sanitizer sees each byte */
    size_t reported, n;
    int len = receive_ts_encode(&log_, largest, max, exponent, bytes, cap, &reported);

    assert_true(len >= 1 && (size_t)len <= cap);
    assert_int_equal(
        receive_ts_decode(bytes, (size_t)len, largest, exponent, out, RECEIVE_TS_LOG_MAX, &n), len);
    assert_int_equal(n, reported);
    free(bytes);
    return n;
}

static void reordered_arrivals_go_into_ranges_of_their_own(void **state)
{
    static const int64_t order[] = {10, 11, 13, 12, 14, 20};
    static struct receive_ts_entry out[RECEIVE_TS_LOG_MAX];

    (void)state;
    receive_ts_log_init(&log_);
    for (size_t i = 0; i < COUNT(order); i++) {
        receive_ts_log_add(&log_, order[i], (ns_t)(5 + i) * NS_PER_MS);
    }
    assert_int_equal(pass(20, 64, 0, 100, out), COUNT(order));
    for (size_t i = 0; i < COUNT(order); i++) {
        assert_int_equal(out[i].packet, order[COUNT(order) - 1 - i]);
        assert_int_equal(out[0].time_us - out[i].time_us, (int64_t)i * 1000);
    }
}

static void arrivals_that_go_back_in_time_are_sorted(void **state)
{
    static const ns_t arrivals[] = {1000000, 1000500, 999000, 1002000, 1002000, 1001000};
    static struct receive_ts_entry out[RECEIVE_TS_LOG_MAX];

    (void)state;
    receive_ts_log_init(&log_);
    for (size_t i = 0; i < COUNT(arrivals); i++) {
        receive_ts_log_add(&log_, (int64_t)i, arrivals[i] + NS_PER_S);
    }
    assert_int_equal(pass(5, 64, 0, 100, out), COUNT(arrivals));
    for (size_t i = 1; i < COUNT(arrivals); i++) {
        assert_true(out[i].time_us <= out[i - 1].time_us);
    }
    assert_int_equal(out[0].packet, 4); /* of equal times the higher number first */
    assert_int_equal(out[1].packet, 3);
    assert_int_equal(out[5].packet, 2);
}

static void an_arrival_before_the_basis_is_left_out(void **state)
{
    static struct receive_ts_entry out[RECEIVE_TS_LOG_MAX];

    (void)state;
    receive_ts_log_init(&log_);
    receive_ts_log_add(&log_, 1, NS_PER_S);
    receive_ts_log_add(&log_, 2, NS_PER_S / 2);
    assert_int_equal(pass(2, 64, 0, 100, out), 1);
    assert_int_equal(out[0].packet, 1);
}

static void packets_above_the_largest_acknowledged_are_left_out(void **state)
{
    static struct receive_ts_entry out[RECEIVE_TS_LOG_MAX];

    (void)state;
    receive_ts_log_init(&log_);
    for (int64_t i = 0; i < 4; i++) {
        static const int64_t order[] = {5, 9, 6, 8};
        receive_ts_log_add(&log_, order[i], i * NS_PER_MS);
    }
    assert_int_equal(pass(6, 64, 0, 100, out), 2);
    assert_int_equal(out[0].packet, 6);
    assert_int_equal(out[1].packet, 5);
    assert_int_equal(out[0].time_us - out[1].time_us, 2000);
}

static void every_cap_is_respected_and_used(void **state)
{
    static struct receive_ts_entry out[RECEIVE_TS_LOG_MAX];
    struct prng r;
    size_t n = 0, before = 0;

    (void)state;
    prng_init(&r, 1, "receive_ts");
    receive_ts_log_init(&log_);
    for (int64_t packet = 0, t = 0; packet < 800; packet++) {
        t += prng_u32(&r) % 2000000;
        if (prng_u32(&r) % 4) { /* many gaps: more ranges than a one-byte count can tell */
            receive_ts_log_add(&log_, packet, t);
        }
    }
    for (size_t cap = 1; cap < 3000; cap++, before = n) {
        uint8_t one_more[4000];
        size_t reported;

        n = pass(799, 1024, 0, cap, out);
        assert_true(n >= before);
        /* as many as fit: with one more it is longer than cap */
        assert_true(n == log_.count || receive_ts_encode(&log_, 799, n + 1, 0, one_more,
                                                         sizeof one_more, &reported) > (int)cap);
    }
    assert_int_equal(n, log_.count);
    assert_int_equal(receive_ts_encode(&log_, 799, 1024, 0, (uint8_t[1]){0}, 0, &n), ERR_SPACE);
}

static void the_maximum_is_respected(void **state)
{
    static struct receive_ts_entry out[RECEIVE_TS_LOG_MAX];

    (void)state;
    receive_ts_log_init(&log_);
    for (int64_t i = 0; i < 100; i++) {
        receive_ts_log_add(&log_, i, i * NS_PER_MS);
    }
    assert_int_equal(pass(99, 0, 0, 1000, out), 0);
    assert_int_equal(pass(99, 7, 0, 1000, out), 7);
    assert_int_equal(out[0].packet, 99);
}

static void exponents_round_times_without_adding_up(void **state)
{
    static struct receive_ts_entry out[RECEIVE_TS_LOG_MAX];
    struct prng r;

    (void)state;
    prng_init(&r, 2, "receive_ts");
    receive_ts_log_init(&log_);
    for (int64_t i = 0, t = 0; i < 500; i++, t += prng_u32(&r) % 3000000) {
        receive_ts_log_add(&log_, i, t);
    }
    for (uint64_t e = 0; e <= RECEIVE_TS_EXPONENT_MAX; e++) {
        size_t n = pass(499, 500, e, 5000, out);
        assert_int_equal(n, 500);
        for (size_t i = 0; i < n; i++) {
            int64_t us = (log_.entries[out[i].packet].arrival - log_.basis) / NS_PER_US;
            assert_true(out[i].time_us <= us && us - out[i].time_us < INT64_C(1) << e);
        }
    }
}

static void entries_stay_until_forgotten(void **state)
{
    static struct receive_ts_entry out[RECEIVE_TS_LOG_MAX];
    static const int64_t order[] = {1, 2, 6, 3, 4, 7, 5};

    (void)state;
    receive_ts_log_init(&log_);
    for (size_t i = 0; i < COUNT(order); i++) {
        receive_ts_log_add(&log_, order[i], (ns_t)i * NS_PER_MS);
    }
    assert_int_equal(pass(7, 64, 0, 100, out), 7);
    assert_int_equal(pass(7, 64, 0, 100, out), 7);
    receive_ts_log_forget(&log_, 4);
    assert_int_equal(pass(7, 64, 0, 100, out), 2);
    assert_int_equal(out[0].packet, 5); /* lower, but it came after packet 4 */
    assert_int_equal(out[1].packet, 7);
    receive_ts_log_forget(&log_, 4);
    receive_ts_log_forget(&log_, 100);
    assert_int_equal(log_.count, 2);
    receive_ts_log_forget(&log_, 5);
    assert_int_equal(log_.count, 0);
}

static void a_full_log_drops_the_oldest(void **state)
{
    (void)state;
    receive_ts_log_init(&log_);
    for (int64_t i = 0; i < RECEIVE_TS_LOG_MAX + 10; i++) {
        receive_ts_log_add(&log_, i, i * NS_PER_US);
    }
    assert_int_equal(log_.count, RECEIVE_TS_LOG_MAX);
    assert_int_equal(log_.overflowed, 10);
    assert_int_equal(log_.entries[log_.first].packet, 10);
}

static int decode(const char *bytes, size_t len, int64_t largest, uint64_t exponent, size_t max)
{
    static struct receive_ts_entry out[RECEIVE_TS_LOG_MAX];
    size_t n;

    return receive_ts_decode((const uint8_t *)bytes, len, largest, exponent, out, max, &n);
}

#define DECODE(text, largest, exponent, max) decode(text, sizeof text - 1, largest, exponent, max)

static void the_decoder_guards_itself(void **state)
{
    (void)state;
    assert_int_equal(DECODE("\0", 5, 0, 8), 1);
    assert_int_equal(DECODE("", 5, 0, 8), ERR_MALFORMED);
    assert_int_equal(DECODE("\1\5\1\7", 5, 0, 8), 4);             /* packet 0 */
    assert_int_equal(DECODE("\1\6\1\7", 5, 0, 8), ERR_MALFORMED); /* packet -1 */
    assert_int_equal(DECODE("\1\5\2\7\1", 5, 0, 8), ERR_MALFORMED);
    assert_int_equal(DECODE("\1\0\2\7\7", 5, 0, 8), 5);
    assert_int_equal(DECODE("\1\0\2\7\10", 5, 0, 8), ERR_MALFORMED); /* time -1 */
    assert_int_equal(DECODE("\2\0\1\7\2\1\10", 5, 0, 8), ERR_MALFORMED);
    assert_int_equal(DECODE("\1\0\3\7\1\1", 5, 0, 2), ERR_LIMIT);
    assert_int_equal(DECODE("\1\0\1\xff\xff\xff\xff\xff\xff\xff\xff", 5, 0, 8), 11);
    assert_int_equal(DECODE("\1\0\1\xff\xff\xff\xff\xff\xff\xff\xff", 5, 1, 8), ERR_MALFORMED);
    assert_int_equal(DECODE("\1\0\1\1", 5, 21, 8), ERR_MALFORMED);
    assert_int_equal(DECODE("\1\0\1\1", -1, 0, 8), ERR_MALFORMED);
    for (size_t len = 0; len < sizeof example_bytes; len++) {
        assert_int_equal(decode((const char *)example_bytes, len, 100, 0, 64), ERR_MALFORMED);
    }
}

static void parameters_round_trip(void **state)
{
    struct receive_ts_params p = {.offered = true, .max_per_ack = 300, .exponent = 20}, q;
    uint8_t out[64];
    int len = receive_ts_params_write(&p, out, sizeof out);

    (void)state;
    assert_true(len > 0);
    assert_int_equal(receive_ts_params_parse(&q, out, (size_t)len), 0);
    assert_true(q.offered);
    assert_int_equal(q.max_per_ack, 300);
    assert_int_equal(q.exponent, 20);
    for (size_t cap = 0; cap < (size_t)len; cap++) {
        assert_int_equal(receive_ts_params_write(&p, out, cap), ERR_SPACE);
    }
    p.offered = false;
    assert_int_equal(receive_ts_params_write(&p, out, sizeof out), 0);
    assert_int_equal(receive_ts_params_parse(&q, out, 0), 0);
    assert_false(q.offered);
}

/* Parses the parameters (id, value) in order, each value one varint unless len says otherwise. */
static int parse_params(struct receive_ts_params *p, size_t n, const uint64_t (*params)[3])
{
    uint8_t bytes[128];
    struct buf_writer w = buf_writer_init(bytes, sizeof bytes);

    for (size_t i = 0; i < n; i++) {
        buf_put_varint(&w, params[i][0]);
        buf_put_varint(&w, params[i][2] ? params[i][2] : buf_varint_len(params[i][1]));
        buf_put_varint(&w, params[i][1]);
    }
    assert_false(w.failed);
    return receive_ts_params_parse(p, bytes, buf_len(&w));
}

static void parameters_of_the_peer_are_checked(void **state)
{
    struct receive_ts_params p;
    const uint64_t max = RECEIVE_TS_PARAM_MAX, exponent = RECEIVE_TS_PARAM_EXPONENT;

    (void)state;
    assert_int_equal(parse_params(&p, 3, (const uint64_t[][3]){{4, 99}, {max, 7}, {1, 2}}), 0);
    assert_true(p.offered && p.max_per_ack == 7 && p.exponent == 0);
    assert_int_equal(parse_params(&p, 1, (const uint64_t[][3]){{exponent, 30}}), 0);
    assert_true(!p.offered && p.exponent == 0);
    assert_int_equal(parse_params(&p, 2, (const uint64_t[][3]){{exponent, 21}, {max, 1}}),
                     ERR_MALFORMED);
    assert_int_equal(parse_params(&p, 2, (const uint64_t[][3]){{max, 1}, {max, 1}}), ERR_MALFORMED);
    assert_int_equal(parse_params(&p, 1, (const uint64_t[][3]){{max, 1, 2}}), ERR_MALFORMED);
    assert_int_equal(parse_params(&p, 1, (const uint64_t[][3]){{max, 70, 1}}), ERR_MALFORMED);
    assert_int_equal(parse_params(&p, 1, (const uint64_t[][3]){{4, 1, 1u << 30}}), ERR_MALFORMED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decodes_the_drafts_example),
        cmocka_unit_test(encodes_the_drafts_example),
        cmocka_unit_test(encodes_the_drafts_late_packets),
        cmocka_unit_test(reordered_arrivals_go_into_ranges_of_their_own),
        cmocka_unit_test(arrivals_that_go_back_in_time_are_sorted),
        cmocka_unit_test(an_arrival_before_the_basis_is_left_out),
        cmocka_unit_test(packets_above_the_largest_acknowledged_are_left_out),
        cmocka_unit_test(every_cap_is_respected_and_used),
        cmocka_unit_test(the_maximum_is_respected),
        cmocka_unit_test(exponents_round_times_without_adding_up),
        cmocka_unit_test(entries_stay_until_forgotten),
        cmocka_unit_test(a_full_log_drops_the_oldest),
        cmocka_unit_test(the_decoder_guards_itself),
        cmocka_unit_test(parameters_round_trip),
        cmocka_unit_test(parameters_of_the_peer_are_checked),
    };

    return cmocka_run_group_tests_name("receive_ts", tests, NULL, NULL);
}
