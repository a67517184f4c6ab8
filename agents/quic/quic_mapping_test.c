/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The three ways RTP travels in QUIC, compared in virtual time: a DATAGRAM per packet, a stream per
 * packet, a stream per frame. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "agents/agent_pair_test.h"

#define SEQS 65536
#define PACKETS 262144
#define DROP_AT (5 * NS_PER_S)

/* What became of every RTP packet, by its sequence number, and how many share a QUIC packet. */
struct fate {
    ns_t queued[SEQS], left[SEQS], came[SEQS]; /* the last two 0: never */
    int64_t timestamp[SEQS], packet[SEQS];
    uint8_t pieces[PACKETS];
    int64_t mixed; /* QUIC packets with RTP and data */
    ns_t wait_max;
};

static void sent(void *ctx, enum record_kind kind, const int64_t *v)
{
    struct fate *f = ctx;

    if (kind == RECORD_PACKET_SENT) {
        f->mixed += v[3] > 0 && v[4] > 0;
    } else if (kind == RECORD_RTP_SENT) {
        size_t s = (size_t)v[3] % SEQS;
        f->pieces[v[6] % PACKETS]++;
        f->wait_max = ns_max(f->wait_max, v[0] - v[1]);
        f->queued[s] = v[1];
        f->left[s] = v[0];
        f->timestamp[s] = v[4];
        f->packet[s] = v[6];
    }
}

static void received(void *ctx, enum record_kind kind, const int64_t *v)
{
    struct fate *f = ctx;

    if (kind == RECORD_RTP_RECEIVED) {
        f->came[(size_t)v[3] % SEQS] = v[0];
    }
}

static struct fate *watch(struct pair *n)
{
    struct fate *f = calloc(1, sizeof *f);

    assert_non_null(f);
    n->seen[SENDER].row = sent;
    n->seen[RECEIVER].row = received;
    n->seen[SENDER].row_ctx = n->seen[RECEIVER].row_ctx = f;
    return f;
}

static struct agent_config call_config(int64_t mapping)
{
    struct agent_config c = pair_config(SENDER);

    c.mapping = mapping;
    c.media = 1;
    c.encoder = AGENT_ENCODER_CONSTANT;
    c.duration = 10 * NS_PER_S;
    return c;
}

static void finish(struct pair *n)
{
    pair_run(n, 100 * NS_PER_S);
    for (int i = 0; i < 2; i++) {
        assert_true(agent_done(n->agent[i]));
        assert_null(agent_error(n->agent[i]));
    }
    pair_fini(n);
}

static int64_t counted(const struct pair *n, const char *name)
{
    return pair_counter(&n->seen[SENDER], name);
}

/* A stream holds what its mapping says, and everything arrives. */
static void test_units(void **state)
{
    (void)state;
    for (int64_t mapping = 0; mapping <= AGENT_MAPPING_STREAM_PER_FRAME; mapping++) {
        struct agent_config c = call_config(mapping);
        struct pair n;
        int64_t frames, packets;
        pair_init(&n, &c, 1);
        finish(&n);
        frames = counted(&n, "media-frames");
        packets = counted(&n, "media-packets");
        assert_true(packets > 2 * frames);
        assert_int_equal(counted(&n, "media-streams-opened"),
                         mapping == AGENT_MAPPING_DATAGRAM            ? 0
                         : mapping == AGENT_MAPPING_STREAM_PER_PACKET ? packets
                                                                      : frames);
        assert_int_equal(pair_counter(&n.seen[RECEIVER], "media-packets"), packets);
        assert_int_equal(pair_counter(&n.seen[RECEIVER], "media-bytes"),
                         counted(&n, "media-bytes"));
        assert_int_equal(pair_counter(&n.seen[RECEIVER], "media-frames-complete"), frames);
        assert_int_equal(counted(&n, "media-streams-cancelled"), 0);
        assert_int_equal(counted(&n, "media-dropped"), 0);
    }
}

/* Small packets share a QUIC packet, with each other and with data. */
static void test_packing(void **state)
{
    (void)state;
    for (int64_t mapping = 0; mapping <= AGENT_MAPPING_STREAM_PER_FRAME; mapping++) {
        struct agent_config c = call_config(mapping);
        struct pair n;
        struct fate *f;
        uint8_t most = 0;
        c.fps = 1000;
        c.max_rate = 1200000;
        c.data = AGENT_DATA_ENDLESS;
        pair_init(&n, &c, 1);
        f = watch(&n);
        finish(&n);
        for (size_t i = 0; i < PACKETS; i++) {
            most = f->pieces[i] > most ? f->pieces[i] : most;
        }
        assert_true(most >= 3);
        assert_true(f->mixed > 500);
        assert_int_equal(counted(&n, "media-dropped"), 0);
        assert_int_equal(pair_counter(&n.seen[RECEIVER], "media-packets"),
                         counted(&n, "media-packets"));
        assert_int_equal(n.seen[SENDER].rtp_packets, counted(&n, "media-packets"));
        free(f);
    }
}

