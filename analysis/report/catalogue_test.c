/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/catalogue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void whose(const char *metric, const char *wanted, const char *name)
{
    char text[CATALOGUE_WHOSE_MAX];

    assert_string_equal(catalogue_whose(text, metric), wanted);
    assert_string_equal(catalogue_name(metric), name);
}

static void test_what_stands_before_a_name(void **state)
{
    (void)state;
    whose("media_owd_ms_p50", "", "media_owd_ms_p50");
    whose("call2.media_owd_ms_p50", "call2: ", "media_owd_ms_p50");
    whose("step1_convergence_s", "step 1: ", "convergence_s");
    whose("short_tcp.step10_goodput_bps", "short_tcp, step 10: ", "goodput_bps");
    whose("steps_of_nothing", "", "steps_of_nothing");
    whose("step1", "", "step1");
}

static void test_find(void **state)
{
    (void)state;
    assert_string_equal(catalogue_find("call2.step0_media_owd_ms_p95")->metric, "media_owd_ms");
    assert_string_equal(catalogue_find("tcp.owd_ms_p95")->metric, "owd_ms");
    assert_string_equal(catalogue_find("udp.throughput_bps")->metric, "throughput_bps");
    assert_null(catalogue_find("call2.nothing"));
    assert_null(catalogue_find("call2."));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_stands_before_a_name),
        cmocka_unit_test(test_find),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
