/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/reduce.h"

#include "agents/base/err.h"
#include "analysis/ingest/hand_run_test.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct fixture {
    char parent[RUN_FOLDER_PATH_BYTES];
    char run[2 * RUN_FOLDER_PATH_BYTES];
    json_t *doc;
};

static int setup(void **state)
{
    struct fixture *x = calloc(1, sizeof *x);

    run_folder_temporary(x->parent);
    snprintf(x->run, sizeof x->run, "%s/r-1", x->parent);
    *state = x;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *x = *state;

    run_folder_remove(x->parent);
    json_decref(x->doc);
    free(x);
    return 0;
}

static void reduce_hand_run(struct fixture *x)
{
    struct fault f = {{0}};

    hand_run_write(x->parent, "r-1", "{}", "[]");
    assert_int_equal(reduce_run(x->run, &x->doc, &f), 0);
    assert_string_equal(f.text, "");
}

static double value(const struct fixture *x, const char *metric, const char *window)
{
    json_t *v =
        json_object_get(json_object_get(json_object_get(x->doc, "metrics"), metric), window);

    return json_is_number(v) ? json_number_value(v) : NAN;
}

static void check_value(const struct fixture *x, const char *metric, const char *window,
                        double wanted)
{
    double got = value(x, metric, window);

    if (!(fabs(got - wanted) <= 1e-9 * fabs(wanted) + 1e-12)) {
        fail_msg("%s %s is %.12g, not %.12g", metric, window, got, wanted);
    }
}

#define expects(metric, window, wanted) check_value(x, metric, window, wanted)
#define expects_nothing(metric, window) assert_true(isnan(value(x, metric, window)))

static void test_rates(void **state)
{
    struct fixture *x = *state;

    reduce_hand_run(x);
    /* 18 of 20 media packets of 1060 bytes arrive in 10 s. */
    expects("media_throughput_bps", "whole", 18 * 1060 * 8 / 10.0);
    /* Arrivals within [2, 6): 4 to 11 without 7; 5 arrives at 3.015. */
    expects("media_throughput_bps", "during", 7 * 1060 * 8 / 4.0);
    expects("media_throughput_bps", "before", 4 * 1060 * 8 / 2.0);
    /* 12 to 18: seven. */
    expects("media_throughput_bps", "after", 7 * 1060 * 8 / 4.0);
    expects("media_goodput_bps", "whole", 18 * 1000 * 8 / 10.0);
    expects("link_utilisation_ratio", "during", (7 * 1074 + 100 * 1072) * 8 / (4 * 1e6));
    expects("feedback_overhead_ratio", "whole", 10 * 100 / (20 * 1060.0 + 100 * 1058));
    expects("media_after_1s_bps", "after", 2 * 1060 * 8.0);
    expects("media_after_4s_bps", "after", 1 * 1060 * 8.0);
    expects_nothing("media_after_5s_bps", "after");
    assert_int_equal(json_array_size(json_object_get(x->doc, "media_after_bps")), 4);
}

static void test_targets_are_weighted_by_time(void **state)
{
    struct fixture *x = *state;

    reduce_hand_run(x);
    expects("target_rate_bps_mean", "whole", (8 * 4e5 + 2 * 9e5) / 10);
    expects("target_rate_bps_p50", "whole", 4e5);
    expects("target_rate_bps_p95", "whole", 9e5);
    expects("target_rate_bps_mean", "during", 4e5);
    expects("target_rate_bps_max", "during", 4e5);
    expects("target_rate_bps_mean", "after", (2 * 4e5 + 2 * 9e5) / 4);
    expects("ramp_up_s", "whole", 8);
}

