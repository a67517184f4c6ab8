/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/quic/qdc.h"

#include "agents/base/err.h"
#include "agents/base/prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* Writes h and parses it again; every shorter input must ask for more, every smaller buffer fail.
 */
static void round_trip(const struct qdc_header *h, struct qdc_header *back)
{
    uint8_t out[1024];
    int len = qdc_header_write(h, out, sizeof out);

    assert_true(len > 0);
    assert_int_equal(qdc_header_parse(back, out, (size_t)len), len);
    for (size_t n = 0; n < (size_t)len; n++) {
        uint8_t *part = malloc(n ? n : 1);
        memcpy(part, out, n);
        assert_int_equal(qdc_header_parse(back, part, n), ERR_AGAIN);
        assert_int_equal(qdc_header_write(h, part, n), ERR_SPACE);
        free(part);
    }
    assert_int_equal(qdc_header_parse(back, out, (size_t)len), len);
    assert_true(back->channel == h->channel && back->type == h->type);
}

static void open_round_trips(void **state)
{
    static const uint8_t types[] = {0x00, 0x80, 0x02, 0x82};
    struct qdc_header h = {
        .channel = 4,
        .type = QDC_TYPE_OPEN,
        .open = {.priority = 256, .reliability = 100000, .label = "file", .protocol = "mbx"},
    };
    struct qdc_header back;

    (void)state;
    for (size_t i = 0; i < sizeof types; i++) {
        h.open.channel_type = types[i];
        round_trip(&h, &back);
        assert_int_equal(back.open.channel_type, types[i]);
        assert_int_equal(back.open.priority, 256);
        assert_int_equal(back.open.reliability, 100000);
        assert_string_equal(back.open.label, "file");
        assert_string_equal(back.open.protocol, "mbx");
    }
    memset(h.open.label, 'x', QDC_TEXT_MAX);
    h.open.protocol[0] = '\0';
    round_trip(&h, &back);
    assert_string_equal(back.open.label, h.open.label);
    assert_string_equal(back.open.protocol, "");
}

static void data_and_close_round_trip(void **state)
{
    struct qdc_header h = {.channel = (UINT64_C(1) << 62) - 1, .seq = 70000, .length = 1u << 31};
    struct qdc_header back;

    (void)state;
    for (h.type = 0x04; h.type <= 0x07; h.type++) {
        round_trip(&h, &back);
        assert_int_equal(back.seq, h.type & QDC_DATA_SEQ ? 70000 : 0);
        assert_int_equal(back.length, h.type & QDC_DATA_LEN ? 1u << 31 : 0);
    }
    h.type = QDC_TYPE_CLOSE;
    round_trip(&h, &back);
}

static void the_message_begins_behind_the_header(void **state)
{
    static const uint8_t bytes[] = "\x04\x06\x05hello";
    struct qdc_header h;

    (void)state;
    assert_int_equal(qdc_header_parse(&h, bytes, sizeof bytes - 1), 3);
    assert_int_equal(h.channel, 4);
    assert_int_equal(h.seq, 5);
}

static int parse(const char *bytes, size_t len)
{
    struct qdc_header h;

    return qdc_header_parse(&h, (const uint8_t *)bytes, len);
}

static void malformed_headers_are_refused(void **state)
{
    struct qdc_header h = {.type = 0x08};
    uint8_t out[16];

    (void)state;
    assert_int_equal(parse("\x04\x02", 2), ERR_MALFORMED);
    assert_int_equal(parse("\x04\x03", 2), ERR_MALFORMED);
    assert_int_equal(parse("\x04\x08", 2), ERR_MALFORMED);
    assert_int_equal(parse("\x04\x44\x04", 3), ERR_MALFORMED);
    assert_int_equal(parse("\x04\x00\x01", 3), ERR_MALFORMED); /* channel type */
    /* texts: 256 bytes, and one with a NUL inside */
    assert_int_equal(parse("\x04\x00\x00\x00\x00\x41\x00", 7), ERR_MALFORMED);
    assert_int_equal(parse("\x04\x00\x00\x00\x00\x02x\0", 8), ERR_MALFORMED);
    assert_int_equal(qdc_header_write(&h, out, sizeof out), ERR_MALFORMED);
    h = (struct qdc_header){.type = QDC_TYPE_OPEN, .open.channel_type = 7};
    assert_int_equal(qdc_header_write(&h, out, sizeof out), ERR_MALFORMED);
}

