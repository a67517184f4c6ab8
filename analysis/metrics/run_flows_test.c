/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/run_flows.h"

#include "agents/base/err.h"
#include "analysis/ingest/many_run_test.h"
#include "analysis/metrics/call_flow.h"
#include "analysis/metrics/reduce.h"

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

static void reduce_many(struct fixture *x, const char *invalid)
{
    struct fault f = {{0}};

    many_run_write(x->parent, "r-1", invalid);
    if (reduce_run(x->run, &x->doc, &f)) {
        fail_msg("%s", f.text);
    }
}

static double value_in(const json_t *doc, const char *metric)
{
    json_t *v = json_object_get(json_object_get(json_object_get(doc, "metrics"), metric), "whole");

    return json_is_number(v) ? json_number_value(v) : NAN;
}

static void check(const struct fixture *x, const char *metric, double wanted)
{
    double got = value_in(x->doc, metric);

    if (!(fabs(got - wanted) <= 1e-6 * fabs(wanted) + 1e-9)) {
        fail_msg("%s is %.12g, not %.12g", metric, got, wanted);
    }
}

/* The first call's metrics are what they are alone. */
static void test_first_call(void **state)
{
    struct fixture *x = *state;
    json_t *alone = NULL, *windows;
    const char *metric;
    struct fault f;
    size_t n = 0;

    hand_run_write(x->parent, "r-2", "{}", "[]");
    snprintf(x->run, sizeof x->run, "%s/r-2", x->parent);
    assert_int_equal(reduce_run(x->run, &alone, &f), 0);
    snprintf(x->run, sizeof x->run, "%s/r-1", x->parent);
    reduce_many(x, "[]");
    json_object_foreach(json_object_get(alone, "metrics"), metric, windows)
    {
        if (!json_equal(windows, json_object_get(json_object_get(x->doc, "metrics"), metric))) {
            fail_msg("%s differs", metric);
        }
        n++;
    }
    assert_true(n > 50);
    assert_true(json_is_true(json_object_get(x->doc, "valid")));
    json_decref(alone);
}

static void test_call_of_its_own_folder(void **state)
{
    struct fixture *x = *state;
    char path[3 * RUN_FOLDER_PATH_BYTES];
    json_t *own;

    reduce_many(x, "[]");
    check(x, "call2.media_throughput_bps", 399 * 528 * 8 / 10.0);
    check(x, "call2.sending_rate_bps", 400 * 528 * 8 / 10.0);
    check(x, "call2.media_owd_ms_p50", 15);
    check(x, "call2.media_loss_ratio", 1 / 400.);
    check(x, "call2.frame_delay_ms_max", 16);
    /* 4 s of 150 packets, with number 100, which is lost; 6 s */
    check(x, "call2.step0_sending_rate_bps", 150 * 528 * 8 / 4.0);
    check(x, "call2.step1_media_throughput_bps", 250 * 528 * 8 / 6.0);
    check(x, "call2.step0_media_loss_ratio", 1 / 150.);
    check(x, "call2.step1_media_loss_ratio", 0);
    snprintf(path, sizeof path, "%s/call2/metrics.json", x->run);
    own = json_load_file(path, 0, NULL);
    assert_true(value_in(own, "media_owd_ms_p50") == 15);
    json_decref(own);
}

static void test_traffic(void **state)
{
    struct fixture *x = *state;

    reduce_many(x, "[]");
    /* 180 segments and one again, of which one is lost, from 0.5 s to 9.47 s */
    check(x, "tcp.throughput_bps", 180 * 1040 * 8 / 8.97);
    check(x, "tcp.goodput_bps", 180 * 1000 * 8 / 8.97);
    check(x, "tcp.loss_ratio", 1 / 181.);
    check(x, "tcp.reordered_ratio", 0);
    check(x, "tcp.owd_ms_p50", 20);
    check(x, "tcp.sending_rate_bps", 181 * 1040 * 8 / 8.97);
    check(x, "udp.loss_ratio", 0);
    check(x, "udp.step0_throughput_bps", 50 * 1500 * 8 / 5.);
    check(x, "udp.step1_sending_rate_bps", 100 * 1500 * 8 / 5.);
}

