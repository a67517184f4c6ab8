/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/rtp/rtp.h"

#include "agents/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* The bytes in an allocation of their own size, so that a sanitizer sees a read beyond them. */
static int parse(struct rtp_packet *p, const void *bytes, size_t len)
{
    uint8_t *copy = malloc(len ? len : 1);
    int rv;

    if (len) {
        memcpy(copy, bytes, len);
    }
    rv = rtp_parse(p, copy, len);
    free(copy);
    return rv;
}

#define HEAD(b0) b0 "\x60\x12\x34\1\2\3\4\xca\xfe\xba\xbe"
#define PARSE(p, text) parse(p, text, sizeof text - 1)

static void a_plain_packet(void **state)
{
    static const char bytes[] = "\x80\xe0\x12\x34\1\2\3\4\xca\xfe\xba\xbehello";
    struct rtp_packet p;
    uint8_t out[64];

    (void)state;
    assert_int_equal(rtp_parse(&p, (const uint8_t *)bytes, sizeof bytes - 1), 0);
    assert_true(p.marker);
    assert_int_equal(p.payload_type, 96);
    assert_int_equal(p.seq, 0x1234);
    assert_int_equal(p.timestamp, 0x01020304);
    assert_int_equal(p.ssrc, 0xcafebabe);
    assert_int_equal(p.payload_len, 5);
    assert_memory_equal(p.payload, "hello", 5);
    assert_int_equal(rtp_write(&p, out, sizeof out), sizeof bytes - 1);
    assert_memory_equal(out, bytes, sizeof bytes - 1);
}

static void one_byte_extensions(void **state)
{
    static const char bytes[] = HEAD("\x91") "CSRC"
                                             "\xbe\xde\0\2"
                                             "\x31\xaa\xbb\0\0\x50\xcc\0payload";
    struct rtp_packet p;

    (void)state;
    assert_int_equal(rtp_parse(&p, (const uint8_t *)bytes, sizeof bytes - 1), 0);
    assert_int_equal(p.csrc_count, 1);
    assert_int_equal(p.csrc[0], 0x43535243);
    assert_int_equal(p.extension_count, 2);
    assert_int_equal(p.extensions[0].id, 3);
    assert_int_equal(p.extensions[0].len, 2);
    assert_memory_equal(p.extensions[0].data, "\xaa\xbb", 2);
    assert_int_equal(p.extensions[1].id, 5);
    assert_int_equal(p.extensions[1].len, 1);
    assert_int_equal(p.payload_len, 7);
}

/* RFC 8285 section 4.2: identifier 15, and identifier 0 with a length, end the extension. */
static void one_byte_extensions_end_early(void **state)
{
    struct rtp_packet p;

    (void)state;
    assert_int_equal(PARSE(&p, HEAD("\x90") "\xbe\xde\0\1\x10\xaa\xf0\x20"), 0);
    assert_int_equal(p.extension_count, 1);
    assert_int_equal(PARSE(&p, HEAD("\x90") "\xbe\xde\0\1\x10\xaa\x01\x20"), 0);
    assert_int_equal(p.extension_count, 1);
}

static void two_byte_extensions(void **state)
{
    struct rtp_packet p;

    (void)state;
    assert_int_equal(PARSE(&p, HEAD("\x90") "\x10\x05\0\2\x14\0\0\xff\2ab\0z"), 0);
    assert_int_equal(p.extension_count, 2);
    assert_int_equal(p.extensions[0].id, 20);
    assert_int_equal(p.extensions[0].len, 0);
    assert_int_equal(p.extensions[1].id, 255);
    assert_int_equal(p.extensions[1].len, 2);
    assert_int_equal(p.payload_len, 1);
}

static void other_profiles_are_skipped(void **state)
{
    struct rtp_packet p;

    (void)state;
    assert_int_equal(PARSE(&p, HEAD("\x90") "\xab\xcd\0\1\xff\xff\xff\xffxy"), 0);
    assert_int_equal(p.extension_count, 0);
    assert_int_equal(p.payload_len, 2);
}

