/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The QUIC library's controllers against what is known of them: how the goodput of one bulk flow
 * depends on random loss. Comparisons of controllers rest on this.
 *
 * Reno's mean window is sqrt(3/2) / sqrt(p) packets (Mathis et al., 1997). CUBIC's is the larger of
 * that, which RFC 9438 section 4.3 has it keep up with, and its own (section 5.1), which falls as
 * p^(-3/4); at the round trips and losses here the two nearly meet, so both go about as
 * 1 / sqrt(p). BBR takes its rate from what arrives and, as long as loss stays below the 2 % that
 * its second version bears with, hardly depends on p at all. */
#include "testbed/sim/two_agents_test.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#define PAYLOAD_BYTES 1200
#define RATE 40000000
#define DELAY (25 * NS_PER_MS)
#define SEEDS 4

static double goodput_mbps(int64_t preset, double loss, int64_t bytes)
{
    static struct two_agents_result r;
    double sum = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct two_agents_case c = {.agent = agent_config_default(),
                                    .rate = RATE,
                                    .delay = DELAY,
                                    .queue = 100 * NS_PER_MS,
                                    .loss = loss,
                                    .seed = seed};

        c.agent.preset = preset;
        c.agent.udp_payload_bytes = PAYLOAD_BYTES;
        c.agent.data = AGENT_DATA_FILE;
        c.agent.data_bytes = bytes;
        c.agent.linger = 0;
        two_agents_run(&c, &r);
        assert_string_equal(r.error, "");
        sum += (double)bytes * 8 / two_agents_file_s(&r) / 1e6;
    }
    return sum / SEEDS;
}

/* By the law of square roots. */
static double mathis_mbps(double loss)
{
    double rtt_s = 2 * ns_to_s(DELAY);

    return PAYLOAD_BYTES * 8 * sqrt(1.5 / loss) / rtt_s / 1e6;
}

/* How fast the goodput falls with p: 0.5 is the square root's. */
static double exponent(double at_low, double at_high, double low, double high)
{
    return log(at_low / at_high) / log(high / low);
}

static void loss_governs(int64_t preset, const char *name, double most)
{
    double low = goodput_mbps(preset, 0.003, 10000000), mid = goodput_mbps(preset, 0.01, 10000000);
    double high = goodput_mbps(preset, 0.03, 5000000), e = exponent(low, high, 0.003, 0.03);

    print_message("%-5s %.2f, %.2f, %.2f Mbit/s at 0.3, 1, 3 %% of loss: p^-%.2f; by Mathis %.2f\n",
                  name, low, mid, high, e, mathis_mbps(0.01));
    assert_true(mid > 0.85 * mathis_mbps(0.01) && mid < most * mathis_mbps(0.01));
    assert_true(e > 0.4 && e < 0.75);
}

static void reno_follows_the_square_root(void **state)
{
    (void)state;
    loss_governs(AGENT_PRESET_RENO, "reno", 1.15);
}

static void cubic_does_about_the_same(void **state)
{
    (void)state;
    loss_governs(AGENT_PRESET_CUBIC, "cubic", 1.5);
}

static void bbr_hardly_cares(void **state)
{
    double clean = goodput_mbps(AGENT_PRESET_BBR, 0, 10000000);
    double one = goodput_mbps(AGENT_PRESET_BBR, 0.01, 10000000);
    double three = goodput_mbps(AGENT_PRESET_BBR, 0.03, 10000000);

    (void)state;
    print_message("bbr   %.2f, %.2f, %.2f Mbit/s at 0, 1, 3 %% of loss\n", clean, one, three);
    assert_true(clean > 0.75 * RATE / 1e6); /* its start included */
    assert_true(one > 0.9 * clean);
    assert_true(three > 0.7 * clean);
    assert_true(one > 8 * mathis_mbps(0.01));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reno_follows_the_square_root),
        cmocka_unit_test(cubic_does_about_the_same),
        cmocka_unit_test(bbr_hardly_cares),
    };

    return cmocka_run_group_tests_name("loss_response", tests, NULL, NULL);
}
