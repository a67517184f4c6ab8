/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Data channels of the WebRTC agent in virtual time: several at once, each kind of order and
 * reliability, the largest messages, and their end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "agents/agent_channels_test.h"

#define STEP 2 /* the DTLS client's streams are even */

static struct agent_config webrtc_config(void)
{
    struct agent_config c = pair_config(SENDER);

    c.stack = AGENT_STACK_WEBRTC;
    return c;
}

static void expect_closed(const struct pair *n)
{
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pair_counter(&n->seen[i], "unknown-streams"), 0);
    }
    assert_int_equal(pair_counter(&n->seen[RECEIVER], "bad-transfer"), 0);
}

/* Four files at once, of all kinds, beside a call, over a path that loses packets. The run ends
 * when the last is there. */
static void four_files(int64_t sctp)
{
    struct agent_config c = webrtc_config();
    struct channels_log *l;
    struct pair n;

    c.media = 1;
    c.linger = NS_PER_S;
    c.webrtc_sctp = sctp;
    for (size_t i = 0; i < CHANNELS; i++) {
        channels_file(&c, i, 400000 + 100000 * (int64_t)i);
        c.channels[i].start = NS_PER_S;
    }
    c.channels[1].order = c.channels[3].order = AGENT_UNORDERED;
    c.channels[2].lifetime = 60 * NS_PER_S; /* long enough */
    c.channels[3].retransmits = 1000;
    pair_init(&n, &c, 1);
    n.loss_ppm = 20000;
    l = channels_watch(&n, STEP);
    channels_finish(&n);
    for (size_t i = 0; i < CHANNELS; i++) {
        channels_expect_file(l, i, c.channels[i].bytes);
        assert_int_equal(l->at[i].messages, l->at[i].messages_sent);
        for (size_t k = 0; k < i; k++) {
            assert_true(l->at[i].digest != l->at[k].digest);
        }
    }
    expect_closed(&n);
    assert_int_equal(pair_counter(&n.seen[SENDER], "data-messages-expired"), 0);
    assert_int_equal(pair_counter(&n.seen[SENDER], "sctp-forward-tsns"), 0);
    assert_int_equal(pair_counter(&n.seen[RECEIVER], "data-bytes"), 2200000);
    free(l);
}

static void test_four_files(void **state)
{
    (void)state;
    four_files(AGENT_SCTP_DCSCTP);
    four_files(AGENT_SCTP_PION);
}

/* Channels that always have something to send share by their weights, also under loss. */
static void test_weights(void **state)
{
    struct agent_config c = webrtc_config();
    int64_t bytes[2] = {0};
    struct channels_log *l;
    struct pair n;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        c.channels[i].kind = AGENT_DATA_ENDLESS;
        c.channels[i].message_bytes = i ? 3000 : 5000;
    }
    c.channels[1].priority = 512;
    c.duration = 20 * NS_PER_S;
    pair_init(&n, &c, 1);
    n.loss_ppm = 1000;
    l = channels_watch(&n, STEP);
    channels_finish(&n);
    for (size_t s = 2; s < 20; s++) {
        bytes[0] += l->at[0].bytes_by_second[s];
        bytes[1] += l->at[1].bytes_by_second[s];
    }
    print_message("%lld and %lld bytes\n", (long long)bytes[0], (long long)bytes[1]);
    assert_true(bytes[0] > 500000);
    assert_in_range(100 * bytes[1] / bytes[0], 185, 215);
    expect_closed(&n);
    free(l);
}

/* A small message does not wait behind a file: neither in the buffers here, nor longer than the
 * path's queue and what one message of the file had begun. */
static void test_small_beside_file(void **state)
{
    struct agent_config c = webrtc_config();
    struct channels_log *l;
    struct pair n;

    (void)state;
    channels_file(&c, 0, 8000000);
    c.channels[0].priority = 128;
    c.channels[1] = (struct agent_channel){.kind = AGENT_DATA_ENDLESS,
                                           .message_bytes = 400,
                                           .stop = NS_NEVER,
                                           .priority = 1024,
                                           .lifetime = NS_NEVER,
                                           .retransmits = NS_NEVER,
                                           .interval = 100 * NS_PER_MS};
    c.linger = NS_PER_S;
    pair_init(&n, &c, 1);
    l = channels_watch(&n, STEP);
    channels_finish(&n);
    channels_expect_file(l, 0, 8000000);
    print_message("oldest %d ms\n", (int)(l->at[1].age_max / NS_PER_MS));
    assert_true(l->at[1].messages > 100);
    assert_int_equal(l->at[1].messages, l->at[1].messages_sent);
    assert_true(l->at[1].in_order);
    /* 20 ms there, 300 ms of queue, and retransmissions of what SCTP's first overshoot has lost */
    assert_true(l->at[1].age_max < 1500 * NS_PER_MS);
    free(l);
}

static struct agent_channel by_the_clock(int64_t order)
{
    return (struct agent_channel){.kind = AGENT_DATA_ENDLESS,
                                  .message_bytes = 3000,
                                  .stop = NS_NEVER,
                                  .priority = 256,
                                  .order = order,
                                  .lifetime = NS_NEVER,
                                  .retransmits = NS_NEVER,
                                  .interval = 20 * NS_PER_MS};
}

/* Messages by the clock that may get lost, over a path that goes away: what is too old, or was lost
 * too often, is never delivered, the rest is, in order where the channel has one. */
