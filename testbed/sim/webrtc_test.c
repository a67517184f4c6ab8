/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The WebRTC stack in whole runs over the link model, held to what deployed peers did on such a
 * path: 5 Mbit/s, 10 ms, 300 ms of queue, a file of 10 MB beside a call after 30 s. Chromium,
 * libwebrtc and Pion took 21.5 to 33.8 s for the file, left the media 0.90 to 1.97 Mbit/s
 * meanwhile, and filled the queue: one-way delays of 175 to 198 ms on average, 286 to 296 ms in the
 * 95th percentile, which is 165 to 188 and 276 to 286 ms of queue. */
#include "testbed/sim/two_agents_test.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdlib.h>
#include <cmocka.h>

#define SEEDS 5

static struct two_agents_result result;

static struct two_agents_case call_and_file(uint64_t seed)
{
    struct two_agents_case c = {.agent = agent_config_default(),
                                .rate = 5000000,
                                .delay = 10 * NS_PER_MS,
                                .queue = 300 * NS_PER_MS,
                                .seed = seed};

    c.agent.stack = AGENT_STACK_WEBRTC;
    c.agent.media = 1;
    c.agent.data = AGENT_DATA_FILE;
    c.agent.data_bytes = 10000000;
    c.agent.data_start = 30 * NS_PER_S;
    c.agent.linger = NS_PER_S;
    return c;
}

static double during_mbps(int64_t bytes)
{
    return (double)bytes * 8 / two_agents_file_s(&result) / 1e6;
}

static void expect_like_deployed(const struct two_agents_case *c, const char *what,
                                 ns_t queue_mean_max, ns_t file_max)
{
    double queue_mean = 0, file = 0, media = 0, p95 = 0, used = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct two_agents_case one = *c;
        one.seed = seed;
        two_agents_run(&one, &result);
        assert_string_equal(result.error, "");
        file += two_agents_file_s(&result) / SEEDS;
        media += during_mbps(result.rtp_bytes_during) / SEEDS;
        used += during_mbps(result.link_bytes_during) / 5 / SEEDS;
        queue_mean += result.queue_sum_ms / (double)result.queue.count / SEEDS;
        p95 += ns_to_ms(hist_quantile(&result.queue, 950000)) / SEEDS;
    }
    print_message(
        "%s: file %.2f s, media %.2f Mbit/s, link %.3f, queue %.0f ms mean, %.0f ms p95\n", what,
        file, media, used, queue_mean, p95);
    assert_in_range(file * 1e3, 21000, file_max / NS_PER_MS);
    assert_in_range(media * 1e3, 800, 2000);
    assert_in_range(used * 1e3, 970, 1000);
    assert_in_range(queue_mean * 1e3, 140000, queue_mean_max / NS_PER_US);
    assert_in_range(p95 * 1e3, 250000, 300000);
}

static void test_as_deployed(void **state)
{
    struct two_agents_case c = call_and_file(1);

    (void)state;
    expect_like_deployed(&c, "as by default", 210 * NS_PER_MS, 26 * NS_PER_S);
    c.agent.webrtc_pacing_burst = 40 * NS_PER_MS;
    expect_like_deployed(&c, "bursts of 40 ms", 215 * NS_PER_MS, 30 * NS_PER_S);
    c = call_and_file(1);
    c.agent.webrtc_sctp = AGENT_SCTP_PION;
    c.agent.webrtc_feedback_interval = 100 * NS_PER_MS;
    /* its constants in this implementation keep the queue fuller than Pion itself did */
    expect_like_deployed(&c, "SCTP as Pion's", 235 * NS_PER_MS, 30 * NS_PER_S);
}

/* Alone the call uses most of the link. */
static void test_call_alone(void **state)
{
    static const bps_t rates[] = {1000000, 5000000, 10000000};

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct two_agents_case c = call_and_file(1);
        c.rate = rates[i];
        c.agent.data = AGENT_DATA_NONE;
        c.agent.duration = 60 * NS_PER_S;
        two_agents_run(&c, &result);
        assert_string_equal(result.error, "");
        print_message("%2.0f Mbit/s: least target %.2f, last %.2f Mbit/s\n", (double)c.rate / 1e6,
                      (double)result.target_min / 1e6, (double)result.target_last / 1e6);
        assert_true(result.target_min > c.rate * 7 / 10);
        assert_true(result.target_last < c.rate * 11 / 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_deployed),
        cmocka_unit_test(test_call_alone),
    };

    return cmocka_run_group_tests_name("webrtc", tests, NULL, NULL);
}
