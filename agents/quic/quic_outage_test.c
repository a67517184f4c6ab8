/* SPDX-License-Identifier: GPL-3.0-or-later */
/* After an outage of the path RTP does not wait for what was before it. A table over what matters:
 * how RTP travels, the path's rate, whether data shares it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "agents/agent_pair_test.h"

#define SEEDS 5
#define OUTAGE_AT (10 * NS_PER_S)
#define OUTAGE (400 * NS_PER_MS)
#define END (16 * NS_PER_S)
#define FPS 30
/* Of a packet beyond what its frame's earlier bytes take at the pacing rate, as analysis has it
 * (media_sender_queue). */
#define WAIT_MAX (40 * NS_PER_MS)
/* What may be given up instead: frames of 400 ms are lost with the outage or made during it, and
 * some made too large before the encoder knew. */
#define FRAMES_GIVEN_UP_MAX 20

struct column {
    const char *name;
    int64_t mapping, data;
};

static const struct column columns[] = {
    {"datagrams", AGENT_MAPPING_DATAGRAM, AGENT_DATA_NONE},
    {"datagrams, data", AGENT_MAPPING_DATAGRAM, AGENT_DATA_ENDLESS},
    {"packet streams", AGENT_MAPPING_STREAM_PER_PACKET, AGENT_DATA_NONE},
    {"packet streams, data", AGENT_MAPPING_STREAM_PER_PACKET, AGENT_DATA_ENDLESS},
    {"frame streams", AGENT_MAPPING_STREAM_PER_FRAME, AGENT_DATA_NONE},
    {"frame streams, data", AGENT_MAPPING_STREAM_PER_FRAME, AGENT_DATA_ENDLESS},
};

#define COLUMNS (sizeof columns / sizeof columns[0])

/* A call with the encoder that has noise, key frames and reaction latency. Returns the longest wait
 * from the outage's end on. */
static ns_t longest_wait(const struct column *col, bps_t rate, uint64_t seed)
{
    struct agent_config c = pair_config(SENDER);
    struct pair_seen *sender, *receiver;
    struct pair n;
    int64_t complete, made;

    c.media = 1;
    c.mapping = col->mapping;
    c.data = col->data;
    c.data_start = 2 * NS_PER_S;
    c.encoder = AGENT_ENCODER_STATISTICAL;
    c.fps = FPS;
    c.duration = END;
    pair_init(&n, &c, seed);
    sender = &n.seen[SENDER];
    receiver = &n.seen[RECEIVER];
    n.rate = rate;
    n.outage_from = OUTAGE_AT;
    n.outage_to = sender->queue_wait_from = OUTAGE_AT + OUTAGE;
    pair_run(&n, 100 * NS_PER_S);
    for (int i = 0; i < 2; i++) {
        assert_true(agent_done(n.agent[i]));
        assert_null(agent_error(n.agent[i]));
    }
    pair_fini(&n);
    made = pair_counter(sender, "media-frames");
    complete = pair_counter(receiver, "media-frames-complete");
    assert_in_range(made, (END / NS_PER_S - 1) * FPS, (END / NS_PER_S + 1) * FPS);
    assert_in_range(made - complete, 0, OUTAGE * FPS / NS_PER_S + FRAMES_GIVEN_UP_MAX);
    assert_true(pair_counter(sender, "packets-lost") > 0);
    assert_int_equal(pair_counter(sender, "circuit-breaker-trips"), 0);
    return sender->queue_wait_max;
}

static void test_waits(bps_t rate)
{
    print_message("%d Mbit/s, longest wait of each seed, ms:\n", (int)(rate / 1000000));
    for (size_t i = 0; i < COLUMNS; i++) {
        ns_t worst = 0;
        print_message("  %-22s", columns[i].name);
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            ns_t wait = longest_wait(&columns[i], rate, seed);
            print_message(" %5.1f", ns_to_ms(wait));
            worst = ns_max(worst, wait);
        }
        print_message("\n");
        assert_true(worst <= WAIT_MAX);
    }
}

static void test_1_mbit(void **state)
{
    (void)state;
    test_waits(1000000);
}

static void test_2_mbit(void **state)
{
    (void)state;
    test_waits(2000000);
}

static void test_5_mbit(void **state)
{
    (void)state;
    test_waits(5000000);
}

static void test_10_mbit(void **state)
{
    (void)state;
    test_waits(10000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_1_mbit),
        cmocka_unit_test(test_2_mbit),
        cmocka_unit_test(test_5_mbit),
        cmocka_unit_test(test_10_mbit),
    };

    return cmocka_run_group_tests_name("quic outage", tests, NULL, NULL);
}