/* Forward 1 Mbit/s less UDP's, with the 14 bytes of Ethernet of each packet; backward 300 kbit/s,
 * of which call2 takes 542 bytes each 20 ms. */
static void test_path(void **state)
{
    struct fixture *x = *state;
    json_t *capacity, *table;

    reduce_many(x, "[]");
    capacity = json_object_get(json_object_get(x->doc, "capacity"), "forward");
    assert_int_equal(json_array_size(capacity), 2);
    assert_true(fabs(json_number_value(json_object_get(json_array_get(capacity, 1), "bps")) -
                     (1e6 - 240000 * 1514 / 1500.)) < 1);
    capacity = json_object_get(json_object_get(x->doc, "capacity"), "backward");
    assert_true(json_number_value(json_object_get(json_array_get(capacity, 1), "time_s")) == 4);
    /* call2, acknowledgements of TCP (40 bytes) and of the first call (100), from 4 s to 10 s: 30
     * ms and 10 ms after what they acknowledge */
    check(x, "step1_path_back_utilisation_ratio",
          8 * (250 * 542 + 110 * 54 + 6 * 114) / (300000 * 6.));
    table = json_object_get(x->doc, "flow_table");
    assert_int_equal(json_array_size(table), 4);
    assert_string_equal(json_string_value(json_object_get(json_array_get(table, 1), "name")),
                        "call2");
    assert_true(json_number_value(json_object_get(json_array_get(table, 1), "weight")) == 2);
    assert_string_equal(json_string_value(json_object_get(json_array_get(table, 2), "played_by")),
                        "ngtcp2");
    assert_true(json_number_value(json_object_get(json_array_get(table, 2), "start_s")) == 0.5);
}

/* Its 216.8 kbit/s are in no band of 500 or 300 kbit/s, and nobody else goes that way. */
static void test_joint(void **state)
{
    struct fixture *x = *state;
    struct metric_time never;

    reduce_many(x, "[]");
    assert_true(isnan(value_in(x->doc, "call2.convergence_s")));
    never = metric_time_of(json_object_get(
        json_object_get(json_object_get(x->doc, "metrics"), "call2.convergence_s"), "whole"));
    assert_true(never.never && never.s == 8);
    check(x, "call2.oscillation_count", 0);
    /* no three seconds without something happening somewhere */
    assert_true(isnan(value_in(x->doc, "call2.rate_variation_ratio")));
    assert_true(isnan(value_in(x->doc, "self_fairness_1s_min_ratio")));
    /* from 8 s to 9 s nothing happens: two packets of the call, twenty of TCP */
    check(x, "cross_fairness_1s_min_ratio", 2 * 1060 / (20 * 1040.));
    check(x, "cross_fairness_1s_max_ratio", 2 * 1060 / (20 * 1040.));
}

/* Programs of others, of which the captures alone tell, with tcp and udp beside them: these have
 * their own numbers, and the path, whose use and shares are not known by them, has none. */
static void test_beside_music_by_http(void **state)
{
    struct fixture *x = *state;
    struct fault f = {{0}};

    many_run_write(x->parent, "r-1", "[]");
    many_run_manifest(x->run, x->run,
                      json_pack("{s:s,s:[],s:{s:{s:i}}}", "stack", "play-http", "calls", "flows",
                                "play", "players", 1));
    if (reduce_run(x->run, &x->doc, &f)) {
        fail_msg("%s", f.text);
    }
    check(x, "tcp.loss_ratio", 1 / 181.);
    check(x, "tcp.owd_ms_p50", 20);
    check(x, "tcp.goodput_bps", 180 * 1000 * 8 / (8.95 + 0.02));
    check(x, "udp.loss_ratio", 0);
    check(x, "udp.step1_sending_rate_bps", 1500 * 8 / 0.05);
    assert_int_equal(json_array_size(json_object_get(x->doc, "flow_table")), 2);
    assert_true(isnan(value_in(x->doc, "path_utilisation_ratio")));
    assert_true(isnan(value_in(x->doc, "cross_fairness_1s_min_ratio")));
    assert_true(isnan(value_in(x->doc, "sending_rate_bps")));
    /* the run's own are those of all packets, as without them */
    assert_true(value_in(x->doc, "traffic_goodput_bps") > 0);
}