static void test_delays(void **state)
{
    struct fixture *x = *state;

    reduce_hand_run(x);
    /* i mod 4 of those that arrive, without 5: 0 five times (0 4 8 12 16), 1 four (1 9 13 17), 2
     * five (2 6 10 14 18), 3 three (3 11 15); and 515 ms for 5. */
    expects("media_owd_ms_mean", "whole", (5 * 10 + 4 * 11 + 5 * 12 + 3 * 13 + 515) / 18.0);
    expects("media_owd_ms_p50", "whole", 11);  /* ninth of eighteen */
    expects("media_owd_ms_p95", "whole", 515); /* ceil(17.1) = eighteenth */
    expects("media_owd_ms_max", "before", 13);
    expects("media_pdv_ms_p50", "whole", 1);
    expects("media_pdv_ms_max", "whole", 505);
    expects("media_app_owd_ms_max", "before", 13 + 2 + 1);
    /* Even packets wait 2 ms with no spread; odd ones 1 ms and 1 ms of spread. */
    expects("media_sender_queue_ms_mean", "whole", 1.5);
    expects("media_sender_queue_ms_max", "whole", 2);
    expects("media_frame_spread_ms_mean", "whole", 0.5);
    expects("queue_delay_ms_max", "whole", 505);
    expects("queue_delay_ms_p50", "during", 0); /* the data packets */
    expects("rtt_ms_mean", "whole", 25);
    expects("rtt_ms_sd", "whole", sqrt(50));
    expects("rtt_ms_max", "before", 20);
    expects_nothing("rtt_ms_sd", "before");
    expects_nothing("rtt_ms_mean", "after");
}

static void test_jitter(void **state)
{
    struct fixture *x = *state;
    /* |D| of packets 0 1 2 3 4 6 5: the spacing is that of the timestamps but for the delays;
     * then 5 after 6: delays 12 and 515. */
    const double d[] = {1, 1, 1, 3, 2, 503};
    double j = 0;

    reduce_hand_run(x);
    for (size_t i = 0; i < 3; i++) {
        j += (d[i] - j) / 16;
    }
    expects("media_jitter_ms_max", "before", j);
    for (size_t i = 3; i < 6; i++) {
        j += (d[i] - j) / 16;
    }
    /* Then 8 (10 ms, after 515): 505, and it only falls from there. */
    j += (505 - j) / 16;
    expects("media_jitter_ms_max", "during", j);
}

static void test_quality(void **state)
{
    struct fixture *x = *state;

    reduce_hand_run(x);
    /* 18 packets are sent before 9 s; of them only 7 is lost. The wrap, the duplicate, the late one
     * and the one of the last second are no losses. */
    expects("media_loss_ratio", "whole", 1 / 18.0);
    expects("media_loss_ratio", "during", 1 / 8.0);
    expects("media_loss_ratio", "before", 0.0);
    expects("media_late_ratio", "whole", 2 / 9.0);
    expects("media_late_ratio", "during", 2 / 4.0);
    expects("media_freeze_s", "during", 0.25);
    expects("media_freeze_s", "after", 0.0);
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(x->doc, "counts"), "rtp_duplicates")),
        1);
}

static void test_transfer(void **state)
{
    struct fixture *x = *state;

    reduce_hand_run(x);
    expects("file_time_s", "whole", 4);
    /* ideal: 800,000 bit x 1072 / 1000 / 500,000 bit/s = 1.7152 s */
    expects("file_time_ratio", "whole", 4 / 1.7152);
    expects("file_goodput_bps", "during", 200000);
    expects("setup_time_ms", "whole", 21);
    assert_true(json_is_true(json_object_get(x->doc, "valid")));
    assert_int_equal(json_array_size(json_object_get(x->doc, "invalid")), 0);
}