/* Nothing leaves after its deadline, and what does not leave is counted. */
static void test_deadline(void **state)
{
    (void)state;
    for (int64_t mapping = 0; mapping <= AGENT_MAPPING_STREAM_PER_FRAME; mapping++) {
        struct agent_config c = call_config(mapping);
        struct pair n;
        struct fate *f;
        int64_t late, cancelled;
        c.media_deadline = 8 * NS_PER_MS; /* a frame needs 13 ms */
        pair_init(&n, &c, 1);
        f = watch(&n);
        finish(&n);
        late = counted(&n, "media-late");
        cancelled = counted(&n, "media-streams-cancelled");
        assert_true(late > 100);
        assert_true(f->wait_max <= c.media_deadline);
        assert_int_equal(counted(&n, "media-dropped"), late);
        /* a frame's stream ends early; a packet's begins only when it has room in a datagram */
        assert_true(mapping == AGENT_MAPPING_STREAM_PER_FRAME ? cancelled > 100
                                                              : cancelled <= late);
        if (mapping == AGENT_MAPPING_DATAGRAM) {
            assert_int_equal(cancelled, 0);
            assert_int_equal(pair_counter(&n.seen[RECEIVER], "media-packets"),
                             counted(&n, "media-packets"));
        }
        free(f);
    }
}

/* Twenty people's streams (draft-ietf-avtcore-rtp-over-quic-14 counts 1,520 a second): media and
 * messages open more than 1,600 a second, on a path that also loses some. */
static void test_stream_credit(void **state)
{
    (void)state;
    for (int64_t mapping = 0; mapping <= AGENT_MAPPING_STREAM_PER_FRAME; mapping++) {
        struct agent_config c = call_config(mapping);
        struct pair n;
        int64_t streams;
        c.fps = 1000;
        c.start_rate = 8000000;
        c.data = AGENT_DATA_ENDLESS;
        c.message_bytes = 400;
        c.duration = 12 * NS_PER_S;
        pair_init(&n, &c, 1);
        n.rate = 20000000;
        n.loss_ppm = 1000;
        finish(&n);
        streams = counted(&n, "media-streams-opened") + counted(&n, "data-messages");
        print_message("%.0f streams/s\n", (double)streams / ns_to_s(c.duration));
        assert_true(streams > 1600 * c.duration / NS_PER_S);
        assert_int_equal(counted(&n, "media-streams-blocked"), 0);
        assert_int_equal(counted(&n, "data-streams-blocked"), 0);
        assert_int_equal(counted(&n, "media-dropped"), 0);
    }
}

/* One QUIC packet is lost: what it carried comes a round trip later, everything else as if nothing
 * had happened. */
static void test_streams_do_not_block(void **state)
{
    (void)state;
    for (int64_t mapping = 1; mapping <= AGENT_MAPPING_STREAM_PER_FRAME; mapping++) {
        struct agent_config c = call_config(mapping);
        struct pair n;
        struct fate *f;
        int64_t frame = 0, delayed = 0;
        size_t first = 0;
        pair_init(&n, &c, 1);
        f = watch(&n);
        pair_run(&n, DROP_AT);
        n.drop_next = 1;
        finish(&n);
        assert_int_equal(counted(&n, "packets-lost"), 1);
        while (f->queued[first] == 0) {
            first++;
        }
        for (size_t s = first; f->queued[s]; s++) {
            ns_t after = f->came[s] - f->left[s];
            assert_true(f->came[s] > 0);
            if (f->left[s] > DROP_AT - 500 * NS_PER_MS && f->left[s] < DROP_AT + 500 * NS_PER_MS &&
                after > 50 * NS_PER_MS) {
                /* only the frame that lost something, and within it */
                assert_true(frame == 0 || f->timestamp[s] == frame);
                frame = f->timestamp[s];
                assert_true(after < 100 * NS_PER_MS);
                delayed++;
            }
        }
        assert_true(delayed >= 1);
        assert_true(mapping == AGENT_MAPPING_STREAM_PER_FRAME || delayed == 1);
        free(f);
    }
}

