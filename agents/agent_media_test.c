/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/agent_media.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_rates(void **state)
{
    /* 20 bytes of RTP header and descriptor in each packet of 1000, 50 of overhead */
    const struct agent_media_packing p = {
        .fps = 25, .packet_bytes_max = 1000, .overhead_bytes = 50};

    (void)state;
    /* 2100 bytes a frame on the IP level are two full packets */
    assert_int_equal(agent_media_payload_rate(&p, 2100 * 8 * 25), 2 * 980 * 8 * 25);
    assert_int_equal(agent_media_ip_rate(&p, 2 * 980 * 8 * 25), 2100 * 8 * 25);
    /* one byte more takes a third packet */
    assert_int_equal(agent_media_ip_rate(&p, 1961 * 8 * 25), (1961 + 3 * 70) * 8 * 25);
    /* what is all overhead has no payload */
    assert_int_equal(agent_media_payload_rate(&p, 70 * 8 * 25), 0);
    for (bps_t rate = 50000; rate < 20000000; rate += 12345) {
        bps_t payload = agent_media_payload_rate(&p, rate);
        assert_true(agent_media_ip_rate(&p, payload) <= rate);
        assert_true(payload < rate);
    }
}

static void test_limits(void **state)
{
    struct agent_config c = agent_config_default();
    struct cc_config l;

    (void)state;
    c.steps[0] = (struct agent_step){.at = 1, .key = AGENT_STEP_MIN_RATE, .value = 100000};
    c.steps[1] = (struct agent_step){.at = 2, .key = AGENT_STEP_MAX_RATE, .value = 99000000};
    c.steps[2] = (struct agent_step){.at = 3, .key = AGENT_STEP_MAX_RATE, .value = 500000};
    c.step_count = 3;
    l = agent_media_limits(&c);
    assert_int_equal(l.start_rate, c.start_rate);
    assert_int_equal(l.min_rate, 100000);
    assert_int_equal(l.max_rate, 99000000);
}

struct events {
    int count;
    char last[48];
    int64_t value;
};

static void put(void *ctx, enum record_kind kind, const char *name, const int64_t *v)
{
    struct events *e = ctx;

    assert_int_equal(kind, RECORD_EVENT);
    e->count++;
    snprintf(e->last, sizeof e->last, "%s", name);
    e->value = v[1];
}

static void test_steps(void **state)
{
    struct agent_config c = agent_config_default();
    struct events e = {0};
    struct record_sink sink = {.put = put, .ctx = &e};
    int64_t taken = 0;

    (void)state;
    c.steps[0] = (struct agent_step){.at = 5, .key = AGENT_STEP_MAX_RATE, .value = 3000000};
    c.steps[1] = (struct agent_step){.at = 5, .key = AGENT_STEP_MIN_RATE, .value = 200000};
    c.steps[2] = (struct agent_step){.at = 9, .key = AGENT_STEP_SHARE, .value = 700000};
    c.step_count = 3;
    assert_int_equal(agent_media_next_step(&c, taken), 5);
    assert_false(agent_media_take_steps(&c, &taken, &sink, 4));
    assert_true(agent_media_take_steps(&c, &taken, &sink, 5));
    assert_int_equal(taken, 2);
    assert_int_equal(c.max_rate, 3000000);
    assert_int_equal(c.min_rate, 200000);
    assert_int_equal(agent_media_next_step(&c, taken), 9);
    assert_true(agent_media_take_steps(&c, &taken, &sink, 100));
    assert_int_equal(c.share_ppm, 700000);
    assert_int_equal(e.count, 3);
    assert_int_equal(e.value, 700000);
    assert_int_equal(strncmp(e.last, "step-", 5), 0);
    assert_int_equal(agent_media_next_step(&c, taken), NS_NEVER);
    assert_false(agent_media_take_steps(&c, &taken, &sink, 200));
}

static void test_encoder(void **state)
{
    struct agent_config c = agent_config_default();
    struct agent_env env = {.seed = 77};
    struct encoder_config e;

    (void)state;
    c.media_start = 5 * NS_PER_S;
    c.encoder = AGENT_ENCODER_CONSTANT;
    e = agent_media_encoder(&c, &env, NS_PER_S);
    assert_int_equal(e.start, 5 * NS_PER_S);
    assert_int_equal(e.mode, ENCODER_CONSTANT);
    assert_int_equal(e.seed, 77);
    e = agent_media_encoder(&c, &env, 6 * NS_PER_S);
    assert_int_equal(e.start, 6 * NS_PER_S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_encoder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