/* The file has 0.5 of the rate for a second, then all that is not media's: 0.9, then 0.2. */
static void test_ideal_follows_the_share(void **state)
{
    struct fixture *x = *state;
    struct run_folder r = {0};
    struct fault f = {{0}};
    json_t *steps;

    hand_run_write(x->parent, "r-1", "{}", "[]");
    snprintf(r.dir, sizeof r.dir, "%.500s/r-1", x->parent);
    run_folder_text(&r, "sender.event.csv",
                    "name,time_ns,value\nhandshake-complete,21000000,0\n"
                    "step-share-ppm,1000000000,900000\nstep-share-ppm,1500000000,500000\n"
                    "step-media.min-rate,2500000000,1000\nstep-share-ppm,3000000000,900000\n"
                    "step-share-ppm,4000000000,200000\nstep-share-ppm,9000000000,999999\n");
    assert_int_equal(reduce_run(x->run, &x->doc, &f), 0);
    /* 857,600 bit from 2 s on: 500,000 by 3 s, 100,000 by 4 s, the rest at 800,000 bit/s */
    expects("file_time_ratio", "whole", 4 / (2 + 257600 / 8e5));
    steps = json_object_get(x->doc, "steps");
    assert_int_equal(json_array_size(steps), 6);
    assert_string_equal(json_string_value(json_object_get(json_array_get(steps, 2), "key")),
                        "media.min-rate");
    assert_int_equal(json_integer_value(json_object_get(json_array_get(steps, 2), "value")), 1000);
}

/* 1 Mbit/s, which becomes 2 Mbit/s a second after the transfer has begun. */
static void test_the_link_rate_changes(void **state)
{
    static const char header[] = "time_ns,rate_bps,queue_bytes,begin_ns,end_ns\n";
    struct fixture *x = *state;
    struct run_folder r = {0};
    struct fault f = {{0}};
    json_t *rates;
    char text[200];

    hand_run_write(x->parent, "r-1", "{}", "[]");
    snprintf(r.dir, sizeof r.dir, "%.500s/r-1", x->parent);
    snprintf(text, sizeof text, "%s3000000000,2000000,75000,3000000100,3000000200\n", header);
    run_folder_text(&r, "testbed.capacity.csv", text);
    assert_int_equal(reduce_run(x->run, &x->doc, &f), 0);
    expects("link_utilisation_ratio", "during", (7 * 1074 + 100 * 1072) * 8 / (1e6 + 3 * 2e6));
    /* 857,600 bit from 2 s on: 500,000 by 3 s, the rest at 1 Mbit/s */
    expects("file_time_ratio", "whole", 4 / 1.3576);
    rates = json_object_get(x->doc, "link_rate");
    assert_int_equal(json_array_size(rates), 2);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(rates, 0), "bps")), 1000000);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(rates, 1), "bps")), 2000000);

    snprintf(text, sizeof text, "%s3000000000,2000000,1,2,3\n3000000000,1000000,1,2,3\n", header);
    run_folder_text(&r, "testbed.capacity.csv", text);
    assert_int_equal(reduce_run(x->run, NULL, &f), ERR_MALFORMED);
    assert_non_null(strstr(f.text, "testbed.capacity.csv:3: time_ns does not ascend"));
}

static void test_shared_packet_is_split_by_frame_bytes(void **state)
{
    struct fixture *x = *state;
    struct fault f;
    struct run_folder r;
    struct run_folder_packet p = {.number = 1,
                                  .udp_bytes = 1172,
                                  .rtp_bytes = 300,
                                  .data_bytes = 600,
                                  .padding_bytes = 100,
                                  .sent = NS_PER_S,
                                  .received = 2 * NS_PER_S};

    run_folder_open(&r, x->parent, "r-1");
    run_folder_packet(&r, false, &p);
    record_put(run_folder_tx(&r), RECORD_RTP_SENT, NS_PER_S, NS_PER_S, 2, 5, 9000, 290, 1, 300, 1,
               0, 0);
    record_put(run_folder_rx(&r), RECORD_RTP_RECEIVED, 2 * NS_PER_S, 2 * NS_PER_S, 2, 5, 9000, 290,
               1);
    run_folder_manifest(&r, "r-1", "{}", "[]", 4 * NS_PER_S);
    run_folder_close(&r);
    assert_int_equal(reduce_run(x->run, &x->doc, &f), 0);
    expects("media_throughput_bps", "whole", 1200 * 0.3 * 8 / 4);
    expects("media_sender_queue_ms_max", "whole", 0.0);
    expects_nothing("media_throughput_bps", "during");
    expects_nothing("file_time_s", "whole");
    assert_false(json_is_true(json_object_get(x->doc, "valid")));
}