/* further: of the bottleneck behind the first; NULL: nothing was measured of it. */
static void put_certificate(const struct fixture *x, const char *further)
{
    char path[3 * RUN_FOLDER_PATH_BYTES];
    FILE *out;

    snprintf(path, sizeof path, "%s/certificate.json", x->run);
    out = fopen(path, "we");
    assert_non_null(out);
    fprintf(out,
            "{\"state\":\"held\",\"forward\":{\"measured\":{\"delay_p50_ns\":4000000}},"
            "\"backward\":{\"measured\":{\"delay_p50_ns\":5000000}}%s%s}",
            further ? ",\"bottlenecks\":" : "", further ? further : "");
    fclose(out);
}

/* A call may cross bottlenecks behind the first, or not that one. Of those behind the certificate
 * may tell, too. */
static void test_empty_path(void **state)
{
    struct fixture *x = *state;
    char path[3 * RUN_FOLDER_PATH_BYTES];
    struct fault f;

    many_run_write(x->parent, "r-1", "[]");
    put_certificate(x, NULL);
    many_run_manifest(x->run, x->run,
                      json_pack("{s:[{s:i,s:i}],s:{s:i,s:i},s:i}", "bottlenecks", "rate_bps",
                                2000000, "delay_ns", 3000000, "segments", "first", 0, "last", 1,
                                "extra_delay_ns", 500000));
    snprintf(path, sizeof path, "%s/call2", x->run);
    many_run_manifest(path, path, json_pack("{s:i}", "extra_delay_ns", 2000000));
    assert_int_equal(reduce_run(x->run, &x->doc, &f), 0);
    check(x, "unloaded_owd_ms", 4 + 3 + 0.5);
    check(x, "call2.unloaded_owd_ms", 5 + 2);
    check(x, "call2.queue_delay_ms_p50", 15 - 7);
    json_decref(x->doc);
    many_run_manifest(path, path, json_pack("{s:{s:i,s:i}}", "segments", "first", 1, "last", 1));
    assert_int_equal(reduce_run(x->run, &x->doc, &f), 0);
    check(x, "call2.unloaded_owd_ms", 3 + 2);
    json_decref(x->doc);
    put_certificate(x, "[{\"forward\":{\"measured\":{\"delay_p50_ns\":3100000}},"
                       "\"backward\":{\"measured\":{\"delay_p50_ns\":3200000}}}]");
    assert_int_equal(reduce_run(x->run, &x->doc, &f), 0);
    check(x, "unloaded_owd_ms", 4 + 3.1 + 0.5);
    check(x, "call2.unloaded_owd_ms", 3.2 + 2);
}

static void test_series(void **state)
{
    struct fixture *x = *state;
    char path[3 * RUN_FOLDER_PATH_BYTES], line[200];
    size_t rows = 0;
    FILE *f;

    reduce_many(x, "[]");
    snprintf(path, sizeof path, "%s/series.flows.csv", x->run);
    f = fopen(path, "re");
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f));
    assert_string_equal(line, "t_s,flow,sending_bps,receiving_bps,goodput_bps,loss_ratio,delay_ms,"
                              "fair_bps\n");
    while (fgets(line, sizeof line, f)) {
        /* ten packets in 200 ms, all of which arrived; alone on 500 kbit/s */
        if (strncmp(line, "2.5,call2,", 10) == 0) {
            assert_string_equal(line, "2.5,call2,211200,211200,192000,0.000000,15.000,500000\n");
        }
        rows++;
    }
    fclose(f);
    assert_int_equal(rows, 4 * 50);
}

