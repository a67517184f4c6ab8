/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/media/numbered.h"

#include "agents/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MESSAGES 10
#define MESSAGE_BYTES 100
#define CONTENT_BYTES 750 /* nine messages of 78 bytes and one of 48 */

struct message {
    uint8_t data[MESSAGE_BYTES];
    size_t len;
};

static uint64_t make_all(struct message *m, uint64_t seed)
{
    struct numbered_source *s;
    uint64_t digest;

    assert_int_equal(numbered_source_new(&s, seed, CONTENT_BYTES, MESSAGE_BYTES), 0);
    for (int i = 0; i < MESSAGES; i++) {
        assert_false(numbered_source_done(s));
        m[i].len = numbered_source_next(s, m[i].data);
        assert_int_equal(m[i].len, i < MESSAGES - 1 ? MESSAGE_BYTES : 22 + 48);
    }
    assert_true(numbered_source_done(s));
    assert_int_equal(numbered_source_next(s, m[0].data), 0);
    assert_int_equal(numbered_source_bytes(s), CONTENT_BYTES);
    digest = numbered_source_digest(s);
    numbered_source_free(s);
    return digest;
}

static struct numbered_sink *sink_new(void)
{
    struct numbered_sink *k;

    assert_int_equal(numbered_sink_new(&k), 0);
    return k;
}

static void test_any_order(void **state)
{
    static const int order[MESSAGES] = {9, 0, 5, 4, 8, 1, 2, 7, 3, 6};
    static struct message m[MESSAGES], other[MESSAGES];
    uint64_t digest = make_all(m, 1);
    struct numbered_sink *k = sink_new();

    (void)state;
    for (int i = 0; i < MESSAGES; i++) {
        assert_false(numbered_sink_done(k));
        assert_int_equal(numbered_sink_recv(k, m[order[i]].data, m[order[i]].len), 0);
    }
    assert_true(numbered_sink_done(k));
    assert_int_equal(numbered_sink_bytes(k), CONTENT_BYTES);
    assert_true(numbered_sink_digest(k) == digest);
    assert_int_equal(numbered_sink_missing(k), 0);
    numbered_sink_free(k);
    assert_true(make_all(other, 2) != digest);
    assert_true(make_all(other, 1) == digest);
    for (int i = 0; i < MESSAGES; i++) {
        assert_memory_equal(m[i].data, other[i].data, m[i].len);
    }
}

static void test_missing(void **state)
{
    struct message m[MESSAGES];
    uint64_t digest = make_all(m, 1);
    struct numbered_sink *k = sink_new();

    (void)state;
    for (int i = 1; i < MESSAGES; i += 2) {
        assert_int_equal(numbered_sink_recv(k, m[i].data, m[i].len), 0);
    }
    assert_false(numbered_sink_done(k));
    assert_int_equal(numbered_sink_missing(k), 5);
    assert_true(numbered_sink_digest(k) != digest);
    numbered_sink_free(k);
}

static void test_refused(void **state)
{
    struct message m[MESSAGES], bad;
    struct numbered_sink *k = sink_new();

    (void)state;
    make_all(m, 1);
    for (size_t i = 0; i < m[3].len; i++) { /* every damaged byte, every cut */
        bad = m[3];
        bad.data[i] ^= 0x40;
        assert_int_equal(numbered_sink_recv(k, bad.data, bad.len), ERR_MALFORMED);
        assert_int_equal(numbered_sink_recv(k, m[3].data, i), ERR_MALFORMED);
    }
    assert_int_equal(numbered_sink_bytes(k), 0);
    assert_int_equal(numbered_sink_recv(k, m[3].data, m[3].len), 0);
    assert_int_equal(numbered_sink_recv(k, m[3].data, m[3].len), ERR_MALFORMED);
    assert_int_equal(numbered_sink_recv(k, m[9].data, m[9].len), 0);
    assert_int_equal(numbered_sink_recv(k, m[9].data, m[9].len), ERR_MALFORMED);
    numbered_sink_free(k);
}

static void test_bad_config(void **state)
{
    struct numbered_source *s = NULL;

    (void)state;
    assert_int_equal(numbered_source_new(&s, 1, -2, 100), ERR_CONFIG);
    assert_int_equal(numbered_source_new(&s, 1, 0, NUMBERED_MESSAGE_MIN - 1), ERR_CONFIG);
    assert_null(s);
    assert_int_equal(numbered_source_new(&s, 1, 0, NUMBERED_MESSAGE_MIN), 0);
    numbered_source_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_order),
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_bad_config),
    };

    return cmocka_run_group_tests_name("numbered", tests, NULL, NULL);
}