/* Puts a message of len bytes that all hold seq; frees them if it is refused. */
static int put(struct qdc_reorder *r, uint64_t seq, size_t len)
{
    uint8_t *data = malloc(len ? len : 1);
    int rv;

    memset(data, (int)seq, len ? len : 1);
    rv = qdc_reorder_put(r, seq, data, len);
    if (rv) {
        free(data);
    }
    return rv;
}

/* Gets a message and checks it; returns false when there is none. */
static bool get(struct qdc_reorder *r, uint64_t expected, size_t expected_len)
{
    uint8_t *data;
    uint64_t seq;
    size_t len;

    if (!qdc_reorder_get(r, &seq, &data, &len)) {
        return false;
    }
    assert_int_equal(seq, expected);
    assert_int_equal(len, expected_len);
    assert_true(!len || data[len - 1] == (uint8_t)seq);
    free(data);
    return true;
}

static struct qdc_reorder *make(bool ordered, size_t max_bytes, size_t max_messages)
{
    struct qdc_reorder *r = NULL;

    assert_int_equal(qdc_reorder_new(&r, ordered, max_bytes, max_messages), 0);
    return r;
}

static void ordered_messages_come_in_order(void **state)
{
    struct qdc_reorder *r = make(true, 1000, 100);

    (void)state;
    assert_false(get(r, 0, 0));
    assert_int_equal(put(r, 2, 3), 0);
    assert_int_equal(put(r, 1, 2), 0);
    assert_false(get(r, 0, 0));
    assert_int_equal(put(r, 0, 0), 0);
    assert_true(get(r, 0, 0));
    assert_true(get(r, 1, 2));
    assert_true(get(r, 2, 3));
    assert_false(get(r, 3, 0));
    qdc_reorder_free(r);
}

static void repeated_numbers_break_the_protocol(void **state)
{
    struct qdc_reorder *r = make(true, 1000, 100);

    (void)state;
    assert_int_equal(put(r, 3, 1), 0);
    assert_int_equal(put(r, 3, 1), ERR_PROTOCOL);
    assert_int_equal(put(r, 0, 1), 0);
    assert_int_equal(put(r, 0, 1), ERR_PROTOCOL);
    assert_true(get(r, 0, 1));
    assert_int_equal(put(r, 0, 1), ERR_PROTOCOL);
    qdc_reorder_free(r); /* with one message held */
}

static void limits_hold_but_never_block(void **state)
{
    struct qdc_reorder *r = make(true, 100, 3);

    (void)state;
    assert_int_equal(put(r, 1, 60), 0);
    assert_int_equal(put(r, 2, 41), ERR_LIMIT);
    assert_int_equal(put(r, 2, SIZE_MAX >> 40), ERR_LIMIT);
    assert_int_equal(put(r, 2, 40), 0);
    assert_int_equal(put(r, 3, 0), 0);
    assert_int_equal(put(r, 4, 0), ERR_LIMIT); /* the fourth message */
    assert_int_equal(put(r, 0, 500), 0);       /* what everything waits for */
    assert_true(get(r, 0, 500));
    assert_true(get(r, 1, 60));
    assert_int_equal(put(r, 4, 60), 0);
    qdc_reorder_free(r);
}

static void unordered_messages_pass_through(void **state)
{
    struct qdc_reorder *r = make(false, 100, 3);

    (void)state;
    assert_int_equal(put(r, 9, 500), 0);
    assert_true(get(r, 9, 500));
    assert_int_equal(put(r, 0, 1), 0);
    assert_int_equal(put(r, 0, 2), 0);
    assert_int_equal(put(r, 5, 98), ERR_LIMIT);
    assert_true(get(r, 0, 1));
    assert_true(get(r, 0, 2));
    assert_false(get(r, 0, 0));
    qdc_reorder_free(r);
    qdc_reorder_free(NULL);
}

