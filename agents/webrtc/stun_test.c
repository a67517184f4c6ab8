/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/webrtc/stun.h"

#include "agents/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* The messages of RFC 5769 sections 2.1 to 2.3. */
#define ID "\xb7\xe7\xa7\x01\xbc\x34\xd6\x86\xfa\x87\xdf\xae"
#define PASSWORD "VOkJxbRl1RmTxUk/WvJxBt"

static const char REQUEST[] =
    "\0\1\0\x58\x21\x12\xa4\x42" ID "\x80\x22\0\x10STUN test client"
    "\0\x24\0\4\x6e\0\1\xff"
    "\x80\x29\0\x08\x93\x2f\xf9\xb1\x51\x26\x3b\x36"
    "\0\6\0\x09"
    "evtj:h6vY   "
    "\0\x08\0\x14\x9a\xea\xa7\x0c\xbf\xd8\xcb\x56\x78\x1e\xf2\xb5\xb2\xd3\xf2\x49\xc1\xb5\x71\xa2"
    "\x80\x28\0\4\xe5\x7a\x3b\xcf";
static const char RESPONSE_4[] =
    "\1\1\0\x3c\x21\x12\xa4\x42" ID "\x80\x22\0\x0btest vector "
    "\0\x20\0\x08\0\1\xa1\x47\xe1\x12\xa6\x43"
    "\0\x08\0\x14\x2b\x91\xf5\x99\xfd\x9e\x90\xc3\x8c\x74\x89\xf9\x2a\xf9\xba\x53\xf0\x6b\xe7\xd7"
    "\x80\x28\0\4\xc0\x7d\x4c\x96";
static const char RESPONSE_6[] =
    "\1\1\0\x48\x21\x12\xa4\x42" ID "\x80\x22\0\x0btest vector "
    "\0\x20\0\x14\0\2\xa1\x47\1\x13\xa9\xfa\xa5\xd3\xf1\x79\xbc\x25\xf4\xb5\xbe\xd2\xb9\xd9"
    "\0\x08\0\x14\xa3\x82\x95\x4e\x4b\xe6\x7b\xf1\x17\x84\xc9\x7c\x82\x92\xc2\x75\xbf\xe3\xed\x41"
    "\x80\x28\0\4\xc8\xfb\x0b\x4c";

static int parse(struct stun_message *m, const void *bytes, size_t len, bool *answerable)
{
    uint8_t *copy = calloc(1, len ? len : 1);
    int rv;

    memcpy(copy, bytes, len);
    rv = stun_parse(m, copy, len, answerable);
    free(copy);
    return rv;
}

#define BYTES(text) ((const uint8_t *)(text))
#define LEN(text) (sizeof text - 1)

static void the_rfcs_request(void **state)
{
    struct stun_message m;
    bool answerable;

    (void)state;
    assert_int_equal(parse(&m, REQUEST, LEN(REQUEST), &answerable), 0);
    assert_true(answerable);
    assert_int_equal(m.class, STUN_REQUEST);
    assert_int_equal(m.method, STUN_METHOD_BINDING);
    assert_memory_equal(m.id, ID, 12);
    assert_true(m.has_username && m.has_priority && m.has_controlled && m.has_integrity);
    assert_true(m.has_fingerprint);
    assert_false(m.has_controlling || m.use_candidate || m.has_mapped);
    assert_string_equal(m.username, "evtj:h6vY");
    assert_int_equal(m.priority, 0x6e0001ff);
    assert_true(m.tie_breaker == 0x932ff9b151263b36);
    assert_int_equal(m.unknown_count, 0);
    assert_true(stun_verify(&m, BYTES(REQUEST), PASSWORD));
    assert_false(stun_verify(&m, BYTES(REQUEST), "another password that is wrong"));
}

