/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/topology/shape_netem.h"

#include "agents/base/err.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define RATE 5000000
#define WHOLE 4294967295.0 /* netem's 1 */

static struct shape_netem netem;
static struct message m;

static void test_constant_delay(void **state)
{
    const struct impair_config c = {.delay = 10 * NS_PER_MS, .seed = 7};

    (void)state;
    assert_int_equal(shape_netem(&netem, RATE, &c, &m), 0);
    assert_int_equal(netem.delay_ns, 10 * NS_PER_MS);
    assert_int_equal(netem.seed, 7);
    assert_int_equal(netem.jitter_ns, 0);
    assert_int_equal(netem.loss | netem.duplicate | netem.rate_bytes_per_s, 0);
    assert_false(netem.gilbert.on || netem.clipped_normal || netem.ecn);
}

static void test_limit_is_far_above_what_flies(void **state)
{
    struct impair_config c = {.delay = 200 * NS_PER_MS};

    (void)state;
    assert_int_equal(shape_netem(&netem, 1000000000, &c, &m), 0);
    assert_true(netem.limit_packets > 4 * (25000000 / 60)); /* 25 MB under way, smallest frames */
    c.delay = -1;
    assert_int_equal(shape_netem(&netem, 1000000000, &c, &m), ERR_CONFIG);
    c.delay = 1000 * NS_PER_S;
    assert_int_equal(shape_netem(&netem, INT64_C(100000000000), &c, &m), ERR_CONFIG);
    assert_non_null(strstr(m.text, "more than netem can hold"));
}

static void test_loss(void **state)
{
    struct impair_config c = {.loss = 0.01};

    (void)state;
    assert_int_equal(shape_netem(&netem, RATE, &c, &m), 0);
    assert_int_equal(netem.loss, 42949673);
    c.loss = 1;
    assert_int_equal(shape_netem(&netem, RATE, &c, &m), 0);
    assert_int_equal(netem.loss, UINT32_MAX);
    c.loss = 1.01;
    assert_int_equal(shape_netem(&netem, RATE, &c, &m), ERR_CONFIG);
}

static void test_bursts_of_loss(void **state)
{
    const struct impair_config c = {.loss_model = IMPAIR_LOSS_GILBERT_ELLIOTT,
                                    .to_bad = 0.25,
                                    .to_good = 0.5,
                                    .loss_bad = 1,
                                    .loss_good = 0.125};

    (void)state;
    assert_int_equal(shape_netem(&netem, RATE, &c, &m), 0);
    assert_true(netem.gilbert.on);
    assert_int_equal(netem.gilbert.p, UINT32_C(1) << 30);
    assert_int_equal(netem.gilbert.r, UINT32_C(1) << 31);
    assert_int_equal(netem.gilbert.h, 0); /* nothing comes through in the bad state */
    assert_int_equal(netem.gilbert.k1, UINT32_C(1) << 29);
    assert_int_equal(netem.loss, 0);
}

/* What comes of netem's own two probabilities must be what was asked. */
static void test_duplicates(void **state)
{
    static const struct {
        double loss, duplicate;
    } asked[] = {{0, 0.02}, {0, 1}, {0.1, 0.1}, {0.01, 0.3}, {0.3, 0.1}};

    (void)state;
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        double loss = asked[i].loss, duplicate = asked[i].duplicate, l, d;
        const struct impair_config c = {.loss = loss, .duplicate = duplicate};

        assert_int_equal(shape_netem(&netem, RATE, &c, &m), 0);
        l = netem.loss / WHOLE;
        d = netem.duplicate / WHOLE;
        assert_true(fabs((1 - d) * l - loss) < 1e-8);
        assert_true(fabs(d * (1 - l) * (1 - l) - (1 - loss) * duplicate) < 1e-8);
    }
}

static void refuse(const struct impair_config *c, const char *why)
{
    m.text[0] = '\0';
    assert_int_equal(shape_netem(&netem, RATE, c, &m), ERR_CONFIG);
    if (!strstr(m.text, why) || !strstr(m.text, "allowed: ")) {
        fail_msg("%s", m.text);
    }
}

static void test_refuses_what_netem_cannot(void **state)
{
    struct impair_config c = {.delay = 20 * NS_PER_MS, .jitter = 5 * NS_PER_MS};

    (void)state;
    refuse(&c, "nr-bpdv");
    c.jitter_model = IMPAIR_JITTER_REORDER;
    assert_int_equal(shape_netem(&netem, RATE, &c, &m), 0);
    assert_true(netem.clipped_normal);
    assert_int_equal(netem.jitter_ns, 5 * NS_PER_MS);
    c.duplicate = 0.1;
    refuse(&c, "path.duplicate together with path.jitter");
    c = (struct impair_config){
        .loss_model = IMPAIR_LOSS_GILBERT_ELLIOTT, .to_bad = 0.1, .duplicate = 0.1};
    refuse(&c, "bursts of loss");
    c = (struct impair_config){.loss = 0.8, .duplicate = 0.9};
    refuse(&c, "less of either");
    c = (struct impair_config){.event_stop = NS_PER_S, .event_loss = 0.1};
    refuse(&c, "path.event: netem loses alike all the time; allowed: --link wire or sim");
    c = (struct impair_config){
        .delay = 30 * NS_PER_S, .jitter = 3 * NS_PER_S, .jitter_model = IMPAIR_JITTER_REORDER};
    assert_int_equal(shape_netem(&netem, RATE, &c, &m), ERR_CONFIG);
    assert_non_null(strstr(m.text, "path.jitter"));
}

/* The moments of the clipped normal distribution: its mean is 0, its variance 1 less what clipping
 * at 3 takes, which is 2 (Q(3) (1 - 9) + 3 phi(3)) = 0.00499. */
static void test_table(void **state)
{
    static int16_t table[SHAPE_NETEM_TABLE];
    double sum = 0, squares = 0;

    (void)state;
    shape_netem_table(table);
    for (int i = 0; i < SHAPE_NETEM_TABLE; i++) {
        double z = (double)table[i] / SHAPE_NETEM_SIGMA;

        assert_true(i == 0 || table[i] >= table[i - 1]);
        sum += z;
        squares += z * z;
    }
    assert_int_equal(table[0], -IMPAIR_JITTER_CLIP * SHAPE_NETEM_SIGMA);
    assert_int_equal(table[SHAPE_NETEM_TABLE - 1], IMPAIR_JITTER_CLIP * SHAPE_NETEM_SIGMA);
    assert_int_equal(sum * SHAPE_NETEM_SIGMA, 0);
    assert_true(fabs(squares / SHAPE_NETEM_TABLE - 0.99501) < 0.001);
    /* Known quantiles: 84.13 % lie below 1, 97.72 % below 2. */
    assert_true(abs(table[(int)(0.841345 * SHAPE_NETEM_TABLE)] - SHAPE_NETEM_SIGMA) < 10);
    assert_true(abs(table[(int)(0.977250 * SHAPE_NETEM_TABLE)] - 2 * SHAPE_NETEM_SIGMA) < 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constant_delay), cmocka_unit_test(test_limit_is_far_above_what_flies),
        cmocka_unit_test(test_loss),           cmocka_unit_test(test_bursts_of_loss),
        cmocka_unit_test(test_duplicates),     cmocka_unit_test(test_refuses_what_netem_cannot),
        cmocka_unit_test(test_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