static bool gives_reason(const struct fixture *x, const char *reason)
{
    json_t *one;
    size_t i;

    json_array_foreach(json_object_get(x->doc, "invalid"), i, one)
    {
        if (strcmp(json_string_value(json_object_get(one, "reason")), reason) == 0) {
            return true;
        }
    }
    return false;
}

/* Faults of captures and records that the run itself cannot see. */
static void test_reasons(void **state)
{
    struct fixture *x = *state;
    struct fault f;
    struct run_folder r;
    struct run_folder_packet early = {.number = 1,
                                      .udp_bytes = 1472 + 28,
                                      .rtp_bytes = 1000,
                                      .sent = NS_PER_S,
                                      .received = NS_PER_S - 1};

    run_folder_open(&r, x->parent, "r-1");
    run_folder_packet(&r, false, &early);
    record_put(run_folder_tx(&r), RECORD_PACKET_SENT, 5, 2, 1000, 0, 0, 0, 12345);
    record_put(run_folder_tx(&r), RECORD_RTP_SENT, 5, 5, 2, 1, 1, 1000, 2, 1000, 1, 0, 0);
    record_put(run_folder_rx(&r), RECORD_RTP_RECEIVED, 6, 6, 2, 77, 1, 1000, 2);
    record_put(run_folder_rx(&r), RECORD_FILE, 7, 0, 1, 100000, 1, 0);
    run_folder_manifest(&r, "r-1", "{}",
                        "[{\"reason\":\"agent-exit\",\"count\":1,\"detail\":\"\"}]", 3 * NS_PER_S);
    run_folder_close(&r);
    assert_int_equal(reduce_run(x->run, &x->doc, &f), 0);
    assert_true(gives_reason(x, "agent-exit"));
    assert_true(gives_reason(x, "negative-owd"));
    assert_true(gives_reason(x, "oversized-packet"));
    assert_true(gives_reason(x, "capture-incomplete"));
    assert_true(gives_reason(x, "media-missing"));
    assert_true(gives_reason(x, "media-unknown"));
    assert_true(gives_reason(x, "file-corrupt"));
    assert_false(gives_reason(x, "file-unfinished"));
    assert_false(gives_reason(x, "clock-step"));
}

/* A run that died at once: captures without packets, no records. */
static void test_empty_run(void **state)
{
    struct fixture *x = *state;
    struct fault f;
    struct run_folder r;

    run_folder_open(&r, x->parent, "r-1");
    run_folder_manifest(&r, "r-1", "{}",
                        "[{\"reason\":\"agent-exit\",\"count\":1,\"detail\":\"\"}]", NS_PER_S);
    run_folder_close(&r);
    assert_int_equal(reduce_run(x->run, &x->doc, &f), 0);
    assert_true(gives_reason(x, "media-missing"));
    assert_true(gives_reason(x, "file-unfinished"));
    expects("media_throughput_bps", "whole", 0.0);
    expects_nothing("media_owd_ms_mean", "whole");
    expects_nothing("media_loss_ratio", "whole");
}

static void refuses(struct fixture *x, int code, const char *file, const char *what)
{
    struct fault f;

    assert_int_equal(reduce_run(x->run, &x->doc, &f), code);
    if (!strstr(f.text, file) || !strstr(f.text, what)) {
        fail_msg("\"%s\" lacks \"%s\" or \"%s\"", f.text, file, what);
    }
}