static void the_rfcs_responses(void **state)
{
    struct stun_message m;
    bool answerable;
    char text[ADDR_TEXT_MAX];

    (void)state;
    assert_int_equal(parse(&m, RESPONSE_4, LEN(RESPONSE_4), &answerable), 0);
    assert_int_equal(m.class, STUN_SUCCESS);
    assert_string_equal(addr_print(&m.mapped, text), "192.0.2.1:32853");
    assert_true(stun_verify(&m, BYTES(RESPONSE_4), PASSWORD));
    assert_int_equal(parse(&m, RESPONSE_6, LEN(RESPONSE_6), &answerable), 0);
    assert_string_equal(addr_print(&m.mapped, text),
                        "[2001:db8:1234:5678:11:2233:4455:6677]:32853");
    assert_true(stun_verify(&m, BYTES(RESPONSE_6), PASSWORD));
}

/* One flipped bit breaks the fingerprint, or hides it or the integrity behind another type. What is
 * covered by the integrity is never taken for genuine. */
static void any_flipped_bit_is_noticed(void **state)
{
    struct stun_message m;
    bool answerable;

    (void)state;
    for (size_t bit = 0; bit < 8 * LEN(REQUEST); bit++) {
        char damaged[sizeof REQUEST];
        int rv;

        memcpy(damaged, REQUEST, sizeof REQUEST);
        damaged[bit / 8] ^= (char)(1 << bit % 8);
        rv = parse(&m, damaged, LEN(REQUEST), &answerable);
        assert_true(rv == ERR_MALFORMED || !m.has_fingerprint || !m.has_integrity);
        assert_false(bit / 8 < LEN(REQUEST) - 8 && !rv &&
                     stun_verify(&m, BYTES(damaged), PASSWORD));
    }
}

static void written_messages_come_back(void **state)
{
    struct stun_message m = {
        .class = STUN_REQUEST,
        .method = STUN_METHOD_BINDING,
        .id = "abcdefghijk",
        .has_username = true,
        .username = "there:here",
        .has_priority = true,
        .priority = 0x7effffff,
        .has_controlling = true,
        .tie_breaker = 0x0123456789abcdef,
        .use_candidate = true,
    };
    struct stun_message back;
    uint8_t out[200];
    bool answerable;
    int len;

    (void)state;
    len = stun_write(&m, "the password of the other side", out, sizeof out);
    assert_true(len > 0 && len % 4 == 0);
    assert_int_equal(parse(&back, out, (size_t)len, &answerable), 0);
    assert_int_equal(back.class, STUN_REQUEST);
    assert_memory_equal(back.id, m.id, 12);
    assert_string_equal(back.username, "there:here");
    assert_true(back.use_candidate && back.has_controlling && back.has_fingerprint);
    assert_true(back.tie_breaker == m.tie_breaker);
    assert_int_equal(back.priority, m.priority);
    assert_true(stun_verify(&back, out, "the password of the other side"));
    for (size_t cap = 0; cap < (size_t)len; cap++) {
        assert_int_equal(stun_write(&m, "the password", out, cap), ERR_SPACE);
    }
}

static void mapped_addresses_come_back(void **state)
{
    static const char *const texts[] = {"192.0.2.1:32853", "[2001:db8::ffff:1]:1"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct stun_message m = {.class = STUN_SUCCESS, .method = 1, .id = ID, .has_mapped = true};
        struct stun_message back;
        char text[ADDR_TEXT_MAX];
        uint8_t out[200];
        bool answerable;
        int len;

        assert_int_equal(addr_parse(&m.mapped, texts[i]), 0);
        len = stun_write(&m, NULL, out, sizeof out);
        assert_int_equal(parse(&back, out, (size_t)len, &answerable), 0);
        assert_false(back.has_integrity);
        assert_string_equal(addr_print(&back.mapped, text), texts[i]);
    }
}

