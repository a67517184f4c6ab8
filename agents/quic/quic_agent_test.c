/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two agents back to back over a small bottleneck in virtual time. */
#include "agents/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agents/agent_pair_test.h"
#include "agents/quic/quic_agent.h"

static struct agent_config file_config(int64_t bytes)
{
    struct agent_config c = pair_config(SENDER);

    c.media = 1;
    c.data = AGENT_DATA_FILE;
    c.data_bytes = bytes;
    c.data_start = 5 * NS_PER_S;
    c.linger = 2 * NS_PER_S;
    return c;
}

/* ---- tests ---- */

static void expect_orderly(const struct pair *n)
{
    for (int i = 0; i < 2; i++) {
        assert_true(agent_done(n->agent[i]));
        assert_null(agent_error(n->agent[i]));
        assert_int_equal(n->seen[i].close_code, 0);
    }
}

static void expect_file(const struct pair *n, int64_t bytes)
{
    const struct pair_seen *s = &n->seen[SENDER], *r = &n->seen[RECEIVER];

    assert_int_equal(r->intact, 1);
    assert_int_equal(r->file_bytes, bytes);
    assert_int_equal(r->digest, s->digest);
    assert_true(s->file_begin <= r->file_begin && s->file_end <= r->file_end);
}

static void call_and_file(int64_t mapping, int64_t loss_ppm)
{
    struct agent_config c = file_config(2000000);
    struct pair n;

    c.mapping = mapping;
    pair_init(&n, &c, 1);
    n.loss_ppm = loss_ppm;
    pair_run(&n, 200 * NS_PER_S);
    expect_orderly(&n);
    expect_file(&n, 2000000);
    pair_fini(&n);
    assert_in_range(n.seen[SENDER].handshake, 40 * NS_PER_MS, loss_ppm ? NS_PER_S : 60 * NS_PER_MS);
    assert_int_equal(n.seen[SENDER].rows[RECORD_FILE], 2);
    assert_int_equal(n.seen[RECEIVER].rows[RECORD_FILE], 2);
    if (mapping != AGENT_MAPPING_DATAGRAM || !loss_ppm) {
        assert_int_equal(n.seen[RECEIVER].frames_complete, n.seen[SENDER].rows[RECORD_FRAME_SENT]);
    }
    if (!loss_ppm) {
        assert_int_equal(n.seen[RECEIVER].rows[RECORD_RTP_RECEIVED], n.seen[SENDER].rtp_packets);
        assert_int_equal(n.seen[RECEIVER].rows[RECORD_PACKET_RECEIVED] + 2,
                         n.seen[SENDER].rows[RECORD_PACKET_SENT]);
    } else {
        assert_true(pair_counter(&n.seen[SENDER], "packets-lost") > 0);
    }
    assert_int_equal(pair_counter(&n.seen[SENDER], "acked-without-timestamp"), 0);
    assert_true(n.seen[SENDER].padding_bytes > 0); /* start-up probes */
}

static void test_datagrams(void **state)
{
    (void)state;
    call_and_file(AGENT_MAPPING_DATAGRAM, 0);
}

static void test_streams(void **state)
{
    (void)state;
    call_and_file(AGENT_MAPPING_STREAM_PER_PACKET, 0);
}

static void test_datagrams_loss(void **state)
{
    (void)state;
    call_and_file(AGENT_MAPPING_DATAGRAM, 50000);
}

static void test_streams_loss(void **state)
{
    (void)state;
    call_and_file(AGENT_MAPPING_STREAM_PER_PACKET, 50000);
}

static void test_frames(void **state)
{
    (void)state;
    call_and_file(AGENT_MAPPING_STREAM_PER_FRAME, 0);
}

static void test_frames_loss(void **state)
{
    (void)state;
    call_and_file(AGENT_MAPPING_STREAM_PER_FRAME, 50000);
}

static void digests(uint64_t seed, uint64_t out[2])
{
    struct agent_config c = file_config(500000);
    struct pair n;

    pair_init(&n, &c, seed);
    n.loss_ppm = 10000;
    pair_run(&n, 100 * NS_PER_S);
    expect_orderly(&n);
    pair_fini(&n);
    out[0] = n.seen[SENDER].sent_digest;
    out[1] = n.seen[RECEIVER].sent_digest;
}

static void test_determinism(void **state)
{
    uint64_t first[2], other[2], again[2];

    (void)state;
    digests(7, first);
    digests(8, other);
    digests(7, again); /* after other runs in the same process */
    assert_true(first[0] == again[0] && first[1] == again[1]);
    assert_true(first[0] != other[0] && first[1] != other[1]);
}

