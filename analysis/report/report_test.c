/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/report.h"

#include "agents/base/err.h"
#include "analysis/report/catalogue.h"
#include "analysis/report/figures.h"
#include "analysis/report/plan.h"
#include "analysis/report/summary.h"
#include "analysis/report/terminal.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "analysis/report/report_folder_test.h"

static void test_report_is_whole(void **state)
{
    static const char *const figures[] = {"plots/a-1-rates.svg",     "plots/a-1-delay.svg",
                                          "plots/a-1-cdf.svg",       "plots/a-1-sender_queue.svg",
                                          "plots/a-1-recovery.svg",  "plots/compare_media.svg",
                                          "plots/compare_delay.svg", "plots/compare_file.svg"};
    struct report_folder *x = *state;
    struct fault f = {{0}};
    char *html;

    hand_run_write(x->dir, "a-1", "{\"stack\":\"quic\"}", "[]");
    hand_run_write(x->dir, "b-1", "{\"name\":\"it's <b> & \\\"c\\\", _d_\"}", "[]");
    report_folder_add(x, "c-1", "webrtc", 25, false);
    if (system("command -v gnuplot >/dev/null 2>&1")) {
        print_message("skipped: no gnuplot here\n");
        skip();
    }
    if (report_folder_make(x, false, REPORT_FOLDER_TEMPLATES, &f) != 1) {
        fail_msg("%s", f.text);
    }
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        char *svg = report_folder_contents(x, figures[i]);

        report_folder_contains(svg, "</svg>");
        free(svg);
        report_folder_well_formed(x, figures[i]);
        report_folder_has_pdf_and_data(x, figures[i]);
    }
    report_folder_well_formed(x, "report.html");
    html = report_folder_contents(x, "report.html");
    report_folder_contains(html, "it's &lt;b&gt; &amp; &quot;c&quot;");
    report_folder_contains(html, "a &lt; b &amp; c");
    report_folder_contains(html, "1 of 3 runs invalid");
    report_folder_contains(html, "data:image/svg+xml;base64,");
    report_folder_contains(html, "<td>4.00</td>"); /* file time */
    for (size_t i = 0; i < catalogue_count; i++) {
        report_folder_contains(html, catalogue[i].metric);
    }
    assert_null(strstr(html, "src=\"http"));
    free(html);
}

/* What a reader must know of a rate control stands where its runs do. */
static void test_report_of_prototype(void **state)
{
    struct report_folder *x = *state;
    struct plan_results p;
    struct fault f;
    json_t *manifest, *summary;
    char path[2 * RUN_FOLDER_PATH_BYTES], *html, *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    assert_non_null(out);
    hand_run_write(x->dir, "a-1", "{\"preset\":\"prototype\"}", "[]");
    snprintf(path, sizeof path, "%s/a-1/manifest.json", x->dir);
    manifest = json_load_file(path, 0, NULL);
    json_object_set_new(manifest, "preset", json_string("prototype"));
    json_dump_file(manifest, path, 0);
    json_decref(manifest);
    assert_int_equal(plan_results_load(&p, x->dir, true, &f), 0);
    summary = summary_new(&p);
    terminal_print(out, &p, summary);
    fclose(out);
    report_folder_contains(text, "prototype: a source that sends less");
    assert_string_equal(json_string_value(json_object_get(p.cells[0].params, "preset")),
                        "prototype");
    json_decref(summary);
    plan_results_fini(&p);
    free(text);
    if (system("command -v gnuplot >/dev/null 2>&1")) {
        print_message("skipped: no gnuplot here\n");
        skip();
    }
    if (report_folder_make(x, false, REPORT_FOLDER_TEMPLATES, &f) < 0) {
        fail_msg("%s", f.text);
    }
    html = report_folder_contents(x, "report.html");
    report_folder_contains(html, "rate control <b>prototype</b>");
    report_folder_contains(html, "a source that sends less");
    free(html);
    report_folder_well_formed(x, "report.html");
}

