/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/rtp/rtx.h"

#include "agents/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static void a_packet_there_and_back(void **state)
{
    static const uint8_t extension[] = {0xaa, 0xbb};
    struct rtx_stream s = {.ssrc = 0x1111, .payload_type = 97, .next_seq = 65535};
    struct rtp_packet p = {
        .marker = true,
        .payload_type = 96,
        .seq = 0x1234,
        .timestamp = 0x01020304,
        .ssrc = 0x2222,
        .extension_count = 1,
        .extensions = {{.id = 3, .len = 2, .data = extension}},
        .payload = (const uint8_t *)"payload",
        .payload_len = 7,
        .padding_len = 9,
    };
    struct rtp_packet q;
    uint8_t out[100];
    int len;

    (void)state;
    len = rtx_write(&s, &p, out, sizeof out);
    assert_int_equal(len, 12 + 8 + 2 + 7);
    assert_int_equal(s.next_seq, 0);
    assert_int_equal(rtp_parse(&q, out, (size_t)len), 0);
    assert_int_equal(q.ssrc, 0x1111);
    assert_int_equal(q.payload_type, 97);
    assert_int_equal(q.seq, 65535);
    assert_int_equal(q.timestamp, 0x01020304);
    assert_true(q.marker);
    assert_memory_equal(q.payload, "\x12\x34payload", 9);
    assert_int_equal(rtx_restore(&q, 0x2222, 96), 0);
    assert_int_equal(q.ssrc, 0x2222);
    assert_int_equal(q.payload_type, 96);
    assert_int_equal(q.seq, 0x1234);
    assert_int_equal(q.payload_len, 7);
    assert_memory_equal(q.payload, "payload", 7);
    assert_int_equal(q.extension_count, 1);
    assert_memory_equal(q.extensions[0].data, extension, 2);
}

static void an_empty_packet(void **state)
{
    struct rtx_stream s = {.ssrc = 1, .payload_type = 97};
    struct rtp_packet p = {.payload_type = 96, .seq = 7}, q;
    uint8_t out[20];

    (void)state;
    assert_int_equal(rtx_write(&s, &p, out, sizeof out), 14);
    assert_int_equal(rtp_parse(&q, out, 14), 0);
    assert_int_equal(rtx_restore(&q, 2, 96), 0);
    assert_int_equal(q.payload_len, 0);
    assert_int_equal(rtx_restore(&q, 2, 96), ERR_MALFORMED); /* no number left to take */
}

static void what_cannot_be_written(void **state)
{
    static const uint8_t big[RTX_PACKET_BYTES_MAX + 1];
    struct rtx_stream s = {.next_seq = 5};
    struct rtp_packet p = {.payload = big, .payload_len = sizeof big};
    uint8_t out[2000];

    (void)state;
    assert_int_equal(rtx_write(&s, &p, out, sizeof out), ERR_SPACE);
    p.payload_len = 10;
    assert_int_equal(rtx_write(&s, &p, out, 23), ERR_SPACE);
    p.extension_count = 1; /* with identifier 0 */
    assert_int_equal(rtx_write(&s, &p, out, sizeof out), ERR_MALFORMED);
    assert_int_equal(s.next_seq, 5);
}

static struct rtx_history *history(size_t packets_max, ns_t age_max)
{
    struct rtx_history_config cfg = {.packets_max = packets_max, .age_max = age_max};
    struct rtx_history *h;

    assert_int_equal(rtx_history_new(&h, &cfg), 0);
    return h;
}

static void put(struct rtx_history *h, uint16_t seq, size_t len, ns_t now)
{
    uint8_t data[RTX_PACKET_BYTES_MAX];

    memset(data, seq & 255, sizeof data);
    assert_int_equal(rtx_history_put(h, seq, data, len, now), 0);
}

static bool has(struct rtx_history *h, uint16_t seq, ns_t now)
{
    size_t len;
    const uint8_t *data = rtx_history_resend(h, seq, 0, now, &len);

    assert_true(!data || (len && data[0] == (seq & 255) && data[len - 1] == (seq & 255)));
    return data;
}

