/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An agent against a peer that has completed the handshake and then breaks the rules. */
#include "agents/base/buf.h"
#include "agents/base/err.h"
#include "agents/rtp/rtcp.h"
#include "agents/webrtc/webrtc_data_rx.h"
#include "agents/webrtc/webrtc_media_tx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agents/webrtc/webrtc_agent.h"
#include "agents/webrtc/webrtc_hostile_test.h"

/* ---- data channel ---- */

static void test_no_transfer(void **state)
{
    struct rogue r;

    (void)state;
    rogue_init(&r, RECEIVER);
    open_channel(&r, 0);
    assert_int_equal(r.messages, 1); /* DCEP's ACK */
    write_message(&r, 0, DCEP_PPID_BINARY, "this is no transfer", 19);
    assert_true(agent_done(r.agent));
    assert_string_equal(agent_error(r.agent), "peer's data-channel messages are no transfer");
    assert_true(r.conn.closed); /* and the peer has been told */
    rogue_fini(&r);
    assert_int_equal(pair_counter(&r.seen, "bad-transfer"), 1);
}

static void test_unknown_streams_and_payloads(void **state)
{
    struct rogue r;

    (void)state;
    rogue_init(&r, RECEIVER);
    write_message(&r, 6, DCEP_PPID_BINARY, "early", 5); /* never opened */
    open_channel(&r, 0);
    open_channel(&r, 0);                              /* a second time */
    write_message(&r, 2, DCEP_PPID_BINARY, "x", 1);   /* data elsewhere */
    write_message(&r, 0, DCEP_PPID_STRING, "abc", 3); /* text */
    write_message(&r, 0, 4711, "abc", 3);
    write_message(&r, 0, DCEP_PPID_DCEP, "\xff\xff", 2);
    assert_false(agent_done(r.agent));
    assert_int_equal(r.messages, 1);
    rogue_fini(&r);
    assert_int_equal(pair_counter(&r.seen, "unknown-streams"), 4);
    assert_int_equal(pair_counter(&r.seen, "bad-transfer"), 2);
    assert_int_equal(pair_counter(&r.seen, "data-messages"), 0);
}

/* More channels than there is room for are not answered, and harm nobody. */
static void test_too_many_channels(void **state)
{
    struct rogue r;

    (void)state;
    rogue_init(&r, RECEIVER);
    for (uint16_t i = 0; i < 200; i++) {
        open_channel(&r, i);
    }
    assert_false(agent_done(r.agent));
    assert_int_equal(r.messages, WEBRTC_DATA_RX_CHANNELS);
    for (uint16_t i = 0; i < 200; i += 3) {
        webrtc_sctp_reset(r.conn.sctp, &i, 1, r.now);
        run(&r, 5 * NS_PER_MS);
    }
    run(&r, NS_PER_S);
    assert_false(agent_done(r.agent));
    rogue_fini(&r);
    assert_int_equal(pair_counter(&r.seen, "unknown-streams"), 200 - WEBRTC_DATA_RX_CHANNELS);
}

static void test_oversized_message(void **state)
{
    size_t len = WEBRTC_SCTP_MESSAGE_MAX + 1, at = 0;
    uint8_t *data = calloc(1, len);
    struct rogue r;

    (void)state;
    assert_non_null(data);
    rogue_init(&r, RECEIVER);
    open_channel(&r, 0);
    for (int i = 0; at < len && i < 1000; i++) {
        int n = webrtc_sctp_write(r.conn.sctp, 0, DCEP_PPID_BINARY, data + at, len - at, r.now);
        assert_true(n >= 0);
        at += (size_t)n;
        run(&r, 10 * NS_PER_MS);
    }
    run(&r, NS_PER_S);
    assert_true(agent_done(r.agent));
    assert_string_equal(agent_error(r.agent), "peer sent an oversized message");
    rogue_fini(&r);
    free(data);
}

static void test_stream_reset_out_of_the_blue(void **state)
{
    struct rogue r;

    (void)state;
    rogue_init(&r, RECEIVER);
    reset_stream(&r, 4);
    run(&r, 500 * NS_PER_MS);
    open_channel(&r, 0);
    reset_stream(&r, 0);
    run(&r, 500 * NS_PER_MS);
    open_channel(&r, 0);
    assert_false(agent_done(r.agent));
    assert_int_equal(r.messages, 2);
    rogue_fini(&r);
}

static void test_association_aborted(void **state)
{
    struct rogue r;

    (void)state;
    rogue_init(&r, SENDER);
    webrtc_sctp_abort(r.conn.sctp, r.now);
    run(&r, NS_PER_S);
    assert_false(agent_done(r.agent)); /* the call goes on */
    assert_true(r.seen.rtp_packets > 0);
    agent_stop(r.agent, r.now);
    run(&r, 2 * NS_PER_S);
    assert_true(agent_done(r.agent));
    assert_null(agent_error(r.agent));
    rogue_fini(&r);
}

/* SCTP packets of any content, inside proper records. */
static void test_sctp_garbage(void **state)
{
    uint8_t data[1100];
    struct tls_current *before;
    struct rogue r;

    (void)state;
    rogue_init(&r, RECEIVER);
    open_channel(&r, 0);
    for (int i = 0; i < 2000 && !agent_done(r.agent); i++) {
        size_t len = prng_u32(&r.random) % sizeof data;
        prng_fill(&r.random, data, len);
        if (len > 16) {
            memcpy(data, "\x13\x88\x13\x88", 4); /* the ports */
            data[12] = (uint8_t)(prng_u32(&r.random) % 16);
        }
        before = tls_current_enter(&r.conn.current, r.now);
        webrtc_dtls_write(r.conn.dtls, data, len);
        tls_current_leave(before);
        run(&r, NS_PER_MS);
    }
    assert_false(agent_done(r.agent));
    open_channel(&r, 2);
    assert_int_equal(r.messages, 2);
    rogue_fini(&r);
}

