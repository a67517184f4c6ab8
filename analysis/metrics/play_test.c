/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plays of one run, reckoned by hand; the path has an event from 20 to 40 s. */
#include "analysis/metrics/play.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define S "000000000"

/* end, player, play, bit rate, length, click, start, played, stutters, stutter, bytes, download,
 * requests, retries, outcome, reason */
static const char plays[] =
    "time_ns,player,play,bit_rate_bps,length_ns,click_ns,start_ns,played_ns,stutters,stutter_ns,"
    "bytes,download_ns,requests,retries,outcome,reason\n"
    /* before: latency 100 ms, 1 Mbit/s; on until the event */
    "22" S ",0,0,160000,10" S ",1" S ",1100000000,20" S ",1,1" S ",1000000,8" S ",1,0,0,0\n"
    /* before: 300 ms, 4 Mbit/s */
    "15" S ",1,0,160000,10" S ",2" S ",2300000000,12" S ",0,0,1000000,2" S ",1,0,1,0\n"
    /* in the event: 500 ms, 100 kbit/s, two stutters */
    "45" S ",0,1,160000,10" S ",25" S ",25500000000,9" S ",2,10" S ",250000,20" S ",1,0,0,0\n"
    /* in the event: failed without sound or a byte */
    "39" S ",1,1,160000,10" S ",30" S ",,0,0,0,0,9" S ",1,0,2,1\n"
    /* cut by the end */
    "60" S ",0,2,160000,10" S ",50" S ",51" S ",9" S ",0,0,800000,1" S ",1,0,3,0\n";

static const char stutters[] = "time_ns,player,play,position_ns,duration_ns\n"
                               "19" S ",0,0,5" S ",1" S "\n"
                               "27" S ",0,1,5" S ",4" S "\n"
                               "39" S ",0,1,5" S ",6" S "\n"
                               /* of the play that is cut, and so of none */
                               "55" S ",0,2,4" S ",1" S "\n";

static const char fetches[] = "time_ns,player,play,request,asked_ns,first_byte_ns,bytes,reason\n"
                              "9" S ",0,0,1,1" S ",2" S ",1000000,0\n"
                              "4" S ",1,0,1,2" S ",3" S ",1000000,0\n"
                              "45" S ",0,1,2,25" S ",26" S ",250000,0\n";

static const char buffers[] = "time_ns,player,play,state,ready_ns,received_bytes\n"
                              "2" S ",0,0,2,3500000000,90000\n";

static struct run_data data;
static struct windows windows;

static void parse(enum record_kind kind, const char *text)
{
    struct fault f;

    if (table_parse(&data.tables[RUN_RECEIVER][kind], kind, "r", (const uint8_t *)text,
                    strlen(text), &f)) {
        fail_msg("%s", f.text);
    }
}

static int set_up(void **state)
{
    (void)state;
    data = (struct run_data){.info = {.duration = 60 * NS_PER_S}};
    data.info.root = json_loads("{\"path\":{\"impairments\":{\"forward\":{\"event\":"
                                "{\"start_ns\":20000000000,\"stop_ns\":40000000000}}}}}",
                                0, NULL);
    parse(RECORD_PLAY, plays);
    parse(RECORD_STUTTER, stutters);
    parse(RECORD_FETCH, fetches);
    parse(RECORD_BUFFER, buffers);
    windows_init(&windows, &data);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (int k = 0; k < RECORD_KINDS; k++) {
        table_fini(&data.tables[RUN_RECEIVER][k]);
    }
    json_decref(data.info.root);
    return 0;
}

static void is(const struct metric_set *m, const char *metric, enum window_id id, double value)
{
    json_t *v = json_object_get(json_object_get(m->root, metric), window_names[id]);

    if (!json_is_number(v)) {
        fail_msg("%s has no value %s", metric, window_names[id]);
    }
    if (json_number_value(v) < value - 1e-9 * value || json_number_value(v) > value * (1 + 1e-9)) {
        fail_msg("%s %s is %.12g, not %.12g", metric, window_names[id], json_number_value(v),
                 value);
    }
}

