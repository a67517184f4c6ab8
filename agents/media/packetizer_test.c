/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/media/packetizer.h"

#include "agents/base/buf.h"
#include "agents/base/err.h"
#include "agents/rtp/rtp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void a_frame_becomes_equal_packets(void **state)
{
    const struct encoder_frame f = {.number = 70000, .captured = 1234567890, .bytes = 13500};
    struct packetizer_packet out;
    struct packetizer p;
    int64_t first, offset = 0;
    int64_t n;

    (void)state;
    packetizer_init(&p, 1, 1200);
    first = p.next_seq;
    n = packetizer_count(&p, &f);
    assert_int_equal(n, 12); /* 1180 bytes of the frame in each at most */
    for (int64_t i = 0; i < n; i++) {
        struct rtp_packet rtp;
        struct buf_reader r;

        assert_int_equal(packetizer_next(&p, &f, i, &out), 0);
        assert_int_equal(out.len, 13500 / 12 + 20);
        assert_int_equal(out.seq, first + i);
        assert_int_equal(out.frame, f.number);
        assert_int_equal(out.frame_offset_bytes, offset);
        assert_int_equal(out.rtp_timestamp, (int64_t)p.timestamp_base + 111111);
        offset += (int64_t)out.len;

        assert_int_equal(rtp_parse(&rtp, out.data, out.len), 0);
        assert_int_equal(rtp.seq, (uint16_t)out.seq);
        assert_int_equal(rtp.timestamp, (uint32_t)out.rtp_timestamp);
        assert_int_equal(rtp.ssrc, p.ssrc);
        assert_int_equal(rtp.payload_type, PACKETIZER_PAYLOAD_TYPE);
        assert_int_equal(rtp.marker, i == n - 1);
        r = buf_reader_init(rtp.payload, rtp.payload_len);
        assert_int_equal(buf_get_u32(&r), f.number);
        assert_int_equal(buf_get_u16(&r), i);
        assert_int_equal(buf_get_u16(&r), n);
    }
    assert_int_equal(offset, f.bytes + n * 20);
}

static void sizes_differ_by_at_most_one_and_add_up(void **state)
{
    struct packetizer_packet out;
    struct packetizer p;

    (void)state;
    packetizer_init(&p, 1, 1200);
    for (int64_t bytes = 1; bytes < 20000; bytes += 37) {
        const struct encoder_frame f = {.bytes = bytes};
        int64_t n = packetizer_count(&p, &f), sum = 0;
        size_t min = 1500, max = 0;

        for (int64_t i = 0; i < n; i++) {
            assert_int_equal(packetizer_next(&p, &f, i, &out), 0);
            sum += (int64_t)out.len - 20;
            min = out.len < min ? out.len : min;
            max = out.len > max ? out.len : max;
        }
        assert_int_equal(sum, bytes);
        assert_true(max <= 1200 && max - min <= 1);
        assert_true(n == 1 || (n - 1) * 1180 < bytes);
    }
}

static void packets_depend_on_the_seed_alone(void **state)
{
    const struct encoder_frame f = {.number = 3, .captured = NS_PER_S, .bytes = 1000};
    struct packetizer_packet a, b, c;
    struct packetizer p, q, r;

    (void)state;
    packetizer_init(&p, 1, 1200);
    packetizer_init(&q, 1, 1200);
    packetizer_init(&r, 2, 1200);
    assert_int_equal(packetizer_next(&p, &f, 0, &a), 0);
    assert_int_equal(packetizer_next(&q, &f, 0, &b), 0);
    assert_int_equal(packetizer_next(&r, &f, 0, &c), 0);
    assert_memory_equal(a.data, b.data, a.len);
    assert_memory_not_equal(a.data + 20, c.data + 20, a.len - 20);
    assert_int_equal(packetizer_next(&p, &f, 0, &b), 0); /* the next sequence number */
    assert_memory_not_equal(a.data + 20, b.data + 20, a.len - 20);
}

static void counters_start_where_a_receiver_cannot_misread_them(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 1000; seed++) {
        struct packetizer p;
        packetizer_init(&p, seed, 1200);
        assert_true(p.next_seq >= 0 && p.next_seq < 1 << 15);
        assert_true(p.timestamp_base < UINT32_C(1) << 31);
    }
}

static void the_sequence_number_wraps_in_the_packet_only(void **state)
{
    const struct encoder_frame f = {.bytes = 100};
    struct packetizer_packet out;
    struct packetizer p;

    (void)state;
    packetizer_init(&p, 1, 1200);
    p.next_seq = 65536;
    assert_int_equal(packetizer_next(&p, &f, 0, &out), 0);
    assert_int_equal(out.seq, 65536);
    assert_int_equal(out.data[2] << 8 | out.data[3], 0);
}

static void what_does_not_fit_is_refused(void **state)
{
    const struct encoder_frame f = {.bytes = 100}, huge = {.bytes = INT64_C(1) << 40};
    struct packetizer_packet out;
    struct packetizer p;

    (void)state;
    packetizer_init(&p, 1, 1501);
    assert_int_equal(packetizer_next(&p, &f, 0, &out), ERR_SPACE);
    packetizer_init(&p, 1, 20);
    assert_int_equal(packetizer_count(&p, &f), 0);
    assert_int_equal(packetizer_next(&p, &f, 0, &out), ERR_SPACE);
    packetizer_init(&p, 1, 1200);
    assert_int_equal(packetizer_next(&p, &f, 1, &out), ERR_SPACE);
    assert_int_equal(packetizer_next(&p, &f, -1, &out), ERR_SPACE);
    assert_int_equal(packetizer_next(&p, &huge, 0, &out), ERR_SPACE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_becomes_equal_packets),
        cmocka_unit_test(sizes_differ_by_at_most_one_and_add_up),
        cmocka_unit_test(packets_depend_on_the_seed_alone),
        cmocka_unit_test(counters_start_where_a_receiver_cannot_misread_them),
        cmocka_unit_test(the_sequence_number_wraps_in_the_packet_only),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };

    return cmocka_run_group_tests_name("packetizer", tests, NULL, NULL);
}