/* ---- RTP and RTCP ---- */

static void test_bad_rtp(void **state)
{
    uint8_t packet[AGENT_DATAGRAM_MAX] __attribute__((aligned(4))), buf[AGENT_DATAGRAM_MAX];
    struct dgram d = {.data = buf};
    struct rogue r;

    (void)state;
    rogue_init(&r, RECEIVER);
    for (int i = 0; i < 1000; i++) {
        size_t len = 12 + prng_u32(&r.random) % 1000;
        prng_fill(&r.random, packet, len);
        packet[0] = (uint8_t)(0x80 | (packet[0] & 0x10)); /* no CSRCs, no padding */
        packet[1] = (uint8_t)(PACKETIZER_PAYLOAD_TYPE + prng_u32(&r.random) % 3);
        packet[2] = (uint8_t)(i >> 8);
        packet[3] = (uint8_t)i;
        memset(packet + 8, packet[1], 4); /* one source per payload type */
        if (webrtc_conn_send_rtp(&r.conn, packet, len, len, 0, &d, r.now) == 0) {
            d.arrival = r.now;
            assert_int_equal(agent_recv(r.agent, &d, r.now), 0);
        }
        run(&r, NS_PER_MS);
    }
    assert_false(agent_done(r.agent));
    rogue_fini(&r);
    assert_true(pair_counter(&r.seen, "bad-rtp") > 100);
}

/* Whatever a receiver says, its sender goes on. */
static void test_bad_rtcp(void **state)
{
    uint8_t data[1000];
    struct rogue r;

    (void)state;
    rogue_init(&r, SENDER);
    for (int i = 0; i < 3000; i++) {
        size_t words = 2 + prng_u32(&r.random) % 200;
        prng_fill(&r.random, data, 4 * words);
        data[0] = (uint8_t)(0x80 | (prng_u32(&r.random) % 4 == 0 ? data[0] & 0x1f : 15));
        data[1] = (uint8_t)(200 + prng_u32(&r.random) % 8);
        data[2] = (uint8_t)((words - 1) >> 8);
        data[3] = (uint8_t)(words - 1);
        rtcp(&r, data, 4 * words);
        assert_false(agent_done(r.agent));
    }
    assert_true(r.seen.rtp_packets > 0);
    rogue_fini(&r);
    assert_true(pair_counter(&r.seen, "rtcp-malformed") +
                    pair_counter(&r.seen, "feedbacks-malformed") >
                100);
}

/* Asking for everything again does not make a sender send without end. Repetitions go first and may
 * take the whole estimate, so that new media waits, but no longer than the pacer's queue may be on
 * average, two seconds, and a little: from then on it goes out as fast as it comes, which is half
 * of the estimate, about 50 packets a second. */
static void test_nack_storm(void **state)
{
    struct rogue r;
    int64_t first = 0;

    (void)state;
    rogue_init(&r, SENDER);
    for (int i = 0; i < 2000; i++) {
        uint8_t data[1200];
        struct buf_writer w = buf_writer_init(data, sizeof data);
        struct packetizer p;
        uint16_t seqs[256];
        packetizer_init(&p, r.env.seed, 1000); /* the sender's SSRC and first number */
        for (uint16_t k = 0; k < 256; k++) {
            seqs[k] = (uint16_t)(p.next_seq + k);
        }
        rtcp_put_nack(&w, 1, p.ssrc, seqs, 256);
        rtcp_put_pli(&w, 1, p.ssrc);
        assert_false(w.failed);
        rtcp(&r, data, buf_len(&w));
        first = i < 1500 ? r.seen.rtp_packets : first;
    }
    assert_false(agent_done(r.agent));
    assert_true(r.seen.rtp_packets > first + 40); /* in the last of four seconds */
    assert_true(r.seen.queue_wait_max < 3 * NS_PER_S);
    assert_true(r.seen.rtp_again > 0);
    rogue_fini(&r);
    assert_true(pair_counter(&r.seen, "media-resend-refused") > 0);
    assert_true(pair_counter(&r.seen, "nacks-received") >= 2000);
    assert_true(pair_counter(&r.seen, "plis-received") >= 2000);
}

static void test_handshake_only_peer(void **state)
{
    struct rogue r;

    (void)state;
    rogue_init(&r, SENDER);
    /* it sends nothing any more: what the agent sends it takes and keeps quiet */
    webrtc_sctp_abort(r.conn.sctp, r.now);
    for (int i = 0; i < 400 && !agent_done(r.agent); i++) {
        uint8_t buf[AGENT_DATAGRAM_MAX];
        struct dgram d = {.data = buf};
        r.now += 100 * NS_PER_MS;
        while (agent_poll(r.agent, &d, r.now) == 1) {
            continue;
        }
        if (agent_deadline(r.agent) <= r.now) {
            agent_expire(r.agent, r.now);
        }
    }
    assert_true(agent_done(r.agent));
    assert_string_equal(agent_error(r.agent), "peer has fallen silent");
    rogue_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_transfer),
        cmocka_unit_test(test_unknown_streams_and_payloads),
        cmocka_unit_test(test_too_many_channels),
        cmocka_unit_test(test_oversized_message),
        cmocka_unit_test(test_stream_reset_out_of_the_blue),
        cmocka_unit_test(test_association_aborted),
        cmocka_unit_test(test_sctp_garbage),
        cmocka_unit_test(test_bad_rtp),
        cmocka_unit_test(test_bad_rtcp),
        cmocka_unit_test(test_nack_storm),
        cmocka_unit_test(test_handshake_only_peer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
