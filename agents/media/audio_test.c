/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/media/audio.h"

#include "agents/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#define MS NS_PER_MS

static struct audio_source source(bps_t rate, ns_t interval)
{
    struct audio_source_config c = {
        .rate = rate, .interval = interval, .start = 500 * MS, .stop = NS_NEVER, .seed = 7};
    struct audio_source a;

    audio_source_init(&a, &c);
    return a;
}

/* Takes the head out as an RTP packet. Returns its length. */
static size_t take(struct audio_source *a, uint8_t *out, size_t cap, ns_t now)
{
    uint8_t payload[AUDIO_PAYLOAD_MAX];
    struct audio_packet head;
    struct rtp_packet p;
    int n;

    assert_true(audio_source_head(a, &head));
    audio_source_rtp(a, &head, &p, payload);
    n = rtp_write(&p, out, cap);
    assert_true(n > 0);
    audio_source_sent(a, NULL, 1, 0, (size_t)n, now);
    return (size_t)n;
}

static void test_constant_rate(void **state)
{
    struct audio_source a = source(20000, 20 * MS);
    uint8_t data[1100], before[1100];
    struct rtp_packet p;

    (void)state;
    for (int i = 0; i < 500; i++) {
        ns_t due = 500 * MS + i * 20 * MS;
        size_t n;

        assert_int_equal(audio_source_deadline(&a), due);
        audio_source_produce(&a, due);
        n = take(&a, data, sizeof data, due);
        assert_int_equal(n, RTP_HEADER_BYTES + 50);
        assert_int_equal(rtp_parse(&p, data, n), 0);
        assert_int_equal(p.payload_type, AUDIO_PAYLOAD_TYPE);
        assert_int_equal(p.marker, i == 0);
        assert_int_equal(p.timestamp, a.timestamp_base + (uint32_t)i * 960);
        assert_int_equal(p.seq, (uint16_t)(a.seq_base + i));
        assert_true(i == 0 || memcmp(before, data + RTP_HEADER_BYTES, 50) != 0);
        memcpy(before, data + RTP_HEADER_BYTES, 50);
    }
    assert_int_equal(a.packets, 500);
    assert_int_equal(a.bytes, 500 * 50);
    assert_int_equal(a.dropped, 0);
}

/* 33 kbit/s in 20 ms are 82.5 bytes: 82 and 83 take turns. */
static void test_rounding_does_not_add_up(void **state)
{
    struct audio_source a = source(33000, 20 * MS);
    uint8_t data[1100];

    (void)state;
    for (int i = 0; i < 1000; i++) {
        audio_source_produce(&a, 500 * MS + i * 20 * MS);
        assert_int_equal(take(&a, data, sizeof data, 0), RTP_HEADER_BYTES + 82 + i % 2);
    }
    assert_int_equal(a.bytes, 33000 / 8 * 20);
}

static void test_waits_and_gives_up(void **state)
{
    struct audio_source a = source(20000, 20 * MS);
    struct audio_packet head;

    (void)state;
    assert_false(audio_source_head(&a, &head));
    audio_source_produce(&a, 500 * MS + 20 * MS * (AUDIO_WAITING_MAX + 9));
    assert_int_equal(a.dropped, 10);
    assert_true(audio_source_head(&a, &head));
    assert_int_equal(head.number, 10);
    assert_int_equal(head.captured, 700 * MS);
    assert_int_equal(head.seq, a.seq_base + 10);
    audio_source_discard(&a);
    assert_false(audio_source_head(&a, &head));
    assert_int_equal(a.dropped, 10 + AUDIO_WAITING_MAX);
}

static void test_ends_and_is_off(void **state)
{
    struct audio_source a = source(20000, 20 * MS), off = source(0, 20 * MS);

    (void)state;
    a.cfg.stop = 540 * MS;
    audio_source_produce(&a, NS_PER_S);
    assert_int_equal(a.made, 2);
    assert_int_equal(audio_source_deadline(&a), NS_NEVER);
    assert_int_equal(audio_source_deadline(&off), NS_NEVER);
    /* 20 kbit/s, and 50 times a second 12 + 28 bytes */
    assert_int_equal(audio_ip_rate(20000, 20 * MS, 40), 20000 + 40 * 8 * 50);
    assert_int_equal(audio_ip_rate(0, 20 * MS, 40), 0);
}

/* What the sink's records say of each packet, in order. */
struct seen {
    size_t n;
    int64_t seq[8], timestamp[8], transport[8];
};

static void put(void *ctx, enum record_kind kind, const char *name, const int64_t *v)
{
    struct seen *s = ctx;

    (void)name;
    assert_int_equal(kind, RECORD_AUDIO_RECEIVED);
    assert_true(s->n < 8);
    s->seq[s->n] = v[3];
    s->timestamp[s->n] = v[4];
    s->transport[s->n++] = v[6];
}

static void test_sink(void **state)
{
    struct audio_source a = source(20000, 20 * MS);
    struct seen seen = {0};
    struct record_sink rec = {.put = put, .ctx = &seen};
    uint8_t data[4][1100];
    size_t len[4];
    struct audio_sink s;

    (void)state;
    a.seq_base = 0xfffe; /* the numbers wrap */
    audio_sink_init(&s, 6, &rec);
    for (int i = 0; i < 4; i++) {
        audio_source_produce(&a, 500 * MS + i * 20 * MS);
        len[i] = take(&a, data[i], sizeof data[i], 0);
    }
    for (int i = 0; i < 4; i++) {
        static const int order[] = {0, 2, 1, 3};
        int k = order[i];
        assert_int_equal(audio_sink_recv(&s, data[k], len[k], k, 1, 2), 0);
        assert_int_equal(audio_sink_recv(&s, data[k], len[k], 9, 1, 2), 0); /* again */
    }
    assert_int_equal(seen.n, 4);
    for (int i = 0; i < 4; i++) {
        int64_t k = seen.transport[i];
        assert_int_equal(seen.seq[i], 0xfffe + k);
        assert_int_equal(seen.timestamp[i], a.timestamp_base + k * 960);
    }
    assert_int_equal(s.packets, 4);
    assert_int_equal(s.duplicates, 4);
    assert_int_equal(s.bytes, 200);

    assert_int_equal(audio_sink_recv(&s, data[0], 11, 1, 1, 2), ERR_MALFORMED);
    data[0][1] = 96; /* video's payload type */
    assert_int_equal(audio_sink_recv(&s, data[0], len[0], 1, 1, 2), ERR_MALFORMED);
    data[1][11] ^= 1; /* another source */
    assert_int_equal(audio_sink_recv(&s, data[1], len[1], 1, 1, 2), ERR_MALFORMED);
    assert_int_equal(s.malformed, 3);
    assert_int_equal(seen.n, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constant_rate),
        cmocka_unit_test(test_rounding_does_not_add_up),
        cmocka_unit_test(test_waits_and_gives_up),
        cmocka_unit_test(test_ends_and_is_off),
        cmocka_unit_test(test_sink),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
