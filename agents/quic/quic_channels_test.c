/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Data channels in virtual time: several at once, each kind of order and reliability. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "agents/agent_channels_test.h"

#define STEP 4

/* Four files at once, of all kinds, beside a call, over a path that loses packets. The run ends
 * when the last is there. */
static void test_four_files(void **state)
{
    struct agent_config c = pair_config(SENDER);
    struct pair n;
    struct channels_log *l;

    (void)state;
    c.media = 1;
    c.linger = NS_PER_S;
    for (size_t i = 0; i < CHANNELS; i++) {
        channels_file(&c, i, 400000 + 100000 * (int64_t)i);
        c.channels[i].start = NS_PER_S;
    }
    c.channels[1].order = c.channels[3].order = AGENT_UNORDERED;
    c.channels[2].lifetime = c.channels[3].lifetime = 60 * NS_PER_S; /* long enough */
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
    assert_int_equal(pair_counter(&n.seen[SENDER], "data-messages-expired"), 0);
    assert_int_equal(pair_counter(&n.seen[RECEIVER], "data-messages-reset"), 0);
    free(l);
}

/* While the more important channel has something to send, the other gets nothing but what one
 * message had begun; lost bytes of the lesser do not keep the other's new ones back either. */
static void test_priority(void **state)
{
    struct agent_config c = pair_config(SENDER);
    struct pair n;
    struct channels_log *l;
    int64_t during = 0;

    (void)state;
    c.channels[0].kind = AGENT_DATA_ENDLESS;
    c.channels[0].message_bytes = 5000;
    channels_file(&c, 1, 3000000);
    c.channels[1].start = 4 * NS_PER_S;
    c.channels[1].priority = 512;
    c.linger = 3 * NS_PER_S;
    pair_init(&n, &c, 1);
    n.loss_ppm = 10000;
    l = channels_watch(&n, STEP);
    channels_finish(&n);
    channels_expect_file(l, 1, 3000000);
    for (ns_t s = 5; s < l->at[1].file_end / NS_PER_S - 1; s++) {
        assert_true(l->at[1].bytes_by_second[s] > 200000);
        during += l->at[0].bytes_by_second[s];
    }
    assert_true(during < 30000);
    assert_true(l->at[0].bytes_by_second[2] > 200000);
    assert_true(l->at[0].bytes_by_second[l->at[1].file_end / NS_PER_S + 2] > 200000);
    free(l);
}

/* Equal priorities share by the message. */
static void test_equal_share(void **state)
{
    struct agent_config c = pair_config(SENDER);
    struct pair n;
    struct channels_log *l;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        c.channels[i].kind = AGENT_DATA_ENDLESS;
        c.channels[i].message_bytes = 5000;
    }
    c.duration = 10 * NS_PER_S;
    pair_init(&n, &c, 1);
    l = channels_watch(&n, STEP);
    channels_finish(&n);
    assert_true(l->at[0].messages > 200);
    assert_in_range(l->at[1].messages, l->at[0].messages - 2, l->at[0].messages + 2);
    free(l);
}

/* Messages by the clock with a lifetime, over a path that goes away for longer than that: what is
 * too old is never delivered, the rest is, in order where the channel has one. */
static void test_lifetime(void **state)
{
    (void)state;
    for (int64_t order = AGENT_ORDERED; order <= AGENT_UNORDERED; order++) {
        struct agent_config c = pair_config(SENDER);
        struct pair n;
        struct channels_log *l;
        int64_t lost;
        c.channels[0] = (struct agent_channel){.kind = AGENT_DATA_ENDLESS,
                                               .message_bytes = 3000,
                                               .stop = NS_NEVER,
                                               .priority = 256,
                                               .order = order,
                                               .lifetime = 100 * NS_PER_MS,
                                               .interval = 20 * NS_PER_MS};
        channels_file(&c, 1, 1000000);
        c.duration = 10 * NS_PER_S;
        pair_init(&n, &c, 1);
        n.outage_from = 5 * NS_PER_S;
        n.outage_to = n.outage_from + 400 * NS_PER_MS;
        n.loss_ppm = 5000;
        l = channels_watch(&n, STEP);
        channels_finish(&n);
        lost = l->at[0].messages_sent - l->at[0].messages;
        print_message("%d sent, %d lost, %d expired\n", (int)l->at[0].messages_sent, (int)lost,
                      (int)pair_counter(&n.seen[SENDER], "data-messages-expired"));
        assert_in_range(l->at[0].messages_sent, 480, 500);
        assert_in_range(lost, 10, 30);
        assert_true(pair_counter(&n.seen[SENDER], "data-messages-expired") >= lost);
        assert_int_equal(l->at[0].intact, -1);
        assert_true(l->at[0].in_order);
        if (order == AGENT_ORDERED) {
            assert_true(l->at[0].age_max < 2 * c.channels[0].lifetime + 100 * NS_PER_MS);
        }
        channels_expect_file(l, 1, 1000000); /* the reliable one beside it has lost nothing */
        free(l);
    }
}

/* A channel with an interval does not count as data that would take media's share. */
static void test_trickle_keeps_media(void **state)
{
    bps_t target[2];

    (void)state;
    for (int trickle = 0; trickle < 2; trickle++) {
        struct agent_config c = pair_config(SENDER);
        struct pair n;
        c.media = 1;
        c.duration = 15 * NS_PER_S;
        if (trickle) {
            c.data = AGENT_DATA_ENDLESS;
            c.message_bytes = 200;
            c.channels[0].interval = 50 * NS_PER_MS;
        }
        pair_init(&n, &c, 1);
        channels_finish(&n);
        target[trickle] = (bps_t)n.seen[SENDER].rtp_bytes;
        assert_in_range(n.seen[RECEIVER].rows[RECORD_MESSAGE_RECEIVED], trickle ? 298 : 0,
                        trickle ? 300 : 0);
    }
    assert_true(target[1] > target[0] * 9 / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_four_files),          cmocka_unit_test(test_priority),
        cmocka_unit_test(test_equal_share),         cmocka_unit_test(test_lifetime),
        cmocka_unit_test(test_trickle_keeps_media),
    };

    return cmocka_run_group_tests_name("quic channels", tests, NULL, NULL);
}
