/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/quic/roq.h"

#include "agents/base/err.h"
#include "agents/base/prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void identifiers_are_told_apart_by_a_bit(void **state)
{
    (void)state;
    for (uint64_t id = 0; id < 64; id++) {
        assert_true(roq_is_flow_id(id) == (id % 4 >= 2));
    }
}

static void datagrams_round_trip(void **state)
{
    static const uint64_t ids[] = {
        2, 63, 66, 16383, 16386, (1u << 30) + 2, (UINT64_C(1) << 62) - 1};
    static const size_t id_len[] = {1, 1, 2, 2, 4, 8, 8};
    const uint8_t packet[] = "an RTP packet";
    uint8_t out[64];

    (void)state;
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        const uint8_t *p;
        uint64_t id;
        size_t n;
        int len = roq_datagram_write(ids[i], packet, sizeof packet, out, sizeof out);

        assert_int_equal(len, id_len[i] + sizeof packet);
        assert_int_equal(roq_datagram_parse(out, (size_t)len, &id, &p, &n), 0);
        assert_true(id == ids[i]);
        assert_int_equal(n, sizeof packet);
        assert_memory_equal(p, packet, n);
        assert_int_equal(roq_datagram_write(ids[i], packet, sizeof packet, out, (size_t)len - 1),
                         ERR_SPACE);
    }
    assert_int_equal(roq_datagram_write(UINT64_C(1) << 62, packet, 1, out, sizeof out), ERR_SPACE);
}

static void malformed_datagrams_are_refused(void **state)
{
    const uint8_t *p;
    uint64_t id;
    size_t n;

    (void)state;
    assert_int_equal(roq_datagram_parse((const uint8_t *)"", 0, &id, &p, &n), ERR_MALFORMED);
    assert_int_equal(roq_datagram_parse((const uint8_t *)"\x02", 1, &id, &p, &n), ERR_MALFORMED);
    assert_int_equal(roq_datagram_parse((const uint8_t *)"\x40", 1, &id, &p, &n), ERR_MALFORMED);
    assert_int_equal(roq_datagram_parse((const uint8_t *)"\x40\x02", 2, &id, &p, &n),
                     ERR_MALFORMED);
}

static void prefixes_are_as_in_the_draft(void **state)
{
    uint8_t out[16];

    (void)state;
    assert_int_equal(roq_stream_prefix_write(true, 2, 1200, out, sizeof out), 3);
    assert_memory_equal(out, "\x02\x44\xb0", 3);
    assert_int_equal(roq_stream_prefix_write(false, 2, 12, out, sizeof out), 1);
    assert_memory_equal(out, "\x0c", 1);
    assert_int_equal(roq_stream_prefix_write(true, 2, 1200, out, 2), ERR_SPACE);
}

#define PACKETS 200

/* Builds a stream of packets whose sizes come from the seed; returns it, to be freed. */
static uint8_t *make_stream(struct prng *r, size_t *sizes, size_t *len)
{
    size_t cap = PACKETS * (ROQ_PACKET_BYTES_MAX + 8), at = 0;
    uint8_t *bytes = malloc(cap);

    for (size_t i = 0; i < PACKETS; i++) {
        sizes[i] = 1 + prng_u32(r) % (i % 20 ? 1500 : ROQ_PACKET_BYTES_MAX);
        at += (size_t)roq_stream_prefix_write(false, 2, sizes[i], bytes + at, cap - at);
        memset(bytes + at, (int)(i + 1), sizes[i]);
        at += sizes[i];
    }
    *len = at;
    return bytes;
}

static void streams_read_alike_however_they_are_cut(void **state)
{
    static size_t sizes[PACKETS];
    struct prng r;

    (void)state;
    prng_init(&r, 1, "roq");
    for (uint32_t piece_max = 1; piece_max < 100000; piece_max = piece_max * 7 + 1) {
        struct roq_stream_reader reader;
        size_t len, seen = 0, at = 0;
        uint8_t *bytes = make_stream(&r, sizes, &len);

        roq_stream_reader_init(&reader);
        while (at < len) {
            size_t piece = 1 + prng_u32(&r) % piece_max;
            const uint8_t *p = bytes + at;
            piece = piece < len - at ? piece : len - at;
            at += piece;
            for (;;) {
                int rv = roq_stream_reader_next(&reader, &p, &piece);
                assert_true(rv >= 0);
                if (!rv) {
                    break;
                }
                assert_true(roq_stream_reader_at_boundary(&reader));
                assert_int_equal(reader.packet_len, sizes[seen]);
                seen++;
                assert_int_equal(reader.packet[0], (uint8_t)seen);
                assert_int_equal(reader.packet[reader.packet_len - 1], (uint8_t)seen);
            }
            assert_int_equal(piece, 0);
        }
        assert_int_equal(seen, PACKETS);
        assert_true(roq_stream_reader_at_boundary(&reader));
        roq_stream_reader_fini(&reader);
        free(bytes);
    }
}

static int feed(struct roq_stream_reader *r, const char *bytes, size_t len)
{
    const uint8_t *p = (const uint8_t *)bytes;

    return roq_stream_reader_next(r, &p, &len);
}

static void boundaries_are_known(void **state)
{
    struct roq_stream_reader r;

    (void)state;
    roq_stream_reader_init(&r);
    assert_true(roq_stream_reader_at_boundary(&r));
    assert_int_equal(feed(&r, "\x40", 1), 0);
    assert_false(roq_stream_reader_at_boundary(&r));
    assert_int_equal(feed(&r, "\x02", 1), 0);
    assert_false(roq_stream_reader_at_boundary(&r));
    assert_int_equal(feed(&r, "a", 1), 0);
    assert_false(roq_stream_reader_at_boundary(&r));
    assert_int_equal(feed(&r, "b", 1), 1);
    assert_true(roq_stream_reader_at_boundary(&r));
    assert_int_equal(feed(&r, "", 0), 0);
    assert_true(roq_stream_reader_at_boundary(&r));
    roq_stream_reader_fini(&r);
}

static void impossible_lengths_are_refused(void **state)
{
    struct roq_stream_reader r;

    (void)state;
    roq_stream_reader_init(&r);
    assert_int_equal(feed(&r, "\x00x", 2), ERR_MALFORMED);
    roq_stream_reader_fini(&r);
    assert_int_equal(feed(&r, "\x80\x01\x00\x00x", 5), ERR_MALFORMED); /* 65536 */
    roq_stream_reader_fini(&r);
    assert_int_equal(feed(&r, "\x80\x00\xff\xffx", 5), 0); /* 65535 */
    assert_int_equal(r.packet_len, 65535);
    assert_true(r.packet_cap < 65535); /* an announcement alone allocates little */
    roq_stream_reader_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identifiers_are_told_apart_by_a_bit),
        cmocka_unit_test(datagrams_round_trip),
        cmocka_unit_test(malformed_datagrams_are_refused),
        cmocka_unit_test(prefixes_are_as_in_the_draft),
        cmocka_unit_test(streams_read_alike_however_they_are_cut),
        cmocka_unit_test(boundaries_are_known),
        cmocka_unit_test(impossible_lengths_are_refused),
    };

    return cmocka_run_group_tests_name("roq", tests, NULL, NULL);
}