/* Channels that may lose messages: what is known not to come, and what is no longer waited for. */
static void gaps_can_be_passed(void **state)
{
    struct qdc_reorder *r = make(true, 1000, 100);

    (void)state;
    assert_false(qdc_reorder_waiting(r));
    assert_int_equal(put(r, 1, 1), 0);
    assert_int_equal(put(r, 4, 4), 0);
    assert_true(qdc_reorder_waiting(r));
    assert_int_equal(qdc_reorder_skip(r, 2), 0);
    assert_int_equal(qdc_reorder_skip(r, 2), 0);
    assert_int_equal(qdc_reorder_skip(r, 4), 0); /* has come: stays */
    assert_false(get(r, 0, 0));
    assert_int_equal(qdc_reorder_skip(r, 0), 0);
    assert_true(get(r, 1, 1));
    assert_false(get(r, 0, 0));
    assert_true(qdc_reorder_passed(r, 2));
    assert_false(qdc_reorder_passed(r, 3));
    assert_true(qdc_reorder_waiting(r));
    qdc_reorder_give_up(r);
    assert_true(qdc_reorder_passed(r, 3));
    assert_true(get(r, 4, 4));
    assert_int_equal(put(r, 3, 3), ERR_PROTOCOL);
    qdc_reorder_give_up(r); /* nothing held: nothing happens */
    assert_false(qdc_reorder_passed(r, 5));
    qdc_reorder_free(r);
}

/* A buffer that is never empty has to move its messages now and then. */
static void a_window_that_slides_without_end(void **state)
{
    struct qdc_reorder *r = make(true, 1000, 8);

    (void)state;
    assert_int_equal(put(r, 2, 2), 0);
    assert_int_equal(put(r, 0, 0), 0);
    assert_true(get(r, 0, 0));
    for (uint64_t i = 0; i < 1000; i++) {
        assert_int_equal(put(r, 2 * i + 4, (2 * i + 4) % 50), 0);
        assert_int_equal(put(r, 2 * i + 1, 1), 0);
        assert_true(get(r, 2 * i + 1, 1));
        assert_true(get(r, 2 * i + 2, (2 * i + 2) % 50));
        assert_false(get(r, 0, 0));
    }
    qdc_reorder_free(r);
}

/* Blocks of 64 messages, each in random order, against the plain sequence. */
static void any_order_comes_out_sorted(void **state)
{
    struct qdc_reorder *r = make(true, 1u << 20, 64);
    struct prng rng;
    uint64_t expected = 0;

    (void)state;
    prng_init(&rng, 1, "qdc");
    for (uint64_t block = 0; block < 200; block++) {
        uint64_t order[64];
        for (uint64_t i = 0; i < 64; i++) {
            uint64_t j = prng_u32(&rng) % (i + 1);
            order[i] = order[j];
            order[j] = block * 64 + i;
        }
        for (size_t i = 0; i < 64; i++) {
            assert_int_equal(put(r, order[i], order[i] % 50), 0);
            while (get(r, expected, expected % 50)) {
                expected++;
            }
        }
    }
    assert_int_equal(expected, 200 * 64);
    qdc_reorder_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open_round_trips),
        cmocka_unit_test(data_and_close_round_trip),
        cmocka_unit_test(the_message_begins_behind_the_header),
        cmocka_unit_test(malformed_headers_are_refused),
        cmocka_unit_test(ordered_messages_come_in_order),
        cmocka_unit_test(repeated_numbers_break_the_protocol),
        cmocka_unit_test(limits_hold_but_never_block),
        cmocka_unit_test(unordered_messages_pass_through),
        cmocka_unit_test(gaps_can_be_passed),
        cmocka_unit_test(a_window_that_slides_without_end),
        cmocka_unit_test(any_order_comes_out_sorted),
    };

    return cmocka_run_group_tests_name("qdc", tests, NULL, NULL);
}
