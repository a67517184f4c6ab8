/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/base/prng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* The generator's published check: seed 42, stream 54. */
static void the_generator_is_pcg32(void **state)
{
    static const uint32_t expected[] = {0xa15c02b7, 0x7b47f409, 0xba1d3330,
                                        0x83d2f293, 0xbfa4784b, 0xcbed606e};
    struct prng p = {.state = 0, .inc = 54u << 1 | 1};

    (void)state;
    prng_u32(&p);
    p.state += 42;
    prng_u32(&p);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        assert_int_equal(prng_u32(&p), expected[i]);
    }
}

/* Runs are named by their seeds: what a seed means must never change. */
static void a_seed_means_what_it_always_did(void **state)
{
    static const uint32_t expected[] = {0x23da2491, 0xf581ec7e, 0x0e0a9752,
                                        0x40ae5af3, 0x23a5394a, 0x73c07886};
    struct prng p;

    (void)state;
    prng_init(&p, 1, "encoder");
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        assert_int_equal(prng_u32(&p), expected[i]);
    }
}

static void seeds_and_names_give_streams_of_their_own(void **state)
{
    static const char *const names[] = {"", "a", "b", "ab", "ba", "encoder"};
    uint64_t first[60];
    size_t n = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 10; seed++) {
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            struct prng p;
            prng_init(&p, seed, names[i]);
            first[n] = prng_u64(&p);
            for (size_t j = 0; j < n; j++) {
                assert_true(first[j] != first[n]);
            }
            n++;
        }
    }
}

static void uniform_numbers(void **state)
{
    struct prng p;
    double sum = 0, squares = 0;
    const int n = 100000;

    (void)state;
    prng_init(&p, 1, "uniform");
    for (int i = 0; i < n; i++) {
        double x = prng_uniform(&p);
        assert_true(x >= 0 && x < 1);
        sum += x;
        squares += x * x;
    }
    /* six standard deviations of either mean */
    assert_true(fabs(sum / n - 0.5) < 0.0055);
    assert_true(fabs(squares / n - 1.0 / 3) < 0.0057);
}

static void laplace_numbers(void **state)
{
    struct prng p;
    double sum = 0, absolute = 0;
    const int n = 100000;
    int beyond = 0;

    (void)state;
    prng_init(&p, 1, "laplace");
    for (int i = 0; i < n; i++) {
        double x = prng_laplace(&p, 0.15);
        assert_true(isfinite(x));
        sum += x;
        absolute += fabs(x);
        beyond += fabs(x) > 0.15 * log(10);
    }
    assert_true(fabs(sum / n) < 6 * 0.15 * sqrt(2.0 / n));
    assert_true(fabs(absolute / n - 0.15) < 6 * 0.15 / sqrt(n));
    assert_true(abs(beyond - n / 10) < 600); /* P(|x| > b ln 10) = 0.1 */
}

static void filling_is_reading_words(void **state)
{
    uint8_t out[13], again[13];
    struct prng p, q;
    uint64_t word = 0;

    (void)state;
    prng_init(&p, 3, "fill");
    q = p;
    prng_fill(&p, out, sizeof out);
    for (size_t i = 0; i < sizeof out; i++) {
        if (i % 8 == 0) {
            word = prng_u64(&q);
        }
        again[i] = (uint8_t)word;
        word >>= 8;
    }
    assert_memory_equal(out, again, sizeof out);
    prng_fill(&p, out, 0);
    assert_true(p.state == q.state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_generator_is_pcg32),
        cmocka_unit_test(a_seed_means_what_it_always_did),
        cmocka_unit_test(seeds_and_names_give_streams_of_their_own),
        cmocka_unit_test(uniform_numbers),
        cmocka_unit_test(laplace_numbers),
        cmocka_unit_test(filling_is_reading_words),
    };

    return cmocka_run_group_tests_name("prng", tests, NULL, NULL);
}
