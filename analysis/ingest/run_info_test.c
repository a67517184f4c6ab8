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
    refused("{\"schema\":2}", "schema: of another version of muxbed; allowed: 1");
    refused("{\"schema\":\"1\"}", "schema: of another version of muxbed; allowed: 1");
    refused("{\"name\":\"a\",\"plan\":\"p\",\"stack\":\"quic\",\"link\":\"sim\"}", "path");
    refused("{\"name\":\"a\",\"plan\":\"p\",\"stack\":\"quic\",\"link\":\"sim\",\"path\":"
            "{\"rate_bps\":1,\"delay_ns\":0},\"hosts\":{\"sender\":\"nobody\",\"receiver\":"
            "\"10.0.0.1\",\"port\":1},\"flows\":{},\"clock\":{\"wall_start_ns\":0,\"wall_end_ns\":"
            "0,\"monotonic_start_ns\":0,\"monotonic_end_ns\":0},\"duration_ns\":1}",
            "nobody");
}

/* A manifest that is all right but for what is added. */
static void with(char text[1024], const char *added)
{
    snprintf(text, 1024,
             "{\"name\":\"a\",\"plan\":\"p\",\"stack\":\"quic\",\"link\":\"sim\",\"path\":"
             "{\"rate_bps\":1,\"delay_ns\":0},\"hosts\":{\"sender\":\"10.0.0.2\",\"receiver\":"
             "\"10.0.0.1\",\"port\":5002},\"flows\":{},\"clock\":{\"wall_start_ns\":0,"
             "\"wall_end_ns\":0,\"monotonic_start_ns\":0,\"monotonic_end_ns\":0},"
             "\"duration_ns\":1%s}",
             added);
}

static void test_folder_of_a_call(void **state)
{
    char text[1024], path[19];
    struct run_info r;
    struct fault f;

    (void)state;
    with(text, ",\"direction\":\"backward\",\"testbed\":\"..\",\"captures\":{\"sender\":"
               "\"../receiver.pcap\",\"receiver\":\"../sender.pcap\"}");
    assert_int_equal(run_info_parse(&r, "m", (const uint8_t *)text, strlen(text), &f), 0);
    assert_true(r.backward);
    assert_string_equal(r.sender_capture, "../receiver.pcap");
    assert_int_equal(run_info_place(path, sizeof path, "run/call2", r.testbed, "a.csv"), 0);
    assert_string_equal(path, "run/call2/../a.csv");
    assert_int_equal(run_info_place(path, sizeof path, "run/call2", r.testbed, "ab.csv"),
                     ERR_LIMIT);
    run_info_fini(&r);
    with(text, ",\"captures\":{\"sender\":{\"packets\":1},\"receiver\":{}},\"calls\":[\"call2\"],"
               "\"traffic\":[]");
    assert_int_equal(run_info_parse(&r, "m", (const uint8_t *)text, strlen(text), &f), 0);
    assert_false(r.backward);
    assert_null(r.sender_capture);
    assert_null(r.testbed);
    assert_int_equal(json_array_size(run_info_calls(&r)), 1);
    run_info_fini(&r);
}

static void test_refused_folders(void **state)
{
    char text[1024];

    (void)state;
    with(text, ",\"direction\":\"up\"");
    refused(text, "neither forward nor backward");
    with(text, ",\"calls\":[\"../elsewhere\"]");
    refused(text, "not the name of a folder");
    with(text, ",\"calls\":[\"\"]");
    refused(text, "not the name of a folder");
    with(text, ",\"calls\":[7]");
    refused(text, "not the name of a folder");
    with(text, ",\"traffic\":{}");
    refused(text, "no list");
    with(text, ",\"testbed\":7");
    refused(text, "manifest.json:");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slewed_clock_is_straightened),
        cmocka_unit_test(test_stepped_clock_is_left_alone),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_times_out_of_range),
        cmocka_unit_test(test_folder_of_a_call),
        cmocka_unit_test(test_refused_folders),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
