/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What tests of data channels have in common, whatever the stack. Include it after cmocka.h. */
#ifndef AGENTS_AGENT_CHANNELS_TEST_H
#define AGENTS_AGENT_CHANNELS_TEST_H

#include "agents/agent_pair_test.h"

#define CHANNELS_MESSAGES_MAX 65536
#define CHANNELS AGENT_CHANNELS_MAX

/* What both ends say of every channel. */
struct channels_log {
    int64_t step; /* between the identifiers of one channel and the next */
    struct {
        ns_t file_begin, file_end, file_sent;
        int64_t bytes, sent_digest, digest, intact, messages_sent, messages;
        int64_t last_number;
        bool in_order;
        ns_t queued[CHANNELS_MESSAGES_MAX]; /* of messages sent, by number */
        ns_t age_max;                       /* of those delivered, where they have numbers */
        int64_t bytes_by_second[64];
    } at[CHANNELS];
};

PAIR_UNUSED static size_t channels_index(const struct channels_log *l, int64_t channel)
{
    assert_true(channel >= 0 && channel % l->step == 0 && channel / l->step < CHANNELS);
    return (size_t)(channel / l->step);
}

PAIR_UNUSED static void channels_sent(void *ctx, enum record_kind kind, const int64_t *v)
{
    struct channels_log *l = ctx;

    if (kind == RECORD_MESSAGE_SENT) {
        l->at[channels_index(l, v[2])].messages_sent++;
        l->at[channels_index(l, v[2])].queued[v[3] % CHANNELS_MESSAGES_MAX] = v[1];
    } else if (kind == RECORD_FILE && v[2] == 1) {
        l->at[channels_index(l, v[1])].file_sent = v[0];
        l->at[channels_index(l, v[1])].sent_digest = v[4];
    }
}

PAIR_UNUSED static void channels_received(void *ctx, enum record_kind kind, const int64_t *v)
{
    struct channels_log *l = ctx;
    size_t i;

    if (kind == RECORD_MESSAGE_RECEIVED) {
        i = channels_index(l, v[1]);
        l->at[i].messages++;
        l->at[i].bytes_by_second[v[0] / NS_PER_S % 64] += v[3];
        if (v[2] != RECORD_NONE) {
            ns_t queued = l->at[i].queued[v[2] % CHANNELS_MESSAGES_MAX];
            l->at[i].in_order &= v[2] > l->at[i].last_number;
            l->at[i].last_number = v[2];
            l->at[i].age_max = ns_max(l->at[i].age_max, v[0] - queued);
        }
    } else if (kind == RECORD_FILE) {
        i = channels_index(l, v[1]);
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

PAIR_UNUSED static struct channels_log *channels_watch(struct pair *n, int64_t step)
{
    struct channels_log *l = calloc(1, sizeof *l);

    assert_non_null(l);
    l->step = step;
    for (size_t i = 0; i < CHANNELS; i++) {
        l->at[i].in_order = true;
        l->at[i].last_number = -1;
        l->at[i].intact = -1;
    }
    n->seen[SENDER].row = channels_sent;
    n->seen[RECEIVER].row = channels_received;
    n->seen[SENDER].row_ctx = n->seen[RECEIVER].row_ctx = l;
    return l;
}

PAIR_UNUSED static void channels_finish(struct pair *n)
{
    pair_run(n, 300 * NS_PER_S);
    for (int i = 0; i < 2; i++) {
        assert_true(agent_done(n->agent[i]));
        assert_null(agent_error(n->agent[i]));
    }
    pair_fini(n);
}

PAIR_UNUSED static void channels_file(struct agent_config *c, size_t i, int64_t bytes)
{
    c->channels[i].kind = AGENT_DATA_FILE;
    c->channels[i].bytes = bytes;
    c->channels[i].message_bytes = 20000;
}

PAIR_UNUSED static void channels_expect_file(const struct channels_log *l, size_t i, int64_t bytes)
{
    assert_int_equal(l->at[i].bytes, bytes);
    assert_int_equal(l->at[i].intact, 1);
    assert_true(l->at[i].digest == l->at[i].sent_digest);
    assert_true(l->at[i].file_begin > 0 && l->at[i].file_end > l->at[i].file_begin);
    assert_true(l->at[i].in_order);
}

#endif