static void partly_reliable(int64_t order, ns_t lifetime, int64_t retransmits)
{
    struct agent_config c = webrtc_config();
    struct channels_log *l;
    struct pair n;
    int64_t expired;

    c.channels[0] = by_the_clock(order);
    c.channels[0].lifetime = lifetime;
    c.channels[0].retransmits = retransmits;
    channels_file(&c, 1, 1000000);
    c.duration = 12 * NS_PER_S;
    pair_init(&n, &c, 1);
    n.outage_from = 5 * NS_PER_S;
    n.outage_to = n.outage_from + 400 * NS_PER_MS;
    n.loss_ppm = 5000;
    l = channels_watch(&n, STEP);
    channels_finish(&n);
    expired = pair_counter(&n.seen[SENDER], "data-messages-expired");
    print_message("%d sent, %d delivered, %d expired, %d forward TSNs\n",
                  (int)l->at[0].messages_sent, (int)l->at[0].messages, (int)expired,
                  (int)pair_counter(&n.seen[SENDER], "sctp-forward-tsns"));
    assert_in_range(l->at[0].messages, 480, 600);
    assert_in_range(expired, 1, 100);
    assert_true(l->at[0].messages + expired >= l->at[0].messages_sent);
    assert_true(pair_counter(&n.seen[SENDER], "sctp-forward-tsns") > 0);
    assert_int_equal(l->at[0].intact, -1);
    assert_true(l->at[0].in_order);
    channels_expect_file(l, 1, 1000000); /* the reliable one beside it has lost nothing */
    expect_closed(&n);
    free(l);
}

static void test_partly_reliable(void **state)
{
    (void)state;
    for (int64_t order = AGENT_ORDERED; order <= AGENT_UNORDERED; order++) {
        partly_reliable(order, 100 * NS_PER_MS, NS_NEVER);
        partly_reliable(order, NS_NEVER, 0);
    }
}

/* A file that may lose messages comes to an end all the same, though never to a whole. */
static void test_partly_reliable_file(void **state)
{
    (void)state;
    for (int timed = 0; timed < 2; timed++) {
        struct agent_config c = webrtc_config();
        struct channels_log *l;
        struct pair n;

        channels_file(&c, 0, 3000000);
        c.channels[0].order = AGENT_UNORDERED;
        c.channels[0].lifetime = timed ? 300 * NS_PER_MS : NS_NEVER;
        c.channels[0].retransmits = timed ? NS_NEVER : 0;
        c.linger = NS_PER_S;
        pair_init(&n, &c, 1);
        n.loss_ppm = 20000;
        l = channels_watch(&n, STEP);
        channels_finish(&n);
        print_message("%d of %d delivered\n", (int)l->at[0].messages, (int)l->at[0].messages_sent);
        assert_int_equal(n.seen[SENDER].unfinished, 0);
        assert_true(l->at[0].file_sent > 0);
        assert_in_range(l->at[0].messages, 20, 149);
        assert_true(pair_counter(&n.seen[SENDER], "data-messages-expired") > 0);
        expect_closed(&n);
        free(l);
    }
}

/* The largest messages there are. */
static void test_large_messages(void **state)
{
    struct agent_config c = webrtc_config();
    struct channels_log *l;
    struct pair n;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        channels_file(&c, i, 2000000);
        c.channels[i].message_bytes = 256 * 1024;
    }
    c.channels[1].order = AGENT_UNORDERED;
    pair_init(&n, &c, 1);
    n.loss_ppm = 10000;
    l = channels_watch(&n, STEP);
    channels_finish(&n);
    channels_expect_file(l, 0, 2000000);
    channels_expect_file(l, 1, 2000000);
    assert_int_equal(l->at[1].messages, 8);
    free(l);
}

/* The end of a run does not lose what was made before it, and closes every channel. */
static void test_end(void **state)
{
    struct agent_config c = webrtc_config();
    struct channels_log *l;
    struct pair n;

    (void)state;
    for (size_t i = 0; i < CHANNELS; i++) {
        c.channels[i] = by_the_clock((int64_t)i % 2);
        c.channels[i].interval = 50 * NS_PER_MS;
    }
    c.duration = 5 * NS_PER_S + 7 * NS_PER_MS;
    pair_init(&n, &c, 1);
    l = channels_watch(&n, STEP);
    channels_finish(&n);
    for (size_t i = 0; i < CHANNELS; i++) {
        assert_int_equal(l->at[i].messages, l->at[i].messages_sent);
        assert_in_range(l->at[i].messages, 95, 101);
    }
    assert_in_range(n.seen[SENDER].closed, c.duration, c.duration + 400 * NS_PER_MS);
    expect_closed(&n);
    free(l);
}

/* Equal seeds, equal runs. */
static void test_deterministic(void **state)
{
    uint64_t digests[2][2];

    (void)state;
    for (int k = 0; k < 2; k++) {
        struct agent_config c = webrtc_config();
        struct pair n;

        c.media = 1;
        channels_file(&c, 0, 500000);
        c.channels[1] = by_the_clock(AGENT_UNORDERED);
        c.channels[1].lifetime = 100 * NS_PER_MS;
        c.duration = 6 * NS_PER_S;
        pair_init(&n, &c, 7);
        n.loss_ppm = 20000;
        channels_finish(&n);
        digests[k][0] = n.seen[SENDER].all_digest;
        digests[k][1] = n.seen[RECEIVER].all_digest;
    }
    assert_memory_equal(digests[0], digests[1], sizeof digests[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_four_files),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_small_beside_file),
        cmocka_unit_test(test_partly_reliable),
        cmocka_unit_test(test_partly_reliable_file),
        cmocka_unit_test(test_large_messages),
        cmocka_unit_test(test_end),
        cmocka_unit_test(test_deterministic),
    };

    return cmocka_run_group_tests_name("webrtc channels", tests, NULL, NULL);
}