static void test_metrics(void **state)
{
    struct metric_set m;

    (void)state;
    assert_true(play_here(&data));
    assert_int_equal(metric_set_init(&m), 0);
    play_put(&data, &windows, &m);
    assert_false(m.failed);
    /* four plays count, three had sound */
    is(&m, "playback_latency_ms_p50", WINDOW_WHOLE, 300);
    is(&m, "playback_latency_ms_p90", WINDOW_WHOLE, 500);
    is(&m, "playback_latency_ms_p50", WINDOW_BEFORE, 100);
    is(&m, "playback_latency_ms_p99", WINDOW_BEFORE, 300);
    is(&m, "playback_latency_ms_p50", WINDOW_DURING, 500);
    is(&m, "download_bandwidth_bps_p50", WINDOW_WHOLE, 1e6);
    is(&m, "download_bandwidth_bps_p10", WINDOW_WHOLE, 1e5);
    is(&m, "download_bandwidth_bps_p01", WINDOW_BEFORE, 1e6);
    is(&m, "stutters_per_track", WINDOW_WHOLE, 3.0 / 4);
    is(&m, "stutter_time_s", WINDOW_WHOLE, 11.0 / 4);
    is(&m, "stutters_per_track", WINDOW_BEFORE, 1.0 / 2);
    /* three were on in the event, one of them clicked before */
    is(&m, "stutters_per_track", WINDOW_DURING, 2.0 / 3);
    is(&m, "stutter_time_s", WINDOW_DURING, 10.0 / 3);
    is(&m, "plays_failed_ratio", WINDOW_WHOLE, 1.0 / 4);
    is(&m, "plays_failed_ratio", WINDOW_DURING, 1.0 / 2);
    /* behind the event nobody clicked but the one that was cut */
    assert_null(json_object_get(json_object_get(m.root, "playback_latency_ms_p50"), "after"));
    assert_null(json_object_get(json_object_get(m.root, "plays_failed_ratio"), "after"));
    is(&m, "stutters_per_track", WINDOW_AFTER, 0);
    metric_set_fini(&m);
}

static double at(const json_t *array, size_t i)
{
    return json_number_value(json_array_get(array, i));
}

static void test_document(void **state)
{
    json_t *doc = play_document(&data, &windows), *whole, *bins;

    (void)state;
    assert_non_null(doc);
    whole = json_object_get(json_object_get(doc, "windows"), "whole");
    assert_int_equal(json_integer_value(json_object_get(whole, "plays")), 4);
    assert_int_equal(json_integer_value(json_object_get(whole, "cut")), 1);
    assert_int_equal(json_integer_value(json_object_get(whole, "failed")), 1);
    assert_int_equal(json_array_size(json_object_get(whole, "latency_ms")), 3);
    assert_int_equal(json_array_size(json_object_get(whole, "bandwidth_bps")), 3);
    assert_true(at(json_object_get(whole, "bandwidth_bps"), 2) == 4e6);
    bins = json_object_get(doc, "bins");
    assert_true(at(json_object_get(bins, "stutters"), 1) == 1);
    assert_true(at(json_object_get(bins, "stutters"), 3) == 1);
    assert_true(at(json_object_get(bins, "bytes"), 0) == 2e6);
    assert_true(at(json_object_get(bins, "download_s"), 0) == 10);
    assert_true(at(json_object_get(bins, "download_s"), 4) == 20);
    json_decref(doc);
}

static void test_validity(void **state)
{
    (void)state;
    assert_false(play_missing(&data));
    assert_int_equal(play_unfinished(&data), 0); /* it was not to end by itself */
    json_object_set_new(data.info.root, "flows",
                        json_pack("{s:{s:i,s:n}}", "play", "players", 2, "duration_ns"));
    assert_false(play_missing(&data));
    assert_int_equal(play_unfinished(&data), 1);
    table_fini(&data.tables[RUN_RECEIVER][RECORD_PLAY]);
    data.tables[RUN_RECEIVER][RECORD_PLAY] = (struct table){0};
    assert_true(play_missing(&data));
    assert_int_equal(play_unfinished(&data), 0);
}

static void test_nobody_listens(void **state)
{
    static const struct run_data none = {.info = {.duration = 60 * NS_PER_S}};
    struct metric_set m;

    (void)state;
    assert_false(play_here(&none));
    assert_int_equal(metric_set_init(&m), 0);
    play_put(&none, &windows, &m);
    assert_int_equal(json_object_size(m.root), 0);
    metric_set_fini(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_metrics, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_document, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_validity, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nobody_listens, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("play", tests, NULL, NULL);
}