static void test_missing_and_broken_files(void **state)
{
    static const char *const missing[] = {"manifest.json", "sender.pcap", "receiver.pcap"};
    static const char *const needed[] = {"sender.packet_sent.csv", "receiver.packet_received.csv",
                                         "sender.rtp_sent.csv"};
    struct fixture *x = *state;
    struct run_folder r;
    char path[4 * RUN_FOLDER_PATH_BYTES];

    for (size_t i = 0; i < 3; i++) {
        hand_run_write(x->parent, "r-1", "{}", "[]");
        snprintf(path, sizeof path, "%s/%s", x->run, missing[i]);
        unlink(path);
        refuses(x, ERR_OS, missing[i], "No such file");
        hand_run_write(x->parent, "r-1", "{}", "[]");
        snprintf(path, sizeof path, "%s/%s", x->run, needed[i]);
        unlink(path);
        refuses(x, ERR_MALFORMED, needed[i], "missing");
    }
    hand_run_write(x->parent, "r-1", "{}", "[]");
    snprintf(r.dir, sizeof r.dir, "%.500s/r-1", x->parent);
    run_folder_text(&r, "sender.rtt.csv", "time_ns,latest_ns,smoothed_ns\n1,2,3\n1,x,3\n");
    refuses(x, ERR_MALFORMED, "sender.rtt.csv:3:3", "whole number");
    hand_run_write(x->parent, "r-1", "{}", "[]");
    snprintf(path, sizeof path, "%s/receiver.pcap", x->run);
    assert_int_equal(truncate(path, 24 + 16 + 1074 + 16 + 500), 0);
    refuses(x, ERR_MALFORMED, "receiver.pcap", "after packet 1, by byte 1630");
    run_folder_text(&r, "manifest.json", "{\"schema\":1");
    refuses(x, ERR_MALFORMED, "manifest.json", ":1:");
    /* Nothing was ever written over: the results of the last good reduction are still none. */
    snprintf(path, sizeof path, "%s/metrics.json", x->run);
    assert_int_equal(access(path, F_OK), -1);
}

/* Players that are cut before they ask for anything leave no packets, which is told as such. */
static void test_players_cut_at_once(void **state)
{
    static const char *const none[] = {"sender.packet_sent.csv", "receiver.packet_received.csv",
                                       "sender.rtp_sent.csv", "receiver.rtp_received.csv"};
    struct fixture *x = *state;
    char path[4 * RUN_FOLDER_PATH_BYTES], *text;
    struct fault f;
    json_t *manifest;

    hand_run_write(x->parent, "r-1", "{}", "[]");
    snprintf(path, sizeof path, "%s/manifest.json", x->run);
    manifest = json_load_file(path, 0, NULL);
    assert_non_null(manifest);
    json_object_set_new(manifest, "stack", json_string("play-quic"));
    json_object_set_new(manifest, "flows",
                        json_pack("{s:{s:i,s:i}}", "play", "players", 1, "count", 1));
    json_dump_file(manifest, path, 0);
    json_decref(manifest);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        snprintf(path, sizeof path, "%s/%s", x->run, none[i]);
        unlink(path);
    }
    if (reduce_run(x->run, &x->doc, &f)) {
        fail_msg("%s", f.text);
    }
    text = json_dumps(json_object_get(x->doc, "invalid"), 0);
    assert_non_null(text);
    assert_non_null(strstr(text, "plays-missing"));
    free(text);
}

#define AGENT_EXIT "[{\"reason\":\"agent-exit\",\"count\":1,\"detail\":\"\"}]"
#define RECORDS_BYTES_MAX 65536

static int reduce_again(struct fixture *x, struct fault *f)
{
    json_decref(x->doc);
    x->doc = NULL;
    return reduce_run(x->run, &x->doc, f);
}

/* Puts the first len bytes of text into a file of the run. */
static void put_file(const char *path, const char *text, size_t len)
{
    FILE *f = fopen(path, "we");

    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
}

/* A file of records cut at every place of its last line, or of all of it when it is only a header.
 * Whether the reduction must do without that line, or must refuse the file, is the manifest's word.
 */
