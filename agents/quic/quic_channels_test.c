/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Data channels in virtual time: several at once, each kind of order and reliability. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "agents/agent_pair_test.h"

#define MESSAGES_MAX 65536
#define CHANNELS AGENT_CHANNELS_MAX

/* What both ends say of every channel. */
struct log {
    struct {
        ns_t file_begin, file_end, file_sent;
        int64_t bytes, sent_digest, digest, intact, messages_sent, messages;
        int64_t last_number;
        bool in_order;
        ns_t queued[MESSAGES_MAX]; /* of messages sent, by number */
        ns_t age_max;              /* of those delivered, where they have numbers */
        int64_t bytes_by_second[64];
    } at[CHANNELS];
};

static size_t index_of(int64_t channel)
{
    assert_true(channel >= 0 && channel % 4 == 0 && channel / 4 < CHANNELS);
    return (size_t)channel / 4;
}

static void sent(void *ctx, enum record_kind kind, const int64_t *v)
{
    struct log *l = ctx;

    if (kind == RECORD_MESSAGE_SENT) {
        l->at[index_of(v[2])].messages_sent++;
        l->at[index_of(v[2])].queued[v[3] % MESSAGES_MAX] = v[1];
    } else if (kind == RECORD_FILE && v[2] == 1) {
        l->at[index_of(v[1])].file_sent = v[0];
        l->at[index_of(v[1])].sent_digest = v[4];
    }
}

static void received(void *ctx, enum record_kind kind, const int64_t *v)
{
    struct log *l = ctx;
    size_t i;

    if (kind == RECORD_MESSAGE_RECEIVED) {
        i = index_of(v[1]);
        l->at[i].messages++;
        l->at[i].bytes_by_second[v[0] / NS_PER_S % 64] += v[3];
        if (v[2] != RECORD_NONE) {
            ns_t queued = l->at[i].queued[v[2] % MESSAGES_MAX];
            l->at[i].in_order &= v[2] > l->at[i].last_number;
            l->at[i].last_number = v[2];
            l->at[i].age_max = ns_max(l->at[i].age_max, v[0] - queued);
        }
    } else if (kind == RECORD_FILE) {
        i = index_of(v[1]);
        if (v[2] == 0) {
            l->at[i].file_begin = v[0];
        } else {
            l->at[i].file_end = v[0];
            l->at[i].bytes = v[3];
            l->at[i].digest = v[4];
            l->at[i].intact = v[5];
        }
    }
}

static struct log *watch(struct pair *n)
{
    struct log *l = calloc(1, sizeof *l);

    assert_non_null(l);
    for (size_t i = 0; i < CHANNELS; i++) {
        l->at[i].in_order = true;
        l->at[i].last_number = -1;
        l->at[i].intact = -1;
    }
    n->seen[SENDER].row = sent;
    n->seen[RECEIVER].row = received;
    n->seen[SENDER].row_ctx = n->seen[RECEIVER].row_ctx = l;
    return l;
}

static void finish(struct pair *n)
{
    pair_run(n, 300 * NS_PER_S);
    for (int i = 0; i < 2; i++) {
        assert_true(agent_done(n->agent[i]));
        assert_null(agent_error(n->agent[i]));
    }
    pair_fini(n);
}

static void file(struct agent_config *c, size_t i, int64_t bytes)
{
    c->channels[i].kind = AGENT_DATA_FILE;
    c->channels[i].bytes = bytes;
    c->channels[i].message_bytes = 20000;
}

static void expect_file(const struct log *l, size_t i, int64_t bytes)
{
    assert_int_equal(l->at[i].bytes, bytes);
    assert_int_equal(l->at[i].intact, 1);
    assert_true(l->at[i].digest == l->at[i].sent_digest);
    assert_true(l->at[i].file_begin > 0 && l->at[i].file_end > l->at[i].file_begin);
    assert_true(l->at[i].in_order);
}

/* Four files at once, of all kinds, beside a call, over a path that loses packets. The run ends
 * when the last is there. */
static void test_four_files(void **state)
{
    struct agent_config c = pair_config(SENDER);
    struct pair n;
    struct log *l;

    (void)state;
    c.media = 1;
    c.linger = NS_PER_S;
    for (size_t i = 0; i < CHANNELS; i++) {
        file(&c, i, 400000 + 100000 * (int64_t)i);
        c.channels[i].start = NS_PER_S;
    }
    c.channels[1].order = c.channels[3].order = AGENT_UNORDERED;
    c.channels[2].lifetime = c.channels[3].lifetime = 60 * NS_PER_S; /* long enough */
    pair_init(&n, &c, 1);
    n.loss_ppm = 20000;
    l = watch(&n);
    finish(&n);
    for (size_t i = 0; i < CHANNELS; i++) {
        expect_file(l, i, c.channels[i].bytes);
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
    struct log *l;
    int64_t during = 0;

    (void)state;
    c.channels[0].kind = AGENT_DATA_ENDLESS;
    c.channels[0].message_bytes = 5000;
    file(&c, 1, 3000000);
    c.channels[1].start = 4 * NS_PER_S;
    c.channels[1].priority = 512;
    c.linger = 3 * NS_PER_S;
    pair_init(&n, &c, 1);
    n.loss_ppm = 10000;
    l = watch(&n);
    finish(&n);
    expect_file(l, 1, 3000000);
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
    struct log *l;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        c.channels[i].kind = AGENT_DATA_ENDLESS;
        c.channels[i].message_bytes = 5000;
    }
    c.duration = 10 * NS_PER_S;
    pair_init(&n, &c, 1);
    l = watch(&n);
    finish(&n);
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
        struct log *l;
        int64_t lost;
        c.channels[0] = (struct agent_channel){.kind = AGENT_DATA_ENDLESS,
                                               .message_bytes = 3000,
                                               .stop = NS_NEVER,
                                               .priority = 256,
                                               .order = order,
                                               .lifetime = 100 * NS_PER_MS,
                                               .interval = 20 * NS_PER_MS};
        file(&c, 1, 1000000);
        c.duration = 10 * NS_PER_S;
        pair_init(&n, &c, 1);
        n.outage_from = 5 * NS_PER_S;
        n.outage_to = n.outage_from + 400 * NS_PER_MS;
        n.loss_ppm = 5000;
        l = watch(&n);
        finish(&n);
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
        expect_file(l, 1, 1000000); /* the reliable one beside it has lost nothing */
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
        finish(&n);
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
