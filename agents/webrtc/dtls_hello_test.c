/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/webrtc/dtls_hello.h"

#include "agents/base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#define TOTAL 1413

static uint8_t byte_of(size_t i)
{
    return (uint8_t)(i * 7 + 3);
}

/* One record with a fragment of a message of type 1 (or another). */
static size_t fragment(uint8_t *out, uint8_t type, uint16_t seq, size_t offset, size_t len)
{
    struct buf_writer w = buf_writer_init(out, 2000);

    buf_put_u8(&w, 22);
    buf_put_u16(&w, 0xfeff);
    buf_put_u16(&w, 0);
    buf_put_u16(&w, 0);
    buf_put_u32(&w, (uint32_t)(100 + offset)); /* a number of its own */
    buf_put_u16(&w, (uint16_t)(12 + len));
    buf_put_u8(&w, type);
    buf_put_u24(&w, TOTAL);
    buf_put_u16(&w, seq);
    buf_put_u24(&w, (uint32_t)offset);
    buf_put_u24(&w, (uint32_t)len);
    for (size_t i = 0; i < len; i++) {
        buf_put_u8(&w, byte_of(offset + i));
    }
    return buf_len(&w);
}

/* Gives a fragment; true and the whole message checked if that completes it. */
static bool give(struct dtls_hello *h, uint16_t seq, size_t offset, size_t len)
{
    uint8_t in[2000], want[2000];
    const uint8_t *data = in;
    size_t n = fragment(in, 1, seq, offset, len);

    if (!dtls_hello_join(h, &data, &n)) {
        return false;
    }
    assert_int_equal(n, fragment(want, 1, seq, 0, TOTAL));
    memcpy(want, in, 11); /* the record number is the last fragment's */
    assert_memory_equal(data, want, n);
    return true;
}

static void two_fragments_in_either_order(void **state)
{
    struct dtls_hello h = {0};

    (void)state;
    assert_false(give(&h, 0, 0, 1175));
    assert_true(give(&h, 0, 1175, 238));
    assert_false(give(&h, 0, 1175, 238)); /* all of it again */
    assert_true(give(&h, 0, 0, 1175));
}

static void repeated_and_overlapping_fragments(void **state)
{
    struct dtls_hello h = {0};

    (void)state;
    assert_false(give(&h, 1, 0, 600));
    assert_false(give(&h, 1, 0, 600));
    assert_false(give(&h, 1, 1000, 413));
    assert_false(give(&h, 1, 500, 499));
    assert_true(give(&h, 1, 500, 600));
}

static void many_small_ones_with_losses(void **state)
{
    struct dtls_hello h = {0};

    (void)state;
    for (size_t i = 0; i < TOTAL; i += 50) {
        if (i % 200) {
            assert_false(give(&h, 0, i, i + 50 > TOTAL ? TOTAL - i : 50));
        }
    }
    for (size_t i = 0; i < TOTAL; i += 200) {
        assert_int_equal(give(&h, 0, i, i + 50 > TOTAL ? TOTAL - i : 50), i + 200 > TOTAL);
    }
}

/* The second ClientHello, with the cookie, has the next number: nothing of the first stays. */
static void another_message_begins_anew(void **state)
{
    struct dtls_hello h = {0};

    (void)state;
    assert_false(give(&h, 0, 0, 1175));
    assert_false(give(&h, 1, 1175, 238));
    assert_true(give(&h, 1, 0, 1175));
}

static void expect_passed(const uint8_t *bytes, size_t len)
{
    static struct dtls_hello h;
    const uint8_t *data = bytes;
    size_t n = len;

    h = (struct dtls_hello){0};
    assert_true(dtls_hello_join(&h, &data, &n));
    assert_true(data == bytes && n == len);
}

static void everything_else_is_passed_on(void **state)
{
    uint8_t bytes[4000] = {0};
    size_t n;

    (void)state;
    expect_passed(bytes, 0);
    n = fragment(bytes, 1, 0, 0, TOTAL); /* whole */
    expect_passed(bytes, n);
    n = fragment(bytes, 11, 0, 0, 500); /* a certificate */
    expect_passed(bytes, n);
    n = fragment(bytes, 1, 0, 0, 500);
    for (size_t cut = 1; cut <= n; cut++) {
        expect_passed(bytes, n - cut);
    }
    expect_passed(bytes, n + 1); /* something behind it */
    bytes[4] = 1;                /* another epoch: encrypted */
    expect_passed(bytes, n);
    n = fragment(bytes, 1, 0, 1000, 500); /* beyond its end */
    expect_passed(bytes, n);
    n = fragment(bytes, 1, 0, 0, 500);
    bytes[14] = 1; /* a message of more than 65536 bytes */
    expect_passed(bytes, n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_fragments_in_either_order),
        cmocka_unit_test(repeated_and_overlapping_fragments),
        cmocka_unit_test(many_small_ones_with_losses),
        cmocka_unit_test(another_message_begins_anew),
        cmocka_unit_test(everything_else_is_passed_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
