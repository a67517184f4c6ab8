/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the presets of the rate control change in the agents: who acknowledges how often, who asks
 * for receive timestamps and what happens without, and that every combination of flows works. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "agents/agent_pair_test.h"

static struct agent_config call(int64_t preset, ns_t duration)
{
    struct agent_config c = pair_config(SENDER);

    c.preset = preset;
    c.media = 1;
    c.duration = duration;
    return c;
}

static void finish(struct pair *n, ns_t until)
{
    pair_run(n, until);
    for (int i = 0; i < 2; i++) {
        assert_true(agent_done(n->agent[i]));
        assert_null(agent_error(n->agent[i]));
    }
    pair_fini(n);
}

/* A window grows until something is lost, with datagrams for good. */
static void expect_frames(const struct pair *n)
{
    int64_t sent = n->seen[SENDER].rows[RECORD_FRAME_SENT];

    assert_in_range(n->seen[RECEIVER].frames_complete, sent * 85 / 100, sent);
    assert_true(n->seen[SENDER].rows[RECORD_RATE] > 100);
}

/* RTP alone, data alone, both; in datagrams and on streams. */
static void test_flows(void **state)
{
    (void)state;
    for (int64_t preset = AGENT_PRESET_PROTOTYPE; preset <= AGENT_PRESET_BBR; preset++) {
        for (int flows = 1; flows <= 3; flows++) {
            for (int64_t m = AGENT_MAPPING_DATAGRAM; m <= AGENT_MAPPING_STREAM_PER_PACKET; m++) {
                struct agent_config c = call(preset, 10 * NS_PER_S);
                struct pair n;
                c.media = flows & 1;
                c.data = flows & 2 ? AGENT_DATA_FILE : AGENT_DATA_NONE;
                c.data_bytes = 200000;
                c.data_start = 3 * NS_PER_S;
                c.mapping = m;
                pair_init(&n, &c, 1);
                finish(&n, 20 * NS_PER_S);
                if (flows & 1) {
                    expect_frames(&n);
                }
                if (flows & 2) {
                    assert_int_equal(n.seen[RECEIVER].intact, 1);
                    assert_int_equal(n.seen[RECEIVER].file_bytes, 200000);
                }
                assert_int_equal(n.seen[SENDER].padding_bytes, 0);
                assert_int_equal(pair_counter(&n.seen[SENDER], "media-too-large"), 0);
            }
        }
    }
}

/* Nothing is lost for good, and nobody waits for ever, when packets are. */
static void test_loss(void **state)
{
    (void)state;
    for (int64_t preset = AGENT_PRESET_PROTOTYPE; preset <= AGENT_PRESET_BBR; preset++) {
        struct agent_config c = call(preset, NS_NEVER);
        struct pair n;
        c.data = AGENT_DATA_FILE;
        c.data_bytes = 500000;
        c.linger = NS_PER_S;
        c.mapping = AGENT_MAPPING_STREAM_PER_PACKET;
        pair_init(&n, &c, 5);
        n.loss_ppm = 30000;
        finish(&n, 60 * NS_PER_S);
        assert_int_equal(n.seen[RECEIVER].intact, 1);
        assert_true(n.seen[SENDER].rows[RECORD_PACKET_LOST] > 10);
    }
}

/* The window controllers, too, survive an outage longer than the circuit breaker's patience. */
static void test_outage(void **state)
{
    (void)state;
    for (int64_t preset = AGENT_PRESET_PROTOTYPE; preset <= AGENT_PRESET_BBR; preset++) {
        struct agent_config c = call(preset, 20 * NS_PER_S);
        struct pair n;
        c.data = AGENT_DATA_ENDLESS;
        c.feedback_timeout = NS_PER_S;
        pair_init(&n, &c, 2);
        n.outage_from = 8 * NS_PER_S;
        n.outage_to = 10 * NS_PER_S;
        finish(&n, 40 * NS_PER_S);
        assert_in_range(n.seen[SENDER].breaker_open, 8900 * NS_PER_MS, 9400 * NS_PER_MS);
        assert_in_range(n.seen[SENDER].breaker_closed, 10 * NS_PER_S, 10500 * NS_PER_MS);
        assert_true(n.seen[RECEIVER].frames_complete > 400);
    }
}