static void padding_is_taken_off(void **state)
{
    struct rtp_packet p;

    (void)state;
    assert_int_equal(PARSE(&p, HEAD("\xa0") "abc\0\0\3"), 0);
    assert_int_equal(p.payload_len, 3);
    assert_int_equal(p.padding_len, 3);
    assert_int_equal(PARSE(&p, HEAD("\xa0") "\1"), 0);
    assert_int_equal(p.payload_len, 0);
}

static void malformed_packets_are_refused(void **state)
{
    struct rtp_packet p;

    (void)state;
    for (size_t len = 0; len < 12; len++) {
        assert_int_equal(parse(&p, HEAD("\x80"), len), ERR_MALFORMED);
    }
    assert_int_equal(PARSE(&p, HEAD("\x40")), ERR_MALFORMED);                /* version */
    assert_int_equal(PARSE(&p, HEAD("\x81") "abc"), ERR_MALFORMED);          /* CSRC cut off */
    assert_int_equal(PARSE(&p, HEAD("\x90")), ERR_MALFORMED);                /* no extension */
    assert_int_equal(PARSE(&p, HEAD("\x90") "\xbe\xde\0\1"), ERR_MALFORMED); /* too long */
    assert_int_equal(PARSE(&p, HEAD("\x90") "\xbe\xde\0\1\x13\0\0\0"), ERR_MALFORMED);
    assert_int_equal(PARSE(&p, HEAD("\x90") "\x10\0\0\1\0\0\0\1"), ERR_MALFORMED);
    assert_int_equal(PARSE(&p, HEAD("\x90") "\x10\0\0\1\0\0\1\1"), ERR_MALFORMED);
    assert_int_equal(PARSE(&p, HEAD("\xa0")), ERR_MALFORMED);         /* no padding */
    assert_int_equal(PARSE(&p, HEAD("\xa0") "abc\0"), ERR_MALFORMED); /* of length 0 */
    assert_int_equal(PARSE(&p, HEAD("\xa0") "abc\5"), ERR_MALFORMED); /* too much */
    assert_int_equal(PARSE(&p, HEAD("\x90") "\x10\0\0\10"
                                            "\1\0\1\0\1\0\1\0\1\0\1\0\1\0\1\0"
                                            "\1\0\1\0\1\0\1\0\1\0\1\0\1\0\1\0"),
                     ERR_MALFORMED); /* sixteen elements */
}

/* Writes, parses, compares, and tries every buffer that is too small. */
static void round_trip(const struct rtp_packet *p)
{
    uint8_t out[512];
    struct rtp_packet q;
    int len = rtp_write(p, out, sizeof out);

    assert_true(len > 0);
    assert_int_equal(rtp_parse(&q, out, (size_t)len), 0);
    assert_true(q.marker == p->marker && q.payload_type == p->payload_type && q.seq == p->seq);
    assert_true(q.timestamp == p->timestamp && q.ssrc == p->ssrc);
    assert_int_equal(q.csrc_count, p->csrc_count);
    assert_memory_equal(q.csrc, p->csrc, p->csrc_count * sizeof p->csrc[0]);
    assert_int_equal(q.extension_count, p->extension_count);
    for (size_t i = 0; i < p->extension_count; i++) {
        assert_int_equal(q.extensions[i].id, p->extensions[i].id);
        assert_int_equal(q.extensions[i].len, p->extensions[i].len);
        assert_memory_equal(q.extensions[i].data, p->extensions[i].data, p->extensions[i].len);
    }
    assert_int_equal(q.padding_len, p->padding_len);
    assert_int_equal(q.payload_len, p->payload_len);
    assert_memory_equal(q.payload, p->payload, p->payload_len);
    for (size_t cap = 0; cap < (size_t)len; cap++) {
        uint8_t *small = malloc(cap ? cap : 1);
        assert_int_equal(rtp_write(p, small, cap), ERR_SPACE);
        free(small);
    }
}