static void packets_are_kept_for_a_while(void **state)
{
    struct rtx_history *h = history(100, NS_PER_S);

    (void)state;
    assert_false(has(h, 0, 0));
    for (int i = 0; i < 200; i++) {
        put(h, (uint16_t)(65500 + i), 10, i * NS_PER_MS);
    }
    assert_false(has(h, (uint16_t)(65500 + 99), 200 * NS_PER_MS)); /* one too many */
    assert_true(has(h, (uint16_t)(65500 + 100), 200 * NS_PER_MS));
    assert_true(has(h, (uint16_t)(65500 + 199), 200 * NS_PER_MS));
    assert_false(has(h, (uint16_t)(65500 + 200), 200 * NS_PER_MS));
    assert_true(has(h, (uint16_t)(65500 + 150), 1150 * NS_PER_MS));
    assert_false(has(h, (uint16_t)(65500 + 149), 1150 * NS_PER_MS)); /* too old */
    rtx_history_free(h);
}

static void not_twice_within_a_round_trip(void **state)
{
    struct rtx_history *h = history(1, NS_PER_S);
    const ns_t rtt = 30 * NS_PER_MS;
    size_t len = 0;

    (void)state;
    put(h, 9, 77, 0);
    assert_non_null(rtx_history_resend(h, 9, rtt, 20 * NS_PER_MS, &len)); /* the first request */
    assert_int_equal(len, 77);
    assert_null(rtx_history_resend(h, 9, rtt, 49 * NS_PER_MS, &len));
    assert_non_null(rtx_history_resend(h, 9, rtt, 50 * NS_PER_MS, &len));
    assert_null(rtx_history_resend(h, 9, rtt, 79 * NS_PER_MS, &len));
    put(h, 10, 5, 80 * NS_PER_MS);
    assert_false(has(h, 9, 80 * NS_PER_MS));                               /* only one is kept */
    assert_non_null(rtx_history_resend(h, 10, rtt, 81 * NS_PER_MS, &len)); /* its own first */
    assert_null(rtx_history_resend(h, 10, rtt, 82 * NS_PER_MS, &len));
    rtx_history_free(h);
}

static void padding_takes_the_largest_of_the_newest(void **state)
{
    struct rtx_history *h = history(200, NS_PER_S);
    size_t len = 0;

    (void)state;
    assert_null(rtx_history_padding(h, 0, &len));
    put(h, 65500, 1400, 0);
    for (int i = 1; i <= RTX_PADDING_CHOICE; i++) {
        put(h, (uint16_t)(65500 + i), (size_t)(100 + i % 16), i);
    }
    assert_non_null(rtx_history_padding(h, 100, &len));
    assert_int_equal(len, 115); /* the one of 1400 bytes is too far back */
    assert_int_equal(rtx_history_padding(h, 100, &len)[0], (65500 + 31) & 255); /* the newest */
    assert_null(rtx_history_padding(h, 2 * NS_PER_S, &len));
    rtx_history_free(h);
}

static void bounds(void **state)
{
    struct rtx_history_config cfg = {.packets_max = 0};
    struct rtx_history *h;
    uint8_t data[RTX_PACKET_BYTES_MAX + 1] = {0};

    (void)state;
    assert_int_equal(rtx_history_new(&h, &cfg), ERR_CONFIG);
    cfg.packets_max = 16385;
    assert_int_equal(rtx_history_new(&h, &cfg), ERR_CONFIG);
    cfg.packets_max = 1;
    cfg.age_max = -1;
    assert_int_equal(rtx_history_new(&h, &cfg), ERR_CONFIG);
    h = history(16384, NS_PER_S);
    assert_int_equal(rtx_history_put(h, 0, data, sizeof data, 0), ERR_SPACE);
    rtx_history_free(h);
    rtx_history_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_packet_there_and_back),
        cmocka_unit_test(an_empty_packet),
        cmocka_unit_test(what_cannot_be_written),
        cmocka_unit_test(packets_are_kept_for_a_while),
        cmocka_unit_test(not_twice_within_a_round_trip),
        cmocka_unit_test(padding_takes_the_largest_of_the_newest),
        cmocka_unit_test(bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
