/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/traffic/downloads.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define DRAWS 20000

static const struct downloads_config web = {
    .bytes_min = 30000, .bytes_max = 50000, .idle_mean = 10 * NS_PER_S};

/* The bounds are five standard deviations of the mean of so many draws. */
static void test_distributions(void **state)
{
    double sizes = 0, idles = 0, low = 0, short_ones = 0;
    struct downloads d;

    (void)state;
    downloads_init(&d, &web, 1, 0);
    for (int i = 0; i < DRAWS; i++) {
        int64_t bytes = downloads_bytes(&d);
        ns_t idle = downloads_idle(&d);

        assert_true(bytes >= web.bytes_min && bytes <= web.bytes_max);
        assert_true(idle >= 0 && idle <= 35 * web.idle_mean);
        sizes += (double)bytes;
        idles += ns_to_s(idle);
        low += bytes < 35000;
        short_ones += idle < web.idle_mean;
    }
    assert_true(fabs(sizes / DRAWS - 40000) < 5 * 5774 / sqrt(DRAWS));
    assert_true(fabs(idles / DRAWS - 10) < 5 * 10 / sqrt(DRAWS));
    assert_true(fabs(low / DRAWS - 0.25) < 5 * 0.433 / sqrt(DRAWS));
    assert_true(fabs(short_ones / DRAWS - (1 - exp(-1))) < 5 * 0.482 / sqrt(DRAWS));
}

static void test_one_size(void **state)
{
    const struct downloads_config one = {.bytes_min = 1, .bytes_max = 1};
    struct downloads d;

    (void)state;
    downloads_init(&d, &one, 7, 3);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(downloads_bytes(&d), 1);
        assert_int_equal(downloads_idle(&d), 0);
    }
}

/* Equal seeds give equal draws; another seed or flow others; idle times do not move the sizes. */
static void test_streams(void **state)
{
    struct downloads a, b, seed, flow;
    int differ = 0;

    (void)state;
    downloads_init(&a, &web, 1, 0);
    downloads_init(&b, &web, 1, 0);
    downloads_init(&seed, &web, 2, 0);
    downloads_init(&flow, &web, 1, 1);
    (void)downloads_idle(&b);
    for (int i = 0; i < 100; i++) {
        int64_t bytes = downloads_bytes(&a);

        assert_int_equal(bytes, downloads_bytes(&b));
        differ += bytes != downloads_bytes(&seed) && bytes != downloads_bytes(&flow);
    }
    assert_true(differ > 90);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distributions),
        cmocka_unit_test(test_one_size),
        cmocka_unit_test(test_streams),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