/* A cell's line says what becomes of packets in the queue, and who is there. */
static void test_discipline_and_players(void **state)
{
    struct report_folder *x = *state;
    struct fault f;
    struct plan_results p;
    json_t *manifest, *summary;
    char path[2 * RUN_FOLDER_PATH_BYTES], *html;

    hand_run_write(x->dir, "a-1", "{}", "[]");
    snprintf(path, sizeof path, "%s/a-1/manifest.json", x->dir);
    manifest = json_load_file(path, 0, NULL);
    assert_non_null(manifest);
    json_object_set_new(json_object_get(manifest, "path"), "aqm",
                        json_pack("{s:s,s:b}", "kind", "codel", "ecn", 1));
    json_object_set_new(json_object_get(manifest, "flows"), "play",
                        json_pack("{s:i}", "players", 2));
    json_object_set_new(manifest, "bottlenecks",
                        json_pack("[{s:i,s:i}]", "rate_bps", 8000000, "delay_ns", 20000000));
    json_dump_file(manifest, path, 0);
    json_decref(manifest);
    if (report_folder_make(x, false, NULL, &f) < 0) {
        fail_msg("%s", f.text);
    }
    html = report_folder_contents(x, "report.html");
    report_folder_contains(html, ") under codel, which marks");
    report_folder_contains(html, ", behind it one of 8 Mbit/s and 20 ms");
    report_folder_contains(html, "; 2 music players");
    free(html);
    assert_int_equal(plan_results_load(&p, x->dir, true, &f), 0);
    summary = summary_new(&p);
    assert_false(figures_wanted(&p, summary, FIGURE_RATES, 0));
    json_decref(summary);
    plan_results_fini(&p);
}

/* A run that died at once, a path without a rate: still a report, with what there is to draw. */
static void test_report_of_little(void **state)
{
    struct report_folder *x = *state;
    struct run_folder r;
    struct fault f;
    json_t *manifest;
    char path[2 * RUN_FOLDER_PATH_BYTES], *html;

    run_folder_open(&r, x->dir, "a-1");
    run_folder_manifest(&r, "a-1", "{\"stack\":\"quic\"}",
                        "[{\"reason\":\"agent-exit\",\"count\":1,\"detail\":\"\"}]", NS_PER_S);
    run_folder_close(&r);
    hand_run_write(x->dir, "b-1", "{\"stack\":\"other\"}", "[]");
    snprintf(path, sizeof path, "%s/b-1/manifest.json", x->dir);
    manifest = json_load_file(path, 0, NULL);
    json_object_set_new(json_object_get(manifest, "path"), "rate_bps", json_integer(0));
    json_dump_file(manifest, path, 0);
    json_decref(manifest);
    if (system("command -v gnuplot >/dev/null 2>&1")) {
        print_message("skipped: no gnuplot here\n");
        skip();
    }
    if (report_folder_make(x, false, REPORT_FOLDER_TEMPLATES, &f) != 1) {
        fail_msg("%s", f.text);
    }
    html = report_folder_contents(x, "report.html");
    report_folder_contains(html, "No valid run");
    report_folder_contains(html, "agent-exit");
    report_folder_contains(html, "b-1-rates.svg");
    assert_null(strstr(html, "a-1-rates.svg"));
    free(html);
    report_folder_well_formed(x, "report.html");
}