static void errors_come_back(void **state)
{
    static const uint16_t codes[] = {400, 401, 420, 487, 500, 300, 699};

    (void)state;
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        struct stun_message m = {.class = STUN_ERROR, .method = 1, .error_code = codes[i]}, back;
        uint8_t out[200];
        bool answerable;
        int len;

        m.unknown_count = codes[i] == 420 ? 3 : 0;
        len = stun_write(&m, NULL, out, sizeof out);
        assert_int_equal(parse(&back, out, (size_t)len, &answerable), 0);
        assert_int_equal(back.class, STUN_ERROR);
        assert_int_equal(back.error_code, codes[i]);
    }
}

static void every_class_and_method(void **state)
{
    (void)state;
    for (unsigned class = 0; class < 4; class ++) {
        for (uint16_t method = 0; method <= 0xfff; method++) {
            struct stun_message m = {.class = (enum stun_class) class, .method = method}, back;
            uint8_t out[64];
            bool answerable;
            int len = stun_write(&m, NULL, out, sizeof out);

            assert_int_equal(len, 28);
            assert_int_equal(stun_parse(&back, out, (size_t)len, &answerable), 0);
            assert_int_equal(back.class, class);
            assert_int_equal(back.method, method);
        }
    }
}

static void what_cannot_be_written(void **state)
{
    struct stun_message m = {.method = 0x1000};
    uint8_t out[2000];

    (void)state;
    assert_int_equal(stun_write(&m, NULL, out, sizeof out), ERR_MALFORMED);
    m = (struct stun_message){.method = 1, .error_code = 200};
    assert_int_equal(stun_write(&m, NULL, out, sizeof out), ERR_MALFORMED);
    m = (struct stun_message){.method = 1, .has_mapped = true};
    assert_int_equal(stun_write(&m, NULL, out, sizeof out), ERR_MALFORMED);
    m = (struct stun_message){.method = 1, .has_controlled = true, .has_controlling = true};
    assert_int_equal(stun_write(&m, NULL, out, sizeof out), ERR_MALFORMED);
}

/* Attributes behind a header whose length field says their length. */
static int parse_attributes(struct stun_message *m, const void *attributes, size_t len,
                            bool *answerable)
{
    uint8_t bytes[600] = {0, 1, (uint8_t)(len >> 8), (uint8_t)len, 0x21, 0x12, 0xa4, 0x42};

    memcpy(bytes + 20, attributes, len);
    return parse(m, bytes, 20 + len, answerable);
}

#define ATTRIBUTES(m, text, answerable) parse_attributes(m, text, LEN(text), answerable)

static void bad_headers(void **state)
{
    struct stun_message m;
    bool answerable = true;
    char bytes[] = "\0\1\0\0\x21\x12\xa4\x42" ID;

    (void)state;
    assert_int_equal(parse(&m, bytes, 20, &answerable), 0);
    assert_int_equal(parse(&m, bytes, 19, &answerable), ERR_MALFORMED);
    assert_false(answerable);
    assert_int_equal(parse(&m, bytes, 21, &answerable), ERR_MALFORMED);
    bytes[4] = 0; /* cookie */
    assert_int_equal(parse(&m, bytes, 20, &answerable), ERR_MALFORMED);
    bytes[4] = 0x21;
    bytes[0] = 0x40; /* the first two bits */
    assert_int_equal(parse(&m, bytes, 20, &answerable), ERR_MALFORMED);
    bytes[0] = 0;
    bytes[3] = 2; /* not a multiple of 4 */
    assert_int_equal(parse(&m, bytes, LEN(bytes), &answerable), ERR_MALFORMED);
}

