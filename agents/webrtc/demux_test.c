/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/webrtc/demux.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static enum demux_kind classify(unsigned first, unsigned second, size_t len)
{
    uint8_t data[16] = {(uint8_t)first, (uint8_t)second};

    return demux_classify(data, len);
}

/* RFC 7983 figure 3 */
static void every_first_byte(void **state)
{
    (void)state;
    for (unsigned b = 0; b < 256; b++) {
        enum demux_kind want = b <= 3                 ? DEMUX_STUN
                               : b >= 16 && b <= 19   ? DEMUX_ZRTP
                               : b >= 20 && b <= 63   ? DEMUX_DTLS
                               : b >= 64 && b <= 79   ? DEMUX_TURN_CHANNEL
                               : b >= 128 && b <= 191 ? DEMUX_RTP
                                                      : DEMUX_UNKNOWN;

        assert_int_equal(classify(b, 96, 16), want);
    }
}

/* RFC 5761 section 4 */
static void every_second_byte(void **state)
{
    (void)state;
    for (unsigned b = 0; b < 256; b++) {
        assert_int_equal(classify(0x80, b, 16), b >= 192 && b <= 223 ? DEMUX_RTCP : DEMUX_RTP);
    }
}

static void short_ones(void **state)
{
    (void)state;
    assert_int_equal(demux_classify(NULL, 0), DEMUX_UNKNOWN);
    assert_int_equal(classify(0x80, 96, 11), DEMUX_UNKNOWN);
    assert_int_equal(classify(0x80, 96, 12), DEMUX_RTP);
    assert_int_equal(classify(0x80, 201, 7), DEMUX_UNKNOWN);
    assert_int_equal(classify(0x80, 201, 8), DEMUX_RTCP);
    assert_int_equal(classify(22, 0, 1), DEMUX_DTLS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_first_byte),
        cmocka_unit_test(every_second_byte),
        cmocka_unit_test(short_ones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