/* A valid run of a path in a grid of rates and delays. */
static void grid_run(const struct report_folder *x, const char *stack, int mbps, int delay)
{
    struct run_folder r = {0};
    char text[1500];

    snprintf(r.dir, sizeof r.dir, "%.400s/%s-%d-%d", x->dir, stack, mbps, delay);
    mkdir(r.dir, 0777);
    run_folder_text(&r, "manifest.json", "{}");
    snprintf(
        text, sizeof text,
        "{\"schema\":1,\"name\":\"%s-%d-%d\",\"plan\":\"p\",\"cell\":{\"path.rate\":\"%dmbit\","
        "\"path.delay\":\"%dms\",\"stack\":\"%s\"},\"stack\":\"%s\",\"link\":\"sim\",\"path\":{"
        "\"rate_bps\":%d000000,\"delay_ns\":%d000000,\"queue_bytes\":1},\"flows\":{},\"valid\":"
        "true,"
        "\"invalid\":[],\"metrics\":{\"file_time_s\":{\"whole\":%d},\"file_time_ratio\":{\"whole\":"
        "2},"
        "\"media_throughput_bps\":{\"whole\":%d00000},\"media_owd_ms_p50\":{\"whole\":%d},"
        "\"media_owd_ms_p95\":{\"whole\":%d},\"media_app_owd_ms_mean\":{\"whole\":%d},"
        "\"media_app_owd_ms_p95\":{\"whole\":%d},\"rtt_ms_mean\":{\"whole\":%d}}}",
        stack, mbps, delay, mbps, delay, stack, stack, mbps, delay, 40 / mbps, 4 * mbps, delay,
        delay + 5, delay + 6, delay + 9, 2 * delay);
    run_folder_text(&r, "metrics.json", text);
}

/* A grid of paths: panels of rate and delay in place of a list of cells. */
static void test_a_grid_of_paths(void **state)
{
    static const char *const figures[] = {"plots/grid_media.svg", "plots/grid_delay.svg",
                                          "plots/grid_file.svg",  "plots/grid_rtt.svg",
                                          "plots/heat_media.svg", "plots/heat_delay.svg"};
    struct report_folder *x = *state;
    struct fault f;
    char *text;

    for (int rate = 1; rate <= 10; rate += 9) {
        for (int delay = 10; delay <= 50; delay += 40) {
            grid_run(x, "webrtc", rate, delay);
            grid_run(x, "quic", rate, delay);
        }
    }
    if (system("command -v gnuplot >/dev/null 2>&1")) {
        print_message("skipped: no gnuplot here\n");
        skip();
    }
    if (report_folder_make(x, false, REPORT_FOLDER_TEMPLATES, &f)) {
        fail_msg("%s", f.text);
    }
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        text = report_folder_contents(x, figures[i]);
        report_folder_contains(text, "propagation delay");
        report_folder_contains(text, ">webrtc<");
        report_folder_contains(text, ">quic<");
        free(text);
        report_folder_well_formed(x, figures[i]);
        report_folder_has_pdf_and_data(x, figures[i]);
        text = report_folder_contents(x, "report.html");
        report_folder_contains(text, figures[i]);
        assert_null(strstr(text, "compare_media.svg"));
        free(text);
    }
    text = report_folder_contents(x, "plots/grid_file.csv");
    report_folder_contains(
        text, "row,column,series,x,file_time_s,min_s,max_s,ideal_s,setting,rate_bps,delay_ms,"
              "stack,valid_runs\n");
    report_folder_contains(text, "\n1,2,1,1,4,4,4,2,,10000000,10,quic,1\n");
    free(text);
    text = report_folder_contents(x, "plots/heat_media.csv");
    report_folder_contains(text, "\n1,1,1,2,40,,,,,1000000,50,quic,1\n");
    free(text);
    text = report_folder_contents(x, "plots/grid_rtt.csv");
    report_folder_contains(text, "\n1,1,2,1,16,16,19,10,,1000000,10,webrtc,1\n");
    free(text);
}

