/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the preset muxbed is made for, and what it may not do: take from others. */
#include "testbed/sim/shared_path_test.h"
#include "testbed/sim/two_agents_test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MS NS_PER_MS

static struct agent_config endless(int64_t preset, int64_t media, ns_t start)
{
    struct agent_config a = agent_config_default();

    a.preset = preset;
    a.media = media;
    a.data = AGENT_DATA_ENDLESS;
    a.data_start = start;
    return a;
}

/* ---- beside others ---- */

static double part_beside(int64_t preset, const char *name, ns_t delay, ns_t queue)
{
    struct shared_path_case c = {
        .agents = {endless(AGENT_PRESET_MUXBED, 1, 0), endless(preset, 0, 20 * NS_PER_S)},
        .rate = 5000000,
        .delay = delay,
        .queue = queue,
        .from = 40 * NS_PER_S,
        .until = 140 * NS_PER_S,
        .seed = 1};
    struct shared_path_result r;
    double part;

    shared_path_run(&c, &r);
    assert_string_equal(r.error, "");
    part = 2 * shared_path_part(&r, 0);
    print_message("beside %-6s %2.0f ms, queue %3.0f ms: %.2f of the fair share\n", name,
                  ns_to_ms(delay), ns_to_ms(queue), part);
    return part;
}

/* A flow that fills the queue must neither starve it nor lose more than a quarter of its part. */
static void test_beside_cubic(void **state)
{
    static const ns_t delays[] = {10 * MS, 25 * MS, 50 * MS},
                      queues[] = {60 * MS, 150 * MS, 300 * MS};

    (void)state;
    for (int i = 0; i < 9; i++) {
        double part = part_beside(AGENT_PRESET_CUBIC, "cubic", delays[i / 3], queues[i % 3]);

        assert_true(part > 0.25 && part < 1.25);
    }
}

static void test_beside_others(void **state)
{
    double part;

    (void)state;
    part = part_beside(AGENT_PRESET_RENO, "reno", 25 * MS, 300 * MS);
    assert_true(part > 0.25 && part < 1.5);
    part = part_beside(AGENT_PRESET_BBR, "bbr", 25 * MS, 300 * MS);
    assert_true(part > 0.25 && part < 1.5);
    part = part_beside(AGENT_PRESET_MUXBED, "itself", 25 * MS, 300 * MS);
    assert_true(part > 0.6 && part < 1.4);
}

/* ---- alone on the path ---- */

static const bps_t rates[] = {1000000, 5000000, 10000000};
static const ns_t delays[] = {10 * MS, 25 * MS, 50 * MS};
static struct two_agents_result result;

static struct two_agents_case call(int64_t preset, int64_t stack, int cell)
{
    struct two_agents_case c = {.agent = agent_config_default(),
                                .rate = rates[cell / 3],
                                .delay = delays[cell % 3],
                                .queue = 300 * MS,
                                .seed = 1};

    c.agent.preset = preset;
    c.agent.stack = stack;
    c.agent.media = 1;
    return c;
}

/* The file gets its half, the media the other, the link is full, and hardly anything waits: three
 * milliseconds and one and a half packets are wanted. */
static void test_file_beside_call(void **state)
{
    (void)state;
    for (int cell = 0; cell < 9; cell++) {
        struct two_agents_case c = call(AGENT_PRESET_MUXBED, AGENT_STACK_QUIC, cell);
        double during, media, link, wait;

        c.agent.data = AGENT_DATA_FILE;
        c.agent.data_bytes = c.rate; /* sixteen seconds' worth of half the link */
        c.agent.data_start = 15 * NS_PER_S;
        c.agent.linger = NS_PER_S;
        two_agents_run(&c, &result);
        assert_string_equal(result.error, "");
        during = two_agents_file_s(&result);
        media = (double)result.rtp_bytes_during * 8 / during / (double)c.rate;
        link = (double)result.link_bytes_during * 8 / during / (double)c.rate;
        wait = ns_to_ms(hist_quantile(&result.queue, 990000));
        print_message("%2.0f Mbit/s, %2.0f ms: file %.2f s, media %.3f, link %.3f, queue p99 %.1f "
                      "ms\n",
                      (double)c.rate / 1e6, ns_to_ms(c.delay), during, media, link, wait);
        assert_true(during < 16 * 1.05 * 1514 / 1400);
        assert_true(media > 0.95 * 0.5 * 0.93); /* RTP's part of its packets */
        assert_true(link > 0.95);
        assert_true(wait < (c.rate > 1000000 ? 18 : 45));
    }
}

static double call_alone(int64_t preset, int64_t stack, int cell)
{
    struct two_agents_case c = call(preset, stack, cell);

    c.agent.data = AGENT_DATA_NONE;
    c.agent.duration = 60 * NS_PER_S;
    two_agents_run(&c, &result);
    assert_string_equal(result.error, "");
    return (double)result.target_min;
}

/* Alone a call has the capacity as its estimate, throughout. */
static void test_call_alone(void **state)
{
    (void)state;
    for (int cell = 0; cell < 9; cell++) {
        double least = call_alone(AGENT_PRESET_MUXBED, AGENT_STACK_QUIC, cell);

        print_message("%2.0f Mbit/s, %2.0f ms: least estimate %.2f of the link\n",
                      (double)rates[cell / 3] / 1e6, ns_to_ms(delays[cell % 3]),
                      least / (double)rates[cell / 3]);
        assert_true(least > 0.85 * (double)rates[cell / 3]);
    }
}

/* ---- paths that are not so kind ---- */

static void test_loss_and_short_queues(void **state)
{
    static const struct {
        ns_t queue;
        double loss, file_s;
    } paths[] = {
        {10 * MS, 0, 17.5}, {30 * MS, 0, 17.5}, {300 * MS, 0.01, 18}, {300 * MS, 0.05, 20}};

    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct two_agents_case c = call(AGENT_PRESET_MUXBED, AGENT_STACK_QUIC, 3);

        c.queue = paths[i].queue;
        c.loss = paths[i].loss;
        c.agent.data = AGENT_DATA_FILE;
        c.agent.data_bytes = c.rate;
        c.agent.data_start = 15 * NS_PER_S;
        c.agent.linger = NS_PER_S;
        two_agents_run(&c, &result);
        assert_string_equal(result.error, "");
        print_message("queue %.0f ms, loss %.0f %%: file %.2f s\n", ns_to_ms(c.queue), 100 * c.loss,
                      two_agents_file_s(&result));
        assert_true(two_agents_file_s(&result) < paths[i].file_s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_beside_cubic),          cmocka_unit_test(test_beside_others),
        cmocka_unit_test(test_file_beside_call),      cmocka_unit_test(test_call_alone),
        cmocka_unit_test(test_loss_and_short_queues),
    };

    return cmocka_run_group_tests_name("muxbed", tests, NULL, NULL);
}
