/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two calls at one bottleneck, one of twice the weight: it has about twice the rate (RFC 8867
 * section 6.1), and equal ones have about the same. */
#include "testbed/sim/shared_path_test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define SEEDS 3

/* Mean over the seeds of the first call's rate over the second's. */
static double ratio(int64_t stack, int64_t weight)
{
    double sum = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct shared_path_case c = {.rate = 3500000,
                                     .delay = 50 * NS_PER_MS,
                                     .queue = 300 * NS_PER_MS,
                                     .from = 40 * NS_PER_S,
                                     .until = 120 * NS_PER_S,
                                     .seed = seed};
        struct shared_path_result r;

        for (int i = 0; i < SHARED_PATH_PAIRS; i++) {
            c.agents[i] = agent_config_default();
            c.agents[i].stack = stack;
            c.agents[i].media = 1;
            c.agents[i].min_rate = 150000;
            c.agents[i].start_rate = 150000;
            c.agents[i].priority = i == 0 ? weight : 1;
        }
        shared_path_run(&c, &r);
        assert_string_equal(r.error, "");
        sum += (double)r.bytes[0] / (double)r.bytes[1];
    }
    print_message("%s, weight %d: %.2f\n", stack == AGENT_STACK_QUIC ? "quic" : "webrtc",
                  (int)weight, sum / SEEDS);
    return sum / SEEDS;
}

static void test_quic(void **state)
{
    double one = ratio(AGENT_STACK_QUIC, 1), two = ratio(AGENT_STACK_QUIC, 2);

    (void)state;
    assert_true(one > 0.75 && one < 1.33);
    assert_true(two > 1.5 && two < 2.7);
}

static void test_webrtc(void **state)
{
    double one = ratio(AGENT_STACK_WEBRTC, 1), two = ratio(AGENT_STACK_WEBRTC, 2);

    (void)state;
    assert_true(one > 0.75 && one < 1.33);
    assert_true(two > 1.5 && two < 2.7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quic),
        cmocka_unit_test(test_webrtc),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