/* 1 Mbit/s, which becomes 2.5 Mbit/s: in the figure's table, the facts and the cell's name. */
static void test_a_link_that_changes(void **state)
{
    static const char few[] = "3000000000,2500000,93750,3000000001,3000000002\n";
    struct report_folder *x = *state;
    struct run_folder r = {0};
    struct fault f;
    char text[2000] = "time_ns,rate_bps,queue_bytes,begin_ns,end_ns\n", *html, *p;

    hand_run_write(x->dir, "a-1", "{}", "[]");
    snprintf(r.dir, sizeof r.dir, "%.400s/a-1", x->dir);
    p = text + strlen(text);
    strcpy(p, few);
    run_folder_text(&r, "testbed.capacity.csv", text);
    if (system("command -v gnuplot >/dev/null 2>&1")) {
        print_message("skipped: no gnuplot here\n");
        skip();
    }
    if (report_folder_make(x, false, REPORT_FOLDER_TEMPLATES, &f)) {
        fail_msg("%s", f.text);
    }
    report_folder_contains(x->output, "quic 1-2.5 Mbit/s 10 ms");
    html = report_folder_contents(x, "report.html");
    report_folder_contains(
        html, "path 1 Mbit/s, from 3 s on 2.5 Mbit/s, 10 ms one way, queue 37500 bytes at first");
    free(html);
    html = report_folder_contents(x, "plots/plots.gp");
    report_folder_contains(
        html, "$link << END\ntime,rate\n0,1.000000\n3.000000,2.500000\n10.000000,2.500000\n"
              "END\ncapacity = 2.500000\nlink_steps = 2\n");
    free(html);

    for (int i = 1; i < 20; i++) { /* too many to name */
        p += sprintf(p, "%d00000000,%d00000,1,2,3\n", i, 5 + i);
    }
    run_folder_text(&r, "testbed.capacity.csv", text);
    snprintf(text, sizeof text, "%s/a-1/metrics.json", x->dir);
    unlink(text);
    if (report_folder_make(x, false, REPORT_FOLDER_TEMPLATES, &f)) {
        fail_msg("%s", f.text);
    }
    html = report_folder_contents(x, "report.html");
    report_folder_contains(
        html, "path 1 Mbit/s at first, then 19 changes between 0.6 and 2.4 Mbit/s, 10 ms");
    free(html);
}

static void test_unreducible_run_is_named(void **state)
{
    struct report_folder *x = *state;
    struct fault f;
    char path[2 * RUN_FOLDER_PATH_BYTES];

    hand_run_write(x->dir, "a-1", "{\"stack\":\"quic\"}", "[]");
    snprintf(path, sizeof path, "%s/a-1/sender.pcap", x->dir);
    assert_int_equal(truncate(path, 100), 0);
    assert_int_equal(report_folder_make(x, false, NULL, &f), 1);
    report_folder_contains(x->output, "invalid: a-1: not-reduced");
    report_folder_contains(x->output, "sender.pcap: after packet 0");
}

/* What the plan is called, and its link, is known from any run of it. */
static void test_first_run_says_nothing(void **state)
{
    struct report_folder *x = *state;
    struct fault f;
    char path[2 * RUN_FOLDER_PATH_BYTES];

    hand_run_write(x->dir, "a-1", "{\"stack\":\"quic\"}", "[]");
    hand_run_write(x->dir, "b-1", "{\"stack\":\"webrtc\"}", "[]");
    snprintf(path, sizeof path, "%s/a-1/manifest.json", x->dir);
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(report_folder_make(x, false, NULL, &f), 1);
    report_folder_contains(x->output, "invalid: a-1: not-reduced");
    assert_null(strstr(x->output, "unnamed"));
    assert_null(strstr(x->output, "link unknown"));
}

/* The reason quotes the folder's path, which need not be UTF-8; JSON is. */
static void test_a_folder_in_another_encoding(void **state)
{
    struct report_folder *x = *state;
    struct fault f;
    char path[2 * RUN_FOLDER_PATH_BYTES];
    size_t len = strlen(x->dir);

    snprintf(path, sizeof path, "%s/caf\xe9", x->dir);
    assert_int_equal(mkdir(path, 0777), 0);
    hand_run_write(path, "a-1", "{\"stack\":\"quic\"}", "[]");
    snprintf(path, sizeof path, "%s/caf\xe9/a-1/sender.pcap", x->dir);
    assert_int_equal(truncate(path, 100), 0);
    snprintf(x->dir + len, sizeof x->dir - len, "/caf\xe9");
    assert_int_equal(report_folder_make(x, false, NULL, &f), 1);
    report_folder_contains(x->output, "invalid: a-1: not-reduced");
    report_folder_contains(x->output, "caf?/a-1/sender.pcap");
    x->dir[len] = '\0';
}