static void test_invalid_call(void **state)
{
    struct fixture *x = *state;
    json_t *reason;

    reduce_many(x, "[{\"reason\":\"driver-late\",\"count\":1,\"detail\":\"late\"}]");
    assert_true(json_is_false(json_object_get(x->doc, "valid")));
    reason = json_array_get(json_object_get(x->doc, "invalid"), 0);
    assert_string_equal(json_string_value(json_object_get(reason, "reason")), "driver-late");
    assert_string_equal(json_string_value(json_object_get(reason, "detail")), "call2: late");
}

/* A run whose manifest is changed after it was written is refused, with the place. */
static void refused(struct fixture *x, const char *added, const char *what)
{
    struct fault f = {{0}};

    many_run_write(x->parent, "r-1", "[]");
    many_run_manifest(x->run, x->run, json_loads(added, 0, NULL));
    assert_int_equal(reduce_run(x->run, &x->doc, &f), ERR_MALFORMED);
    if (!strstr(f.text, what)) {
        fail_msg("\"%s\" lacks \"%s\"", f.text, what);
    }
    run_folder_remove(x->run);
}

static void test_refusals(void **state)
{
    struct fixture *x = *state;

    refused(x, "{\"traffic\":[{\"name\":\"tcp\",\"kind\":\"quic\",\"ports\":[1]}]}", "entry 1");
    refused(x, "{\"traffic\":[{\"name\":\"tcp\",\"kind\":\"tcp\",\"ports\":[]}]}", "entry 1");
    refused(x, "{\"traffic\":[{\"name\":\"tcp\",\"kind\":\"tcp\",\"ports\":[70000]}]}", "entry 1");
    refused(x,
            "{\"traffic\":[{\"name\":\"udp\",\"kind\":\"udp\",\"ports\":[1],\"rates\":"
            "[{\"time_ns\":5,\"rate_bps\":1}]}]}",
            "begins at 0");
}

/* Data or music alone: there from its first packet to its last. */
static void test_a_flow_without_media(void **state)
{
    const struct run_packet packets[2] = {
        {.sent = NS_PER_S, .received = 2 * NS_PER_S, .ip_bytes = 1000},
        {.sent = 5 * NS_PER_S, .received = 6 * NS_PER_S, .ip_bytes = 1000}};
    struct run_data d = {
        .info = {.root = json_object(), .stack = "quic"},
        .forward = {.count = 2, .arrived = 2, .first_sent = NS_PER_S, .last_sent = 5 * NS_PER_S}};
    struct delays delays = {0};
    struct call_flow call;
    struct flow_set set;
    const struct path_flow *f;

    (void)state;
    assert_int_equal(flow_set_init(&set, 10 * NS_PER_S), 0);
    assert_int_equal(call_flow_init(&call, &set, "call1", &d, &delays), 0);
    call_flow_packet(&call, false, &packets[0]);
    call_flow_packet(&call, false, &packets[1]);
    assert_int_equal(call_flow_finish(&call), 0);
    assert_int_equal(set.count, 1);
    f = &set.flows[0];
    assert_string_equal(f->name, "call1");
    assert_true(f->start == NS_PER_S && f->stop == 5 * NS_PER_S);
    call_flow_fini(&call);
    flow_set_fini(&set);
    json_decref(d.info.root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_first_call, setup, teardown),
        cmocka_unit_test_setup_teardown(test_call_of_its_own_folder, setup, teardown),
        cmocka_unit_test_setup_teardown(test_traffic, setup, teardown),
        cmocka_unit_test_setup_teardown(test_path, setup, teardown),
        cmocka_unit_test_setup_teardown(test_joint, setup, teardown),
        cmocka_unit_test_setup_teardown(test_empty_path, setup, teardown),
        cmocka_unit_test_setup_teardown(test_series, setup, teardown),
        cmocka_unit_test_setup_teardown(test_invalid_call, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refusals, setup, teardown),
        cmocka_unit_test(test_a_flow_without_media),
        cmocka_unit_test_setup_teardown(test_beside_music_by_http, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