static void bad_attributes(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
    } cases[] = {
#define CASE(text) {text, LEN(text)}
        CASE("\0\6\0\x08half"),               /* longer than the message */
        CASE("\0\6\0\4a\0bc"),                /* a NUL in USERNAME */
        CASE("\0\x24\0\3\1\2\3\0"),           /* PRIORITY of 3 bytes */
        CASE("\0\x25\0\4\1\2\3\4"),           /* USE-CANDIDATE with a value */
        CASE("\x80\x29\0\4\1\2\3\4"),         /* ICE-CONTROLLED of 4 bytes */
        CASE("\x80\x2a\0\4\1\2\3\4"),         /* ICE-CONTROLLING of 4 bytes */
        CASE("\0\x20\0\4\0\1\1\2"),           /* no address */
        CASE("\0\x20\0\x08\0\3\1\2\1\2\3\4"), /* family 3 */
        CASE("\0\x20\0\x08\0\2\1\2\1\2\3\4"), /* IPv6 of 4 bytes */
        CASE("\0\x08\0\x10"
             "0123456789abcdef"),     /* integrity of another length */
        CASE("\0\x09\0\4\0\0\2\0"),   /* error 200 */
        CASE("\0\x09\0\4\0\0\4\x64"), /* error 4,100 */
        CASE("\0\x09\0\2\0\0\0\0"),
        CASE("\x80\x28\0\4\1\2\3\4"), /* a wrong fingerprint */
        CASE("\x80\x28\0\2\1\2\0\0"),
#undef CASE
    };
    struct stun_message m;
    bool answerable;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(parse_attributes(&m, cases[i].bytes, cases[i].len, &answerable),
                         ERR_MALFORMED);
        assert_false(answerable);
        assert_false(stun_verify(&m, NULL, PASSWORD));
    }
}

static void unknown_attributes_are_listed(void **state)
{
    struct stun_message m;
    bool answerable;
    char many[4 * 20];

    (void)state;
    assert_int_equal(ATTRIBUTES(&m, "\0\x30\0\1x\0\0\0\x80\x99\0\0\x7f\xff\0\0", &answerable), 0);
    assert_int_equal(m.unknown_count, 2);
    assert_int_equal(m.unknown[0], 0x30);
    assert_int_equal(m.unknown[1], 0x7fff);
    memset(many, 0, sizeof many);
    for (size_t i = 0; i < 20; i++) {
        many[4 * i] = 0x40;
    }
    assert_int_equal(parse_attributes(&m, many, sizeof many, &answerable), 0);
    assert_int_equal(m.unknown_count, STUN_UNKNOWN_MAX);
}

static void of_two_the_first_counts(void **state)
{
    struct stun_message m;
    bool answerable;

    (void)state;
    assert_int_equal(ATTRIBUTES(&m,
                                "\0\6\0\4abcd\0\6\0\4wxyz"
                                "\0\x24\0\4\0\0\0\1\0\x24\0\4\0\0\0\2",
                                &answerable),
                     0);
    assert_string_equal(m.username, "abcd");
    assert_int_equal(m.priority, 1);
}

/* What follows MESSAGE-INTEGRITY was not covered by it. */
static void nothing_counts_after_integrity(void **state)
{
    struct stun_message m;
    bool answerable;

    (void)state;
    assert_int_equal(ATTRIBUTES(&m,
                                "\0\x08\0\x14"
                                "0123456789abcdefghij"
                                "\0\x25\0\0\0\6\0\4abcd\0\x30\0\0",
                                &answerable),
                     0);
    assert_true(m.has_integrity);
    assert_false(m.use_candidate || m.has_username || m.unknown_count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rfcs_request),
        cmocka_unit_test(the_rfcs_responses),
        cmocka_unit_test(any_flipped_bit_is_noticed),
        cmocka_unit_test(written_messages_come_back),
        cmocka_unit_test(mapped_addresses_come_back),
        cmocka_unit_test(errors_come_back),
        cmocka_unit_test(every_class_and_method),
        cmocka_unit_test(what_cannot_be_written),
        cmocka_unit_test(bad_headers),
        cmocka_unit_test(bad_attributes),
        cmocka_unit_test(unknown_attributes_are_listed),
        cmocka_unit_test(of_two_the_first_counts),
        cmocka_unit_test(nothing_counts_after_integrity),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
