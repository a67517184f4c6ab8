/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ingest/run_info.h"

#include "agents/base/err.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define WALL INT64_C(1700000000000000000)

static struct run_info info(int64_t elapsed, int64_t error)
{
    return (struct run_info){
        .wall_start_ns = WALL, .wall_elapsed = elapsed, .clock_error_ns = error};
}

static void test_slewed_clock_is_straightened(void **state)
{
    struct run_info r = info(100 * NS_PER_S, 10 * NS_PER_MS); /* 100 ppm fast */

    (void)state;
    assert_false(run_info_clock_stepped(&r));
    assert_int_equal(run_info_time(&r, WALL), 0);
    assert_int_equal(run_info_time(&r, WALL + 50 * NS_PER_S), 50 * NS_PER_S - 5 * NS_PER_MS);
    assert_int_equal(run_info_time(&r, WALL + 100 * NS_PER_S), 100 * NS_PER_S - 10 * NS_PER_MS);
}

static void test_stepped_clock_is_left_alone(void **state)
{
    struct run_info r = info(10 * NS_PER_S, -NS_PER_S);

    (void)state;
    assert_true(run_info_clock_stepped(&r));
    assert_int_equal(run_info_time(&r, WALL + 5), 5);
    r = info(0, 0);
    assert_false(run_info_clock_stepped(&r));
    assert_int_equal(run_info_time(&r, WALL - 5), -5);
}

static void refused(const char *text, const char *what)
{
    struct run_info r;
    struct fault f;

    assert_int_equal(run_info_parse(&r, "manifest.json", (const uint8_t *)text, strlen(text), &f),
                     ERR_MALFORMED);
    if (!strstr(f.text, "manifest.json:") || !strstr(f.text, what)) {
        fail_msg("\"%s\" lacks \"%s\"", f.text, what);
    }
    assert_null(r.root);
}

/* A manifest with these clock readings, duration and delay. */
static void refused_times(int64_t wall_start, int64_t wall_end, int64_t mono_end, int64_t duration,
                          int64_t delay, const char *what)
{
    char text[512];

    snprintf(text, sizeof text,
             "{\"name\":\"a\",\"plan\":\"p\",\"stack\":\"quic\",\"link\":\"sim\",\"path\":"
             "{\"rate_bps\":1,\"delay_ns\":%" PRId64
             "},\"hosts\":{\"sender\":\"10.0.0.2\",\"receiver\":\"10.0.0.1\",\"port\":1},"
             "\"flows\":{},\"clock\":{\"wall_start_ns\":%" PRId64 ",\"wall_end_ns\":%" PRId64
             ",\"monotonic_start_ns\":1,\"monotonic_end_ns\":%" PRId64 "},\"duration_ns\":%" PRId64
             "}",
             delay, wall_start, wall_end, mono_end, duration);
    refused(text, what);
}

static void test_times_out_of_range(void **state)
{
    (void)state;
    refused_times(-INT64_MAX, INT64_MAX, 2, 1, 0, "clock or duration_ns");
    refused_times(WALL, INT64_MAX, 2, 1, 0, "clock or duration_ns");
    refused_times(WALL, WALL + 1, -INT64_MAX, 1, 0, "clock or duration_ns");
    refused_times(WALL, WALL + 1, 2, INT64_MAX, 0, "clock or duration_ns");
    refused_times(WALL, WALL + 1, 2, -1, 0, "clock or duration_ns");
    refused_times(WALL, WALL + 1, 2, 1, -1, "delay_ns");
}

static void test_refusals(void **state)
{
    (void)state;
    refused("", "1:0");
    refused("[]", "Expected object");
    refused("{\"name\":\"a\",\"plan\":\"p\",\"stack\":\"quic\",\"link\":\"sim\"}", "path");
    refused("{\"name\":\"a\",\"plan\":\"p\",\"stack\":\"quic\",\"link\":\"sim\",\"path\":"
            "{\"rate_bps\":1,\"delay_ns\":0},\"hosts\":{\"sender\":\"nobody\",\"receiver\":"
            "\"10.0.0.1\",\"port\":1},\"flows\":{},\"clock\":{\"wall_start_ns\":0,\"wall_end_ns\":"
            "0,\"monotonic_start_ns\":0,\"monotonic_end_ns\":0},\"duration_ns\":1}",
            "nobody");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slewed_clock_is_straightened),
        cmocka_unit_test(test_stepped_clock_is_left_alone),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_times_out_of_range),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