/* RTP must not wait behind data, be it new or what an outage makes it send again, nor for long
 * behind media of before the outage. */
static void test_priority(void **state)
{
    struct agent_config c = file_config(0);
    struct pair n;

    (void)state;
    c.encoder = AGENT_ENCODER_CONSTANT;
    c.data = AGENT_DATA_ENDLESS;
    c.data_start = 2 * NS_PER_S;
    c.duration = 20 * NS_PER_S;
    for (c.mapping = AGENT_MAPPING_DATAGRAM; c.mapping <= AGENT_MAPPING_STREAM_PER_FRAME;
         c.mapping++) {
        pair_init(&n, &c, 3);
        n.seen[SENDER].queue_wait_from = 4 * NS_PER_S;
        n.outage_from = 10 * NS_PER_S;
        n.outage_to = n.outage_from + 400 * NS_PER_MS;
        pair_run(&n, 100 * NS_PER_S);
        expect_orderly(&n);
        pair_fini(&n);
        print_message("longest wait of RTP %.1f ms\n", ns_to_ms(n.seen[SENDER].queue_wait_max));
        assert_true(n.seen[SENDER].queue_wait_max < 40 * NS_PER_MS);
        assert_true(pair_counter(&n.seen[SENDER], "packets-lost") > 50);
        assert_true(n.seen[RECEIVER].rows[RECORD_MESSAGE_RECEIVED] > 50);
        assert_int_equal(pair_counter(&n.seen[SENDER], "circuit-breaker-trips"), 0);
    }
}

static void test_breaker_gives_up(void **state)
{
    struct agent_config c = file_config(100000000);
    struct pair n;
    int64_t packets;

    (void)state;
    c.feedback_timeout = NS_PER_S;
    pair_init(&n, &c, 4);
    n.outage_from = 8 * NS_PER_S; /* and for ever */
    pair_run(&n, 9200 * NS_PER_MS);
    assert_in_range(n.seen[SENDER].breaker_open, 8900 * NS_PER_MS, 9100 * NS_PER_MS);
    packets = n.seen[SENDER].rows[RECORD_PACKET_SENT];
    pair_run(&n, 100 * NS_PER_S);
    assert_true(agent_done(n.agent[SENDER]));
    assert_string_equal(agent_error(n.agent[SENDER]), "no feedback from the peer");
    assert_in_range(n.seen[SENDER].closed, 10900 * NS_PER_MS, 11200 * NS_PER_MS);
    /* a PING per round trip at most, and the closing packets */
    assert_true(n.seen[SENDER].rows[RECORD_PACKET_SENT] - packets < 30);
    assert_true(agent_done(n.agent[RECEIVER])); /* idle timeout */
    assert_non_null(agent_error(n.agent[RECEIVER]));
    pair_fini(&n);
}

static void test_breaker_recovers(void **state)
{
    struct agent_config c = file_config(2000000);
    struct pair n;

    (void)state;
    c.feedback_timeout = NS_PER_S;
    pair_init(&n, &c, 4);
    n.outage_from = 8 * NS_PER_S;
    n.outage_to = 10 * NS_PER_S;
    pair_run(&n, 200 * NS_PER_S);
    expect_orderly(&n);
    expect_file(&n, 2000000);
    pair_fini(&n);
    assert_int_equal(pair_counter(&n.seen[SENDER], "circuit-breaker-trips"), 1);
    assert_in_range(n.seen[SENDER].breaker_closed, 10 * NS_PER_S, 10300 * NS_PER_MS);
}

static void test_stop(void **state)
{
    struct agent_config c = file_config(100000000);
    struct pair n;

    (void)state;
    pair_init(&n, &c, 5);
    pair_run(&n, 10 * NS_PER_S);
    agent_stop(n.agent[SENDER], n.now);
    pair_run(&n, 20 * NS_PER_S);
    expect_orderly(&n);
    pair_fini(&n);
    assert_int_equal(n.seen[SENDER].unfinished, 1);
    assert_in_range(n.seen[RECEIVER].closed, 10 * NS_PER_S, 11 * NS_PER_S);
}

static void test_receiver_stops(void **state)
{
    struct agent_config c = file_config(100000000);
    struct pair n;

    (void)state;
    pair_init(&n, &c, 5);
    pair_run(&n, 10 * NS_PER_S);
    agent_stop(n.agent[RECEIVER], n.now);
    pair_run(&n, 20 * NS_PER_S);
    expect_orderly(&n);
    pair_fini(&n);
    assert_int_equal(n.seen[SENDER].unfinished, 1);
}