static void cut_everywhere(struct fixture *x, const char *file, bool invalid)
{
    char path[4 * RUN_FOLDER_PATH_BYTES], text[RECORDS_BYTES_MAX];
    size_t len, start;
    struct fault f;
    FILE *in;

    snprintf(path, sizeof path, "%s/%s", x->run, file);
    in = fopen(path, "re");
    assert_non_null(in);
    len = fread(text, 1, sizeof text, in);
    fclose(in);
    assert_true(len > 1 && len < sizeof text && text[len - 1] == '\n');
    for (start = len - 1; start > 0 && text[start - 1] != '\n'; start--) {
    }
    for (size_t cut = start + 1; cut < len; cut++) {
        put_file(path, text, cut);
        if (invalid) {
            assert_int_equal(reduce_again(x, &f), 0);
            assert_true(gives_reason(x, "records-truncated"));
        } else {
            assert_int_equal(reduce_again(x, &f), ERR_MALFORMED);
            assert_non_null(strstr(f.text, file));
            assert_non_null(strstr(f.text, "cut off within a line"));
        }
    }
    /* the header, down to nothing: what a buffer leaves of an agent that died early */
    for (size_t cut = 0; invalid && text[cut] != '\n'; cut++) {
        put_file(path, text, cut);
        assert_int_equal(reduce_again(x, &f), 0);
        assert_true(gives_reason(x, "records-truncated"));
    }
    put_file(path, text, len);
    assert_int_equal(reduce_again(x, &f), 0);
    assert_false(gives_reason(x, "records-truncated"));
}

static void test_truncated_records(void **state)
{
    static const char *const files[] = {"sender.packet_sent.csv",
                                        "sender.rtp_sent.csv",
                                        "sender.rate.csv",
                                        "sender.rtt.csv",
                                        "sender.file.csv",
                                        "sender.event.csv",
                                        "receiver.packet_received.csv",
                                        "receiver.rtp_received.csv",
                                        "receiver.frame_received.csv",
                                        "receiver.freeze.csv",
                                        "receiver.message_received.csv",
                                        "receiver.file.csv"};
    struct fixture *x = *state;
    struct run_folder r = {0};

    for (int invalid = 0; invalid < 2; invalid++) {
        hand_run_write(x->parent, "r-1", "{}", invalid ? AGENT_EXIT : "[]");
        snprintf(r.dir, sizeof r.dir, "%.500s/r-1", x->parent);
        run_folder_text(&r, "receiver.message_received.csv",
                        "time_ns,channel,message,bytes\n3000000000,0,0,65536\n");
        for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
            cut_everywhere(x, files[i], invalid);
        }
    }
}

/* Not at the end of the file, and not a beginning of a row: an error in an invalid run as well. */
static void test_damaged_records_stay_an_error(void **state)
{
    struct fixture *x = *state;
    struct run_folder r = {0};

    hand_run_write(x->parent, "r-1", "{}", AGENT_EXIT);
    snprintf(r.dir, sizeof r.dir, "%.500s/r-1", x->parent);
    run_folder_text(&r, "sender.rtt.csv", "time_ns,latest_ns,smoothed_ns\n1,2\n1,2,3\n");
    refuses(x, ERR_MALFORMED, "sender.rtt.csv:2:4", "expected ','");
    run_folder_text(&r, "sender.rtt.csv", "time_ns,latest_ns,smoothed_ns\n1,2,3\n1,x");
    refuses(x, ERR_MALFORMED, "sender.rtt.csv:3:1", "cut off within a line");
    run_folder_text(&r, "sender.rtt.csv", "time_ns,slatest");
    refuses(x, ERR_MALFORMED, "sender.rtt.csv:1:9", "header");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_rates),
        TEST(test_targets_are_weighted_by_time),
        TEST(test_delays),
        TEST(test_jitter),
        TEST(test_quality),
        TEST(test_transfer),
        TEST(test_ideal_follows_the_share),
        TEST(test_the_link_rate_changes),
        TEST(test_shared_packet_is_split_by_frame_bytes),
        TEST(test_reasons),
        TEST(test_empty_run),
        TEST(test_missing_and_broken_files),
        TEST(test_players_cut_at_once),
        TEST(test_truncated_records),
        TEST(test_damaged_records_stay_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
