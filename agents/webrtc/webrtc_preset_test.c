/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the preset of the paper's prototype changes in the WebRTC agents: no probes, feedback in a
 * steady beat, an estimate that starts by falling and grows by 8 % per second, frames at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "agents/agent_pair_test.h"

#define SECONDS 40

static struct agent_config call(int64_t preset)
{
    struct agent_config c = pair_config(SENDER);

    c.stack = AGENT_STACK_WEBRTC;
    c.preset = preset;
    c.media = 1;
    c.duration = SECONDS * NS_PER_S;
    return c;
}

static void finish(struct pair *n)
{
    pair_run(n, 200 * NS_PER_S);
    for (int i = 0; i < 2; i++) {
        assert_true(agent_done(n->agent[i]));
        assert_null(agent_error(n->agent[i]));
    }
    pair_fini(n);
}

/* The estimate over time. */
struct rates {
    bps_t at[SECONDS + 1], least;
};

static void watch(void *ctx, enum record_kind kind, const int64_t *v)
{
    struct rates *r = ctx;

    if (kind == RECORD_RATE && v[0] / NS_PER_S <= SECONDS) {
        r->at[v[0] / NS_PER_S] = v[1];
        r->least = v[1] < r->least ? v[1] : r->least;
    }
}

static void test_prototype(void **state)
{
    struct agent_config c = call(AGENT_PRESET_PROTOTYPE);
    struct rates r = {.least = INT64_MAX};
    struct pair n;
    int64_t sent;

    (void)state;
    pair_init(&n, &c, 1);
    n.seen[SENDER].row = watch;
    n.seen[SENDER].row_ctx = &r;
    finish(&n);
    print_message("least %lld, after 10, 20, 30, 39 s: %lld %lld %lld %lld kbit/s\n",
                  (long long)r.least / 1000, (long long)r.at[10] / 1000, (long long)r.at[20] / 1000,
                  (long long)r.at[30] / 1000, (long long)r.at[39] / 1000);
    assert_int_equal(n.seen[SENDER].padding_bytes, 0);
    assert_int_equal(pair_counter(&n.seen[SENDER], "probe-packets"), 0);
    /* one every 20 ms */
    assert_in_range(pair_counter(&n.seen[RECEIVER], "feedbacks-sent"), 49 * SECONDS * 6 / 10,
                    51 * SECONDS);
    assert_int_equal(r.least, c.min_rate);
    assert_true(r.at[39] > 3 * r.at[10] / 2);
    for (int s = 11; s < 39; s++) {
        assert_true(r.at[s + 1] <= r.at[s] + r.at[s] / 11);
    }
    sent = n.seen[SENDER].rows[RECORD_FRAME_SENT];
    assert_in_range(n.seen[RECEIVER].frames_complete, sent * 97 / 100, sent);
}

/* Beside a file, which SCTP sends by its own control as ever. */
static void test_prototype_and_file(void **state)
{
    struct agent_config c = call(AGENT_PRESET_PROTOTYPE);
    struct pair n;

    (void)state;
    c.duration = NS_NEVER;
    c.data = AGENT_DATA_FILE;
    c.data_bytes = 3000000;
    c.data_start = 5 * NS_PER_S;
    c.linger = NS_PER_S;
    c.webrtc_sctp = AGENT_SCTP_PION;
    pair_init(&n, &c, 2);
    n.loss_ppm = 5000;
    finish(&n);
    assert_int_equal(n.seen[RECEIVER].intact, 1);
    assert_int_equal(n.seen[RECEIVER].file_bytes, 3000000);
    assert_true(pair_counter(&n.seen[RECEIVER], "media-recovered") > 0);
}

/* A feedback interval that was asked for is kept, whatever the preset. */
static void test_feedback_interval(void **state)
{
    struct agent_config c = call(AGENT_PRESET_PROTOTYPE);
    struct pair n;

    (void)state;
    c.duration = 10 * NS_PER_S;
    c.webrtc_feedback_interval = 100 * NS_PER_MS;
    pair_init(&n, &c, 3);
    finish(&n);
    assert_in_range(pair_counter(&n.seen[RECEIVER], "feedbacks-sent"), 80, 101);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prototype),
        cmocka_unit_test(test_prototype_and_file),
        cmocka_unit_test(test_feedback_interval),
    };

    return cmocka_run_group_tests_name("webrtc presets", tests, NULL, NULL);
}