static void test_time_limit(void **state)
{
    struct agent_config c = file_config(100000000);
    struct pair n;

    (void)state;
    c.time_limit = 7 * NS_PER_S;
    pair_init(&n, &c, 5);
    pair_run(&n, 100 * NS_PER_S);
    expect_orderly(&n);
    pair_fini(&n);
    assert_int_equal(n.seen[SENDER].unfinished, 1);
    assert_in_range(n.seen[SENDER].closed, 7 * NS_PER_S, 8 * NS_PER_S);
}

/* A run that is silent for longer than the idle timeout, then one flow only. */
static void test_late_data_alone(void **state)
{
    struct agent_config c = file_config(300000);
    struct pair n;

    (void)state;
    c.media = 0;
    c.data_start = 70 * NS_PER_S;
    pair_init(&n, &c, 6);
    pair_run(&n, 200 * NS_PER_S);
    expect_orderly(&n);
    expect_file(&n, 300000);
    pair_fini(&n);
    assert_int_equal(n.seen[SENDER].rtp_bytes, 0);
    assert_in_range(n.seen[SENDER].file_begin, 70 * NS_PER_S, 71 * NS_PER_S);
}

/* With nobody else there, a call alone may have the whole path. */
static void test_media_alone(void **state)
{
    struct agent_config c = file_config(0);
    struct pair n;

    (void)state;
    c.data = AGENT_DATA_NONE;
    c.duration = 30 * NS_PER_S;
    pair_init(&n, &c, 6);
    pair_run(&n, 100 * NS_PER_S);
    expect_orderly(&n);
    pair_fini(&n);
    assert_int_equal(n.seen[RECEIVER].frames_incomplete, 0);
    assert_true(n.seen[SENDER].target_last > 3500000);
}

static void garbage(struct pair *n, int to, size_t len)
{
    uint8_t data[AGENT_DATAGRAM_MAX];
    struct agent_config c = pair_config(to);
    struct dgram d = {.from = c.remote, .to = c.local, .arrival = n->now, .data = data, .len = len};

    prng_fill(&n->loss, data, len);
    assert_int_equal(agent_recv(n->agent[to], &d, n->now), 0);
    data[0] = 0xc0; /* an Initial of version 1, as far as it goes */
    memcpy(data + 1, "\0\0\0\1\x08", 5);
    assert_int_equal(agent_recv(n->agent[to], &d, n->now), 0);
    d.from.port++;
    assert_int_equal(agent_recv(n->agent[to], &d, n->now), 0);
}

static void test_garbage(void **state)
{
    struct agent_config c = file_config(300000);
    struct pair n;

    (void)state;
    pair_init(&n, &c, 9);
    for (size_t len = 25; len < 1500; len += 97) {
        garbage(&n, RECEIVER, len);
    }
    for (int i = 1; i < 40; i++) {
        pair_run(&n, i * 20 * NS_PER_MS);
        garbage(&n, i & 1, 30 + (size_t)i * 30);
    }
    pair_run(&n, 200 * NS_PER_S);
    expect_orderly(&n);
    expect_file(&n, 300000);
    pair_fini(&n);
    assert_true(pair_counter(&n.seen[RECEIVER], "datagrams-garbage") > 10);
}

static void test_bad_config(void **state)
{
    struct agent_config c = pair_config(SENDER);
    struct agent_env env = {.random = pair_random};
    struct prng keys;
    struct agent *a = NULL;

    (void)state;
    prng_init(&keys, 1, "keys");
    env.ctx = &keys;
    c.remote.family = 0;
    assert_int_equal(quic_agent_new(&a, &c, &env, 0), ERR_CONFIG);
    assert_null(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_datagrams),
        cmocka_unit_test(test_streams),
        cmocka_unit_test(test_datagrams_loss),
        cmocka_unit_test(test_streams_loss),
        cmocka_unit_test(test_frames),
        cmocka_unit_test(test_frames_loss),
        cmocka_unit_test(test_determinism),
        cmocka_unit_test(test_priority),
        cmocka_unit_test(test_breaker_gives_up),
        cmocka_unit_test(test_breaker_recovers),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_receiver_stops),
        cmocka_unit_test(test_time_limit),
        cmocka_unit_test(test_late_data_alone),
        cmocka_unit_test(test_media_alone),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_bad_config),
    };

    return cmocka_run_group_tests_name("quic agent", tests, NULL, NULL);
}