static void what_is_written_parses_again(void **state)
{
    struct rtp_packet p = {
        .payload_type = 127,
        .seq = 65535,
        .timestamp = UINT32_MAX,
        .ssrc = 7,
        .csrc_count = 15,
        .csrc = {1, 2, 3, [14] = 99},
        .payload = (const uint8_t *)"some payload",
        .payload_len = 12,
        .padding_len = 255,
    };
    static const uint8_t data[255] = {1, 2, 3, 4};

    (void)state;
    round_trip(&p);
    p.extension_count = 2;
    p.extensions[0] = (struct rtp_extension){.id = 1, .len = 3, .data = data};
    p.extensions[1] = (struct rtp_extension){.id = 14, .len = 16, .data = data};
    round_trip(&p);
    p.extension_count = 1; /* four bytes: nothing to pad */
    round_trip(&p);
    p.extension_count = 2;
    p.extensions[1].id = 15; /* only in the two-byte form */
    round_trip(&p);
    p.extensions[1] = (struct rtp_extension){.id = 2, .len = 0, .data = data};
    p.padding_len = 0;
    round_trip(&p);
    p.extensions[0].len = 255;
    p.payload_len = 0;
    round_trip(&p);
}

static void fields_out_of_range_are_not_written(void **state)
{
    const struct rtp_packet good = {.payload = (const uint8_t *)"", .extension_count = 1};
    struct rtp_packet p = good;
    uint8_t out[64];

    (void)state;
    assert_int_equal(rtp_write(&p, out, sizeof out), ERR_MALFORMED); /* extension id 0 */
    p = (struct rtp_packet){.payload_type = 128};
    assert_int_equal(rtp_write(&p, out, sizeof out), ERR_MALFORMED);
    p = (struct rtp_packet){.csrc_count = 16};
    assert_int_equal(rtp_write(&p, out, sizeof out), ERR_MALFORMED);
    p = (struct rtp_packet){.extension_count = 15};
    assert_int_equal(rtp_write(&p, out, sizeof out), ERR_MALFORMED);
}

static void counters_unwrap_to_the_nearest_value(void **state)
{
    struct rtp_unwrap u = {0};

    (void)state;
    assert_int_equal(rtp_unwrap16(&u, 65530), 65530);
    assert_int_equal(rtp_unwrap16(&u, 3), 65539);
    assert_int_equal(rtp_unwrap16(&u, 65535), 65535); /* late: newest stays */
    assert_int_equal(rtp_unwrap16(&u, 35539), 35539);
    assert_int_equal(rtp_unwrap16(&u, 20003), 85539);
    u.newest = 65539;
    assert_int_equal(rtp_unwrap16(&u, 4), 65540);
    assert_int_equal(rtp_unwrap16(&u, 32771), 98307);
    assert_int_equal(rtp_unwrap16(&u, 10), 65546); /* 32761 back, not 32775 on */
    u = (struct rtp_unwrap){0};
    assert_int_equal(rtp_unwrap16(&u, 2), 2);
    assert_int_equal(rtp_unwrap16(&u, 65535), -1);
    u = (struct rtp_unwrap){0};
    assert_int_equal(rtp_unwrap32(&u, UINT32_MAX - 1), UINT32_MAX - 1);
    assert_int_equal(rtp_unwrap32(&u, 5), INT64_C(4294967301));
    assert_int_equal(rtp_unwrap32(&u, UINT32_MAX), UINT32_MAX);
}

static void counting_through_many_wraps(void **state)
{
    struct rtp_unwrap u = {0};

    (void)state;
    for (int64_t v = 17; v < 1000000; v += 997) {
        assert_int_equal(rtp_unwrap16(&u, (uint16_t)v), v);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_packet),
        cmocka_unit_test(one_byte_extensions),
        cmocka_unit_test(one_byte_extensions_end_early),
        cmocka_unit_test(two_byte_extensions),
        cmocka_unit_test(other_profiles_are_skipped),
        cmocka_unit_test(padding_is_taken_off),
        cmocka_unit_test(malformed_packets_are_refused),
        cmocka_unit_test(what_is_written_parses_again),
        cmocka_unit_test(fields_out_of_range_are_not_written),
        cmocka_unit_test(counters_unwrap_to_the_nearest_value),
        cmocka_unit_test(counting_through_many_wraps),
    };

    return cmocka_run_group_tests_name("rtp", tests, NULL, NULL);
}
