/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A call and a file over paths that do everything at once: bursts of loss, packets that overtake,
 * one in five twice, and loss on the way back. The file has to arrive in a time that the loss
 * explains, and what is sent again must not crowd out what is sent: each packet that a receiver
 * misses, or only believes to miss, is asked for and repeated, so a sender that does not take this
 * from the rate of its encoder fills the link for good, and the file never arrives. */
#include "testbed/sim/two_agents_test.h"

#include <math.h>
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>

#define FILE_BYTES 2000000
#define PACKET_BYTES 1100 /* of the file in a packet */
#define TIMEOUT_S 0.4     /* the least that T3-rtx is set to */
#define SEEDS 2

struct path {
    bps_t rate;
    ns_t delay, queue;
    double to_bad, to_good;
};

static const struct path paths[] = {
    {5000000, 10 * NS_PER_MS, 100 * NS_PER_MS, 0.001, 0.5},
    {5000000, 10 * NS_PER_MS, 300 * NS_PER_MS, 0.005, 0.1},
    {5000000, 50 * NS_PER_MS, 300 * NS_PER_MS, 0.001, 1},
    {5000000, 20 * NS_PER_MS, 50 * NS_PER_MS, 0.01, 0.2},
    {10000000, 10 * NS_PER_MS, 100 * NS_PER_MS, 0.0002, 0.5},
    {10000000, 10 * NS_PER_MS, 300 * NS_PER_MS, 0.001, 0.05},
    {2000000, 20 * NS_PER_MS, 300 * NS_PER_MS, 0.02, 0.3},
};
#define PATHS (sizeof paths / sizeof paths[0])

static struct two_agents_result result;

static double loss(const struct path *p)
{
    return p->to_bad / (p->to_bad + p->to_good);
}

/* What TCP would take beside a call, by its throughput equation (RFC 5348 section 3.1, b = 2; each
 * burst is one event), and no less than with half of the link. Four times that is what the worst of
 * such files may take: bursts also end in timeouts, and queues fill. */
static double explained_s(const struct path *p)
{
    double e = p->to_bad * (1 - loss(p)), rtt = ns_to_s(2 * p->delay);
    double per_packet =
        rtt * sqrt(4 * e / 3) + TIMEOUT_S * fmin(1, 3 * sqrt(6 * e / 8)) * e * (1 + 32 * e * e);
    double half = FILE_BYTES * 8 / ((double)p->rate / 2);

    return 4 * fmax(half, per_packet * FILE_BYTES / PACKET_BYTES);
}

static void run(const struct path *p, int64_t stack, uint64_t seed)
{
    const struct impair_config there = {.delay = p->delay,
                                        .jitter = 3 * NS_PER_MS,
                                        .jitter_model = IMPAIR_JITTER_REORDER,
                                        .loss_model = IMPAIR_LOSS_GILBERT_ELLIOTT,
                                        .to_bad = p->to_bad,
                                        .to_good = p->to_good,
                                        .loss_bad = 1,
                                        .duplicate = 0.2};
    const struct impair_config back = {.delay = p->delay,
                                       .jitter = 3 * NS_PER_MS,
                                       .jitter_model = IMPAIR_JITTER_REORDER,
                                       .loss = 0.05,
                                       .duplicate = 0.2};
    struct two_agents_case c = {.agent = agent_config_default(),
                                .rate = p->rate,
                                .queue = p->queue,
                                .impair = {&there, &back},
                                .seed = seed};

    c.agent.stack = stack;
    c.agent.media = 1;
    c.agent.data = AGENT_DATA_FILE;
    c.agent.data_bytes = FILE_BYTES;
    c.agent.data_start = 10 * NS_PER_S;
    c.agent.linger = NS_PER_S;
    two_agents_run(&c, &result);
}

static void expect_explained(int64_t stack)
{
    for (size_t i = 0; i < PATHS; i++) {
        const struct path *p = &paths[i];
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            const struct link_counters *l = &result.link;
            run(p, stack, seed);
            print_message("%2.0f Mbit/s, %2.0f ms, queue %3.0f ms, loss %4.2f %%: file %5.2f s of "
                          "%5.2f s, %llu of %llu packets dropped by the queue, %llu lost %s\n",
                          (double)p->rate / 1e6, ns_to_ms(p->delay), ns_to_ms(p->queue),
                          loss(p) * 100, two_agents_file_s(&result), explained_s(p),
                          (unsigned long long)l->queue_drops, (unsigned long long)l->in_packets,
                          (unsigned long long)l->loss_drops, result.error);
            assert_true(result.file_begin >= 0 && result.file_end > result.file_begin);
            assert_true(two_agents_file_s(&result) > FILE_BYTES * 8 / (double)p->rate);
            assert_true(two_agents_file_s(&result) < explained_s(p));
            assert_true(l->queue_drops < l->in_packets / 20);
        }
    }
}

static void test_webrtc(void **state)
{
    (void)state;
    expect_explained(AGENT_STACK_WEBRTC);
}

static void test_quic(void **state)
{
    (void)state;
    expect_explained(AGENT_STACK_QUIC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_webrtc),
        cmocka_unit_test(test_quic),
    };

    return cmocka_run_group_tests_name("impaired", tests, NULL, NULL);
}