/* A sender that never gives up, and a path that goes away for a while: the receiver tells it which
 * frames it no longer wants, and after that all goes on as before. */
static void test_receiver_stops_streams(void **state)
{
    (void)state;
    for (int64_t mapping = 1; mapping <= AGENT_MAPPING_STREAM_PER_FRAME; mapping++) {
        struct agent_config c = call_config(mapping);
        struct pair n;
        struct fate *f;
        int64_t stopped, late = 0;
        c.media_deadline = NS_NEVER;
        c.data = AGENT_DATA_ENDLESS;
        pair_init(&n, &c, 1);
        f = watch(&n);
        n.outage_from = DROP_AT;
        n.outage_to = DROP_AT + 400 * NS_PER_MS;
        finish(&n);
        stopped = pair_counter(&n.seen[RECEIVER], "media-streams-stopped");
        assert_true(stopped > 2);
        assert_in_range(counted(&n, "media-streams-stopped"), 1, stopped);
        for (size_t s = 0; s < SEQS; s++) {
            late += f->queued[s] > DROP_AT + 1500 * NS_PER_MS && f->came[s] == 0;
        }
        assert_int_equal(late, 0);
        assert_true(pair_counter(&n.seen[RECEIVER], "media-packets") <
                    counted(&n, "media-packets"));
        free(f);
    }
}

/* Where an outage makes the rate collapse, as under the prototype's rate control, frames made for
 * the old one give way to new ones instead of trickling out first. */
static void test_collapse(void **state)
{
    int64_t late = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct agent_config c = call_config(AGENT_MAPPING_DATAGRAM);
        struct pair n;
        c.encoder = AGENT_ENCODER_STATISTICAL;
        c.preset = AGENT_PRESET_PROTOTYPE;
        c.duration = 20 * NS_PER_S;
        pair_init(&n, &c, seed);
        n.rate = 10000000;
        n.outage_from = 10 * NS_PER_S;
        n.outage_to = n.seen[SENDER].queue_wait_from = n.outage_from + 400 * NS_PER_MS;
        finish(&n);
        print_message("longest wait %.1f ms\n", ns_to_ms(n.seen[SENDER].queue_wait_max));
        assert_true(n.seen[SENDER].queue_wait_max < 40 * NS_PER_MS);
        late += counted(&n, "media-late");
    }
    assert_in_range(late, 1, 100);
}

/* RTCP beside the media: both sides report, and what they say is true. */
static void test_rtcp(void **state)
{
    (void)state;
    for (int64_t mapping = 0; mapping <= AGENT_MAPPING_STREAM_PER_FRAME; mapping++) {
        struct agent_config c = call_config(mapping);
        struct pair n;
        const struct pair_seen *s = &n.seen[SENDER], *r = &n.seen[RECEIVER];
        int64_t lost;
        c.rtcp = AGENT_ON;
        c.data = AGENT_DATA_ENDLESS;
        c.duration = 30 * NS_PER_S;
        pair_init(&n, &c, 1);
        n.loss_ppm = 10000;
        finish(&n);
        /* a report every 0.82 s on the mean, the last with BYE */
        assert_in_range(pair_counter(s, "rtcp-sent"), 28, 48);
        assert_in_range(pair_counter(r, "rtcp-sent"), 28, 48);
        assert_in_range(pair_counter(r, "rtcp-received"), pair_counter(s, "rtcp-sent") - 4,
                        pair_counter(s, "rtcp-sent"));
        assert_in_range(pair_counter(s, "rtcp-received"), pair_counter(r, "rtcp-sent") - 4,
                        pair_counter(r, "rtcp-sent"));
        assert_int_equal(pair_counter(s, "rtcp-malformed") + pair_counter(r, "rtcp-malformed"), 0);
        assert_in_range(pair_counter(s, "rtcp-rtt-ns"), 40 * NS_PER_MS, 120 * NS_PER_MS);
        assert_in_range(pair_counter(s, "rtcp-jitter-ns"), 1, 50 * NS_PER_MS);
        lost = pair_counter(s, "media-packets") - pair_counter(r, "media-packets");
        assert_in_range(pair_counter(s, "rtcp-lost"), lost * 8 / 10, lost + 5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_packing),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_stream_credit),
        cmocka_unit_test(test_streams_do_not_block),
        cmocka_unit_test(test_receiver_stops_streams),
        cmocka_unit_test(test_collapse),
        cmocka_unit_test(test_rtcp),
    };

    return cmocka_run_group_tests_name("quic mapping", tests, NULL, NULL);
}
