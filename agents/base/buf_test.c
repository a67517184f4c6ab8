/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void integers_are_big_endian(void **state)
{
    uint8_t out[18];
    struct buf_writer w = buf_writer_init(out, sizeof out);
    struct buf_reader r;

    (void)state;
    buf_put_u8(&w, 0x01);
    buf_put_u16(&w, 0x0203);
    buf_put_u24(&w, 0x040506);
    buf_put_u32(&w, 0x0708090a);
    buf_put_u64(&w, UINT64_C(0x0b0c0d0e0f101112));
    assert_false(w.failed);
    assert_int_equal(buf_len(&w), 18);
    assert_int_equal(buf_room(&w), 0);
    for (uint8_t i = 0; i < 18; i++) {
        assert_int_equal(out[i], i + 1);
    }
    r = buf_reader_init(out, sizeof out);
    assert_int_equal(buf_get_u8(&r), 0x01);
    assert_int_equal(buf_get_u16(&r), 0x0203);
    assert_int_equal(buf_get_u24(&r), 0x040506);
    assert_int_equal(buf_get_u32(&r), 0x0708090a);
    assert_true(buf_get_u64(&r) == UINT64_C(0x0b0c0d0e0f101112));
    assert_int_equal(buf_left(&r), 0);
    assert_false(r.failed);
}

static void writing_24_bits_drops_the_rest(void **state)
{
    uint8_t out[3];
    struct buf_writer w = buf_writer_init(out, sizeof out);

    (void)state;
    buf_put_u24(&w, 0xff010203);
    assert_memory_equal(out, "\1\2\3", 3);
}

/* The examples of RFC 9000 appendix A.1. */
static void varints_of_the_rfc(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
        uint64_t value;
    } examples[] = {
        {"\xc2\x19\x7c\x5e\xff\x14\xe8\x8c", 8, UINT64_C(151288809941952652)},
        {"\x9d\x7f\x3e\x7d", 4, 494878333},
        {"\x7b\xbd", 2, 15293},
        {"\x25", 1, 37},
    };

    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        uint8_t out[8];
        struct buf_reader r = buf_reader_init(examples[i].bytes, examples[i].len);
        struct buf_writer w = buf_writer_init(out, sizeof out);

        assert_true(buf_get_varint(&r) == examples[i].value);
        assert_int_equal(buf_left(&r), 0);
        buf_put_varint(&w, examples[i].value);
        assert_int_equal(buf_len(&w), examples[i].len);
        assert_memory_equal(out, examples[i].bytes, examples[i].len);
    }
}

static void a_long_form_of_a_small_value_is_read(void **state)
{
    struct buf_reader r = buf_reader_init("\x40\x25", 2); /* 37 again, RFC 9000 A.1 */

    (void)state;
    assert_int_equal(buf_get_varint(&r), 37);
}

static void varint_lengths_change_where_they_must(void **state)
{
    static const struct {
        uint64_t value;
        size_t len;
    } edges[] = {
        {0, 1},
        {63, 1},
        {64, 2},
        {16383, 2},
        {16384, 4},
        {(1u << 30) - 1, 4},
        {1u << 30, 8},
        {BUF_VARINT_MAX, 8},
        {BUF_VARINT_MAX + 1, 0},
        {UINT64_MAX, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
        uint8_t out[8];
        struct buf_writer w = buf_writer_init(out, sizeof out);
        struct buf_reader r;

        assert_int_equal(buf_varint_len(edges[i].value), edges[i].len);
        buf_put_varint(&w, edges[i].value);
        assert_int_equal(buf_len(&w), edges[i].len);
        assert_true(w.failed == !edges[i].len);
        r = buf_reader_init(out, buf_len(&w));
        if (edges[i].len) {
            assert_true(buf_get_varint(&r) == edges[i].value);
        }
    }
}

static void a_failed_reader_stays_failed(void **state)
{
    struct buf_reader r = buf_reader_init("\1\2\3", 3);

    (void)state;
    assert_int_equal(buf_get_u8(&r), 1);
    assert_int_equal(buf_get_u32(&r), 0);
    assert_true(r.failed);
    assert_int_equal(buf_get_u8(&r), 0);
    assert_null(buf_get_bytes(&r, 0));
    assert_int_equal(buf_get_varint(&r), 0);
    assert_int_equal(buf_left(&r), 0);
}

static void truncated_varints_fail(void **state)
{
    static const uint8_t firsts[] = {0x40, 0x80, 0xc0};

    (void)state;
    for (size_t i = 0; i < sizeof firsts; i++) {
        for (size_t len = 0; len < (size_t)2 << i; len++) {
            uint8_t *bytes = calloc(1, len ? len : 1);
            struct buf_reader r = buf_reader_init(bytes, len);

            bytes[0] = firsts[i];
            assert_int_equal(buf_get_varint(&r), 0);
            assert_true(r.failed);
            free(bytes);
        }
    }
}

static void a_failed_writer_writes_no_more(void **state)
{
    uint8_t out[4] = {9, 9, 9, 9};
    struct buf_writer w = buf_writer_init(out, 3);

    (void)state;
    buf_put_u16(&w, 0x0102);
    buf_put_u16(&w, 0x0304);
    assert_true(w.failed);
    assert_int_equal(buf_room(&w), 0);
    buf_put_u8(&w, 5);
    assert_int_equal(buf_len(&w), 2);
    assert_memory_equal(out, "\1\2\11\11", 4);
}

static void bytes_are_borrowed(void **state)
{
    const uint8_t data[] = {1, 2, 3, 4};
    struct buf_reader r = buf_reader_init(data, sizeof data);

    (void)state;
    assert_ptr_equal(buf_get_bytes(&r, 3), data);
    assert_ptr_equal(buf_get_bytes(&r, 0), data + 3);
    assert_null(buf_get_bytes(&r, SIZE_MAX));
    assert_true(r.failed);
}

static void nothing_at_all(void **state)
{
    struct buf_reader r = buf_reader_init(NULL, 0);
    struct buf_writer w = buf_writer_init(NULL, 0);

    (void)state;
    assert_int_equal(buf_left(&r), 0);
    buf_put_bytes(&w, NULL, 0);
    assert_false(w.failed);
    buf_put_u8(&w, 1);
    assert_true(w.failed);
    assert_int_equal(buf_get_u8(&r), 0);
    assert_true(r.failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_big_endian),
        cmocka_unit_test(writing_24_bits_drops_the_rest),
        cmocka_unit_test(varints_of_the_rfc),
        cmocka_unit_test(a_long_form_of_a_small_value_is_read),
        cmocka_unit_test(varint_lengths_change_where_they_must),
        cmocka_unit_test(a_failed_reader_stays_failed),
        cmocka_unit_test(truncated_varints_fail),
        cmocka_unit_test(a_failed_writer_writes_no_more),
        cmocka_unit_test(bytes_are_borrowed),
        cmocka_unit_test(nothing_at_all),
    };

    return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