/* Packets of the sender per acknowledgement, data alone. */
static double packets_per_ack(int64_t preset, int64_t timestamps)
{
    struct agent_config c = call(preset, 10 * NS_PER_S);
    struct pair n;

    c.media = 0;
    c.data = AGENT_DATA_ENDLESS;
    c.timestamps_per_ack = timestamps;
    pair_init_timestamps(&n, &c, 1, timestamps);
    finish(&n, 20 * NS_PER_S);
    return (double)n.seen[SENDER].rows[RECORD_PACKET_SENT] /
           (double)n.seen[RECEIVER].rows[RECORD_PACKET_SENT];
}

static void expect_about(double value, double expected)
{
    print_message("%.2f packets per acknowledgement\n", value);
    assert_true(value > 0.9 * expected && value < 1.1 * expected);
}

static void test_acknowledgements(void **state)
{
    (void)state;
    expect_about(packets_per_ack(AGENT_PRESET_LIBWEBRTC, 64), 8);
    expect_about(packets_per_ack(AGENT_PRESET_PROTOTYPE, 64), 2);
    expect_about(packets_per_ack(AGENT_PRESET_CUBIC, 64), 2);
    expect_about(packets_per_ack(AGENT_PRESET_RENO, 0), 2);
    expect_about(packets_per_ack(AGENT_PRESET_LIBWEBRTC, 0), 2);
}

/* Only ours ask for timestamps. */
static void test_timestamps_asked(void **state)
{
    (void)state;
    for (int64_t preset = AGENT_PRESET_LIBWEBRTC; preset <= AGENT_PRESET_BBR; preset++) {
        struct agent_config c = call(preset, 5 * NS_PER_S);
        struct pair n;
        pair_init(&n, &c, 1);
        finish(&n, 10 * NS_PER_S);
        assert_int_equal(pair_counter(&n.seen[SENDER], "timestamps-received") > 0,
                         preset <= AGENT_PRESET_PROTOTYPE);
        assert_int_equal(pair_counter(&n.seen[RECEIVER], "timestamps-overflowed"), 0);
    }
}

/* Without timestamps, whoever of the two has none, the round trip takes their place: the estimate
 * still finds most of the path and keeps the queue short of its limit. */
static void test_without_timestamps(void **state)
{
    static const int64_t sender[] = {0, 64, 0}, receiver[] = {64, 0, 0};

    (void)state;
    for (int64_t preset = AGENT_PRESET_LIBWEBRTC; preset <= AGENT_PRESET_PROTOTYPE; preset++) {
        for (int i = 0; i < 3; i++) {
            struct agent_config c = call(preset, 30 * NS_PER_S);
            struct pair n;
            c.timestamps_per_ack = sender[i];
            pair_init_timestamps(&n, &c, 1, receiver[i]);
            n.rate = 2000000;
            finish(&n, 40 * NS_PER_S);
            expect_frames(&n);
            assert_int_equal(pair_counter(&n.seen[SENDER], "timestamps-received"), 0);
            assert_int_equal(pair_counter(&n.seen[SENDER], "acked-without-timestamp"), 0);
            assert_int_equal(pair_counter(&n.seen[SENDER], "packets-lost"), 0);
            assert_in_range(n.seen[SENDER].target_last, 1500000, 2100000);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flows),
        cmocka_unit_test(test_loss),
        cmocka_unit_test(test_outage),
        cmocka_unit_test(test_acknowledgements),
        cmocka_unit_test(test_timestamps_asked),
        cmocka_unit_test(test_without_timestamps),
    };

    return cmocka_run_group_tests_name("quic presets", tests, NULL, NULL);
}