/* An index of one run of that name. */
static void write_index(const struct report_folder *x, const char *name)
{
    char path[RUN_FOLDER_PATH_BYTES + 32];
    sqlite3 *db;
    char *sql;

    snprintf(path, sizeof path, "%s/index.sqlite", x->dir);
    remove(path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sql = sqlite3_mprintf("CREATE TABLE runs (name, cell_index, repetition);"
                          "INSERT INTO runs VALUES (%Q, 0, 1);",
                          name);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_free(sql);
    sqlite3_close(db);
}

static void jittery_run(const struct report_folder *x, const char *name, int jitter_ms, int mbps)
{
    char text[1024];

    snprintf(
        text, sizeof text,
        "{\"schema\":1,\"name\":\"%s\",\"plan\":\"p\",\"cell\":{\"stack\":\"%s\"},\"stack\":\"%s\","
        "\"preset\":\"reno\",\"link\":\"sim\",\"path\":{\"rate_bps\":%d000000,\"delay_ns\":1000,"
        "\"queue_bytes\":187500,\"impairments\":{\"forward\":{\"delay_ns\":1000,\"jitter_ns\":"
        "%d000000},\"backward\":{\"delay_ns\":1000,\"jitter_ns\":0}}},\"flows\":{},\"valid\":true,"
        "\"invalid\":[],\"metrics\":{\"file_time_s\":{\"whole\":9}}}",
        name, name, name, mbps, jitter_ms);
    report_folder_run(x, name, text);
}

static void test_setup_of_an_impaired_path(void **state)
{
    struct report_folder *x = *state;
    struct fault f;
    char *html;

    jittery_run(x, "quic", 5, 1);
    jittery_run(x, "webrtc", 5, 1);
    assert_int_equal(report_folder_make(x, false, NULL, &f), 0);
    html = report_folder_contents(x, "report.html");
    report_folder_contains(html, "way back</td><td class=\"l\">jitter 5 ms, jitter 0 ms back</td>");
    report_folder_contains(html, "rate control of the calls</td><td class=\"l\">reno</td>");
    free(html);
    jittery_run(x, "webrtc", 6, 2);
    assert_int_equal(report_folder_make(x, false, NULL, &f), 0);
    html = report_folder_contents(x, "report.html");
    report_folder_contains(html, "way back</td><td class=\"l\">differs from cell to cell</td>");
    report_folder_contains(html, "link rate</td><td class=\"l\">differs from cell to cell</td>");
    free(html);
}

/* The page says what was asked, what was set up, and how to make it again. */
static void test_setup_and_command(void **state)
{
    struct report_folder *x = *state;
    struct run_folder r = {0};
    struct fault f;
    char path[RUN_FOLDER_PATH_BYTES + 32], *html;
    sqlite3 *db;

    report_folder_add(x, "quic-1", "quic", 38, true);
    report_folder_add(x, "quic-2", "quic", 38, true);
    report_folder_add(x, "webrtc-1", "webrtc", 25, true);
    report_folder_add(x, "webrtc-2", "webrtc", 25, true);
    snprintf(r.dir, sizeof r.dir, "%.400s/quic-1", x->dir);
    run_folder_text(&r, "scenario.yaml",
                    "name: p\ndescription: \"is 1 < 2, or \\\"so\\\"\"\nfps: 30\n");
    assert_int_equal(report_folder_make(x, false, NULL, &f), 0);
    html = report_folder_contents(x, "report.html");
    report_folder_contains(html, "<b>Question:</b> is 1 &lt; 2, or &quot;so&quot;.</p>");
    report_folder_contains(html, "stack</td><td class=\"l\">quic, webrtc <span");
    report_folder_contains(html, "link rate</td><td class=\"l\">5 Mbit/s</td>");
    report_folder_contains(html, "queue of the bottleneck</td><td class=\"l\">300 ms</td>");
    report_folder_contains(
        html, "repetitions of each cell</td><td class=\"l\">2, each with its own seed</td>");
    report_folder_contains(html, "as run in quic-1</summary>\n<pre>name: p\n");
    report_folder_contains(html, "\nfps: 30\n</pre>");
    assert_null(strstr(html, "loss, jitter, way back")); /* there is none */
    report_folder_contains(html, "<pre>./run-scenario --link sim DIR/quic-1/scenario.yaml");
    report_folder_contains(html, "Versions: not recorded.");
    free(html);
    snprintf(path, sizeof path, "%s/index.sqlite", x->dir);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "CREATE TABLE plan (key, value);"
                                  "INSERT INTO plan VALUES ('command', 'muxbed --set a<b')",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    assert_int_equal(report_folder_make(x, false, NULL, &f), 0);
    html = report_folder_contents(x, "report.html");
    report_folder_contains(html, "<pre>muxbed --set a&lt;b\n./run-scenario");
    free(html);
    report_folder_well_formed(x, "report.html");
}

static void test_no_runs(void **state)
{
    static const char *const improper[] = {"../elsewhere", "a/b", "..", ".", ".hidden", ""};
    struct report_folder *x = *state;
    struct run_folder r = {0};
    struct fault f;

    assert_int_equal(report_folder_make(x, false, NULL, &f), ERR_MALFORMED);
    report_folder_contains(f.text, "no runs");
    for (size_t i = 0; i < sizeof improper / sizeof improper[0]; i++) {
        write_index(x, improper[i]);
        assert_int_equal(report_folder_make(x, false, NULL, &f), ERR_MALFORMED);
        report_folder_contains(f.text, "run 1 has no proper name");
    }
    /* one that is planned, but not complete */
    write_index(x, "a-1");
    assert_int_equal(report_folder_make(x, false, NULL, &f), ERR_MALFORMED);
    report_folder_contains(f.text, "no runs");
    memcpy(r.dir, x->dir, sizeof r.dir);
    run_folder_text(&r, "index.sqlite", "no database");
    assert_int_equal(report_folder_make(x, false, NULL, &f), ERR_MALFORMED);
    report_folder_contains(f.text, "no runs");
}

/* What reports say is what the page of definitions says. */
static void test_every_metric_is_documented(void **state)
{
    struct report_folder here = {.dir = "analysis"};
    char *readme = report_folder_contents(&here, "METRICS.md");

    (void)state;
    for (size_t i = 0; i < catalogue_count; i++) {
        report_folder_contains(readme, catalogue[i].metric);
    }
    free(readme);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        REPORT_FOLDER_TEST(test_report_is_whole),
        REPORT_FOLDER_TEST(test_report_of_prototype),
        REPORT_FOLDER_TEST(test_discipline_and_players),
        REPORT_FOLDER_TEST(test_report_of_little),
        REPORT_FOLDER_TEST(test_a_grid_of_paths),
        REPORT_FOLDER_TEST(test_a_link_that_changes),
        REPORT_FOLDER_TEST(test_unreducible_run_is_named),
        REPORT_FOLDER_TEST(test_first_run_says_nothing),
        REPORT_FOLDER_TEST(test_a_folder_in_another_encoding),
        REPORT_FOLDER_TEST(test_setup_of_an_impaired_path),
        REPORT_FOLDER_TEST(test_setup_and_command),
        REPORT_FOLDER_TEST(test_no_runs),
        cmocka_unit_test(test_every_metric_is_documented),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
