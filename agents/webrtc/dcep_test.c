/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/webrtc/dcep.h"

#include "agents/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static int parse(struct dcep_open *open, const void *bytes, size_t len)
{
    uint8_t *copy = calloc(1, len ? len : 1);
    int rv;

    memcpy(copy, bytes, len);
    rv = dcep_parse(open, copy, len);
    free(copy);
    return rv;
}

#define PARSE(open, text) parse(open, text, sizeof text - 1)

static void an_open_message(void **state)
{
    static const char bytes[] = "\3\x82\2\0\0\0\3\xe8\0\4\0\2filexy";
    struct dcep_open open;
    uint8_t out[64];

    (void)state;
    assert_int_equal(PARSE(&open, bytes), DCEP_OPEN);
    assert_int_equal(open.channel, DCEP_LIFETIME);
    assert_true(open.unordered);
    assert_int_equal(open.priority, DCEP_PRIORITY_HIGH);
    assert_int_equal(open.reliability, 1000);
    assert_string_equal(open.label, "file");
    assert_string_equal(open.protocol, "xy");
    assert_int_equal(dcep_write_open(&open, out, sizeof out), sizeof bytes - 1);
    assert_memory_equal(out, bytes, sizeof bytes - 1);
}

static void every_channel_type(void **state)
{
    (void)state;
    for (unsigned type = 0; type < 256; type++) {
        char bytes[] = "\3\0\1\0\0\0\0\7\0\0\0\0";
        struct dcep_open open;
        int want = (type & 0x7f) <= 2 ? DCEP_OPEN : ERR_MALFORMED;

        bytes[1] = (char)type;
        assert_int_equal(parse(&open, bytes, 12), want);
        if (want == DCEP_OPEN) {
            assert_int_equal(open.unordered, type >= 128);
            assert_int_equal(open.reliability, (type & 0x7f) ? 7 : 0);
        }
    }
}

static void what_is_refused(void **state)
{
    struct dcep_open open;
    uint8_t longest[12 + 256 + 256] = {3};

    (void)state;
    assert_int_equal(PARSE(&open, ""), ERR_MALFORMED);
    assert_int_equal(PARSE(&open, "\1"), ERR_MALFORMED);
    assert_int_equal(PARSE(&open, "\3\0\1\0\0\0\0\0\0\0\0"), ERR_MALFORMED);
    assert_int_equal(PARSE(&open, "\3\0\1\0\0\0\0\0\0\1\0\0"), ERR_MALFORMED);   /* short */
    assert_int_equal(PARSE(&open, "\3\0\1\0\0\0\0\0\0\0\0\0x"), ERR_MALFORMED);  /* long */
    assert_int_equal(PARSE(&open, "\3\0\1\0\0\0\0\0\0\1\0\0\0"), ERR_MALFORMED); /* a NUL */
    memset(longest + 12, 'x', 512);
    longest[9] = 255;
    longest[11] = 255;
    assert_int_equal(dcep_parse(&open, longest, 12 + 510), DCEP_OPEN);
    assert_int_equal(strlen(open.label), 255);
    longest[8] = 1;
    longest[9] = 0;
    assert_int_equal(dcep_parse(&open, longest, 12 + 511), ERR_MALFORMED);
    longest[8] = 0;
    longest[10] = 1;
    longest[11] = 0;
    assert_int_equal(dcep_parse(&open, longest, 12 + 256), ERR_MALFORMED);
}

static void acknowledgements(void **state)
{
    struct dcep_open open;
    uint8_t out[1];

    (void)state;
    assert_int_equal(dcep_write_ack(out, 0), ERR_SPACE);
    assert_int_equal(dcep_write_ack(out, 1), 1);
    assert_int_equal(parse(&open, out, 1), DCEP_ACK);
    assert_int_equal(PARSE(&open, "\2\0"), ERR_MALFORMED);
}

static void what_cannot_be_written(void **state)
{
    struct dcep_open open = {.channel = DCEP_RELIABLE, .label = "a"};
    uint8_t out[64];

    (void)state;
    assert_int_equal(dcep_write_open(&open, out, 12), ERR_SPACE);
    assert_int_equal(dcep_write_open(&open, out, 13), 13);
    open.channel = (enum dcep_channel)3;
    assert_int_equal(dcep_write_open(&open, out, sizeof out), ERR_MALFORMED);
    open.channel = DCEP_RELIABLE;
    memset(open.label, 'x', sizeof open.label); /* no end */
    assert_int_equal(dcep_write_open(&open, out, sizeof out), ERR_MALFORMED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_open_message),        cmocka_unit_test(every_channel_type),
        cmocka_unit_test(what_is_refused),        cmocka_unit_test(acknowledgements),
        cmocka_unit_test(what_cannot_be_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
