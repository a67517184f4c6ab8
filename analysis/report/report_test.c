/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/report.h"

#include "agents/base/err.h"
#include "analysis/report/catalogue.h"
#include "analysis/report/figures.h"
#include "analysis/report/plan.h"
#include "analysis/report/summary.h"
#include "analysis/report/terminal.h"
#include "analysis/ingest/hand_run_test.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <sqlite3.h>

#define TEMPLATES "analysis/plots" /* tests run in the root of the checkout */

struct fixture {
    char dir[RUN_FOLDER_PATH_BYTES];
    char *output;
    size_t output_len;
    size_t unmet;
};

static int setup(void **state)
{
    struct fixture *x = calloc(1, sizeof *x);

    run_folder_temporary(x->dir);
    *state = x;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *x = *state;

    run_folder_remove(x->dir);
    free(x->output);
    free(x);
    return 0;
}

static int make(struct fixture *x, bool json, const char *templates, struct fault *f)
{
    struct report_options o = {.json = json, .templates = templates};
    FILE *out;
    int rc;

    x->unmet = 0;
    free(x->output);
    out = open_memstream(&x->output, &x->output_len);
    assert_non_null(out);
    rc = report_make(x->dir, &o, out, &x->unmet, f);
    fclose(out);
    return rc;
}

static char *contents(const struct fixture *x, const char *name)
{
    char path[2 * RUN_FOLDER_PATH_BYTES], *text = NULL;
    size_t room = 0;
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", x->dir, name);
    f = fopen(path, "re");
    assert_non_null(f);
    assert_true(getdelim(&text, &room, '\0', f) > 0);
    fclose(f);
    return text;
}

static void contains(const char *text, const char *what)
{
    if (!strstr(text, what)) {
        fail_msg("\"%s\" is not in: %.2000s", what, text);
    }
}

/* A metrics.json as reduction writes it, with one metric. */
static void fake_run(const struct fixture *x, const char *name, const char *stack, double seconds,
                     bool valid)
{
    struct run_folder r = {0};
    char text[1024];

    snprintf(r.dir, sizeof r.dir, "%.400s/%.60s", x->dir, name);
    mkdir(r.dir, 0777);
    run_folder_text(&r, "manifest.json", "{}");
    snprintf(text, sizeof text,
             "{\"schema\":1,\"name\":\"%s\",\"repetition\":%d,\"plan\":\"p\",\"cell\":{\"stack\":"
             "\"%s\"},"
             "\"stack\":\"%s\",\"link\":\"sim\",\"path\":{\"rate_bps\":5000000,\"delay_ns\":"
             "10000000,\"queue_bytes\":187500},\"flows\":{},\"share_ppm\":500000,\"valid\":%s,"
             "\"invalid\":[%s],\"metrics\":{\"file_time_s\":{\"whole\":%.3f}}}",
             name, atoi(strrchr(name, '-') + 1), stack, stack, valid ? "true" : "false",
             valid ? "" : "{\"reason\":\"agent-exit\",\"count\":1,\"detail\":\"a < b & c\"}",
             seconds);
    run_folder_text(&r, "metrics.json", text);
}

static void test_summary_statistics(void **state)
{
    struct fixture *x = *state;
    struct plan_results p;
    struct fault f;
    json_t *summary;
    struct summary_value v;

    fake_run(x, "quic-1", "quic", 38, true);
    fake_run(x, "quic-2", "quic", 40, true);
    fake_run(x, "quic-10", "quic", 42, true);
    fake_run(x, "quic-11", "quic", 1000, false);
    fake_run(x, "webrtc-1", "webrtc", 25, true);
    assert_int_equal(plan_results_load(&p, x->dir, false, &f), 0);
    assert_string_equal(p.runs[2].name, "quic-10"); /* after quic-2 */
    summary = summary_new(&p);
    v = summary_get(summary, 0, "file_time_s", "whole");
    assert_int_equal(v.n, 3); /* the invalid one does not count */
    assert_true(v.mean == 40 && v.sd == 2 && v.min == 38 && v.max == 42);
    /* one resample of 27 has nothing but 38, another nothing but 42: 3.7 % each */
    assert_true(v.ci_lo == 38 && v.ci_hi == 42 && summary_half(&v) == 2);
    assert_true(v.median == 40 && v.fence_lo == 36 && v.fence_hi == 44); /* quartiles 39, 41 */
    v = summary_get(summary, 1, "file_time_s", "whole");
    assert_true(v.n == 1 && v.mean == 25 && isnan(v.sd) && isnan(v.ci_lo));
    assert_int_equal(summary_get(summary, 1, "file_time_s", "after").n, 0);
    json_decref(summary);
    plan_results_fini(&p);
}

static void test_summary_files(void **state)
{
    struct fixture *x = *state;
    struct fault f;
    json_t *printed, *cell, *value;
    const char *stack;
    double rate;
    int schema, runs, invalid;
    char *csv;

    fake_run(x, "quic-1", "quic", 38, true);
    fake_run(x, "quic-2", "quic", 1, false);
    assert_int_equal(make(x, true, NULL, &f), 1);
    printed = json_loads(x->output, 0, NULL);
    assert_int_equal(json_unpack(printed, "{s:i,s:s,s:s,s:[o!],s:[]}", "schema", &schema, "plan",
                                 &stack, "link", &stack, "cells", &cell, "expect"),
                     0);
    assert_int_equal(schema, 1);
    assert_int_equal(json_unpack(cell, "{s:{s:s,s:F,s:F},s:i,s:i,s:{s:{s:o}}}", "params", "stack",
                                 &stack, "rate_bps", &rate, "delay_ms", &rate, "runs", &runs,
                                 "invalid", &invalid, "metrics", "file_time_s", "whole", &value),
                     0);
    assert_string_equal(stack, "quic");
    assert_true(rate == 10);
    assert_int_equal(runs, 2);
    assert_int_equal(invalid, 1);
    assert_true(json_is_null(json_object_get(value, "ci95")));
    assert_true(json_is_null(json_object_get(value, "sd")));
    json_decref(printed);
    csv = contents(x, "summary.csv");
    assert_string_equal(csv,
                        "stack,rate_bps,delay_ms,queue_bytes,data,share,metric,window,n,mean,"
                        "sd,ci95_lo,ci95_hi,min,max,median,outliers\n"
                        "quic,5000000,10,187500,none,0.5,file_time_s,whole,1,38,,,,38,38,38,\n");
    free(csv);
}

/* Seen far from the others, told everywhere, and counted like them. */
static void test_outliers(void **state)
{
    static const double seconds[] = {38, 39, 40, 41, 60};
    struct fixture *x = *state;
    struct summary_value v;
    struct plan_results p;
    struct fault f;
    json_t *summary;
    char *text;

    for (int i = 0; i < 5; i++) {
        char name[16];

        snprintf(name, sizeof name, "quic-%d", i + 1);
        fake_run(x, name, "quic", seconds[i], true);
    }
    assert_int_equal(plan_results_load(&p, x->dir, false, &f), 0);
    summary = summary_new(&p);
    v = summary_get(summary, 0, "file_time_s", "whole");
    assert_true(v.n == 5 && v.mean == 43.6 && v.median == 40 && v.max == 60);
    assert_true(v.fence_lo == 36 && v.fence_hi == 44);
    json_decref(summary);
    plan_results_fini(&p);
    assert_int_equal(make(x, false, NULL, &f), 0);
    text = contents(x, "summary.csv");
    contains(text, ",38,60,40,5\n");
    free(text);
    text = contents(x, "report.html");
    contains(text, "1 value lies far from the other repetitions");
    contains(text, "<td>5</td><td>60.00</td><td>40.00</td><td>36.00 to 44.00</td>");
    free(text);
}

static void test_terminal_table(void **state)
{
    struct fixture *x = *state;
    struct fault f;
    char *line, *rest;

    hand_run_write(x->dir, "a-1", "{\"stack\":\"quic\"}", "[]");
    hand_run_write(x->dir, "b-1", "{\"media.max-rate\":\"a very long value of a key\"}", "[]");
    fake_run(x, "c-1", "webrtc", 25, false);
    assert_int_equal(make(x, false, NULL, &f), 1);
    contains(x->output, "hand: 3 runs on link sim, 1 invalid");
    contains(x->output, "4.00 (2.33)");
    contains(x->output, "a very long value of a key\n");
    contains(x->output, "invalid: c-1: agent-exit (1; a < b & c)\n");
    contains(x->output, "/report.html\n");
    assert_null(strchr(x->output, '\033'));
    for (line = strtok_r(x->output, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        assert_true(strlen(line) <= 100 || strstr(line, "report.html"));
    }
}

static void well_formed(const struct fixture *x, const char *name)
{
    char command[4 * RUN_FOLDER_PATH_BYTES];

    if (system("command -v xmllint >/dev/null 2>&1")) {
        return; /* not on this host; what follows is checked all the same */
    }
    snprintf(command, sizeof command, "xmllint --noout '%s/%s'", x->dir, name);
    assert_int_equal(system(command), 0);
}

/* Beside each figure lie the same as PDF, and lines of numbers under names. */
static void has_pdf_and_data(const struct fixture *x, const char *figure)
{
    int len = (int)(strlen(figure) - strlen("svg"));
    char name[100], *text;

    snprintf(name, sizeof name, "%.*spdf", len, figure);
    text = contents(x, name);
    assert_int_equal(strncmp(text, "%PDF-", 5), 0);
    free(text);
    snprintf(name, sizeof name, "%.*scsv", len, figure);
    text = contents(x, name);
    assert_non_null(strchr(text, ','));
    assert_true(strchr(text, '\n') && strchr(text, '\n')[1] >= ' ');
    free(text);
}

static void test_report_is_whole(void **state)
{
    static const char *const figures[] = {"plots/a-1-rates.svg",     "plots/a-1-delay.svg",
                                          "plots/a-1-cdf.svg",       "plots/a-1-sender_queue.svg",
                                          "plots/a-1-recovery.svg",  "plots/compare_media.svg",
                                          "plots/compare_delay.svg", "plots/compare_file.svg"};
    struct fixture *x = *state;
    struct fault f = {{0}};
    char *html;

    hand_run_write(x->dir, "a-1", "{\"stack\":\"quic\"}", "[]");
    hand_run_write(x->dir, "b-1", "{\"name\":\"it's <b> & \\\"c\\\", _d_\"}", "[]");
    fake_run(x, "c-1", "webrtc", 25, false);
    if (system("command -v gnuplot >/dev/null 2>&1")) {
        print_message("skipped: no gnuplot here\n");
        skip();
    }
    if (make(x, false, TEMPLATES, &f) != 1) {
        fail_msg("%s", f.text);
    }
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        char *svg = contents(x, figures[i]);

        contains(svg, "</svg>");
        free(svg);
        well_formed(x, figures[i]);
        has_pdf_and_data(x, figures[i]);
    }
    well_formed(x, "report.html");
    html = contents(x, "report.html");
    contains(html, "it's &lt;b&gt; &amp; &quot;c&quot;");
    contains(html, "a &lt; b &amp; c");
    contains(html, "1 of 3 runs invalid");
    contains(html, "data:image/svg+xml;base64,");
    contains(html, "<td>4.00</td>"); /* file time */
    for (size_t i = 0; i < catalogue_count; i++) {
        contains(html, catalogue[i].metric);
    }
    assert_null(strstr(html, "src=\"http"));
    free(html);
}

/* A hand run that says it is another's. */
static void stack_run(const struct fixture *x, const char *name, const char *stack, int seed)
{
    char path[2 * RUN_FOLDER_PATH_BYTES], cell[80];
    json_t *manifest;

    snprintf(cell, sizeof cell, "{\"stack\":\"%s\"}", stack);
    hand_run_write(x->dir, name, cell, "[]");
    snprintf(path, sizeof path, "%s/%s/manifest.json", x->dir, name);
    manifest = json_load_file(path, 0, NULL);
    json_object_set_new(manifest, "stack", json_string(stack));
    json_object_set_new(manifest, "seed", json_integer(seed));
    assert_int_equal(json_dump_file(manifest, path, 0), 0);
    json_decref(manifest);
}

static void fits(char *text)
{
    char *line, *rest;

    for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        assert_true(strlen(line) <= 100 || strstr(line, "report.html"));
    }
}

/* Nothing but the stack differs: both stand side by side, on the terminal and in the report. */
static void test_stacks_side_by_side(void **state)
{
    static const char *const figures[] = {"plots/stacks_rates.svg", "plots/stacks_delay.svg",
                                          "plots/stacks_cdf.svg"};
    struct fixture *x = *state;
    struct fault f = {{0}};
    char *html;

    stack_run(x, "stack=webrtc-1", "webrtc", 1);
    stack_run(x, "stack=quic-1", "quic", 1);
    if (make(x, false, NULL, &f)) {
        fail_msg("%s", f.text);
    }
    contains(x->output, "    webrtc      quic   quic - webrtc         95 % interval\n");
    contains(x->output, "\nvalid runs                                 1         1\n");
    contains(x->output, "\nfile time, s                            4.00      4.00           +0.00"
                        "                     -\n");
    contains(x->output, "an interval takes two of equal seeds");
    assert_null(strstr(x->output, "cell ")); /* not once more, cell by cell */
    fits(x->output);
    stack_run(x, "stack=webrtc-2", "webrtc", 2);
    stack_run(x, "stack=quic-2", "quic", 2);
    if (system("command -v gnuplot >/dev/null 2>&1")) {
        print_message("skipped: no gnuplot here\n");
        skip();
    }
    if (make(x, false, TEMPLATES, &f)) {
        fail_msg("%s", f.text);
    }
    contains(x->output, "+0.00        +0.00 to +0.00\n");
    contains(x->output, "2000 resamples");
    html = contents(x, "report.html");
    contains(html, "<h2>webrtc and quic side by side</h2>");
    contains(html, "<th>quic − webrtc</th>");
    contains(html, "<code>stack=webrtc-1</code> and <code>stack=quic-1</code>");
    contains(html, "<td>4.00</td><td>4.00</td><td>+0.00</td><td>+0.00 to +0.00</td>");
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        char *svg = contents(x, figures[i]);

        contains(html, figures[i]);
        contains(svg, ">webrtc<"); /* both lines are named */
        contains(svg, ">quic<");
        contains(svg, "</svg>");
        free(svg);
        well_formed(x, figures[i]);
    }
    well_formed(x, "report.html");
    free(html);
}

/* Other cells beside the pairs: cell by cell first, then each pair by name. */
static void test_stacks_of_a_grid(void **state)
{
    struct fixture *x = *state;
    struct fault f;
    const char *cells, *pair;

    fake_run(x, "webrtc-1", "webrtc", 25, true);
    fake_run(x, "quic-1", "quic", 38, true);
    hand_run_write(x->dir, "other-1", "{\"path.rate\":\"1mbit\"}", "[]");
    assert_int_equal(make(x, false, NULL, &f), 0);
    cells = strstr(x->output, "cell ");
    pair = strstr(x->output, "quic - webrtc");
    assert_true(cells && pair && cells < pair);
    fits(x->output);
}

/* What a reader must know of a rate control stands where its runs do. */
static void test_report_of_prototype(void **state)
{
    struct fixture *x = *state;
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
    contains(text, "prototype: a source that sends less");
    assert_string_equal(json_string_value(json_object_get(p.cells[0].params, "preset")),
                        "prototype");
    json_decref(summary);
    plan_results_fini(&p);
    free(text);
    if (system("command -v gnuplot >/dev/null 2>&1")) {
        print_message("skipped: no gnuplot here\n");
        skip();
    }
    if (make(x, false, TEMPLATES, &f) < 0) {
        fail_msg("%s", f.text);
    }
    html = contents(x, "report.html");
    contains(html, "rate control <b>prototype</b>");
    contains(html, "a source that sends less");
    free(html);
    well_formed(x, "report.html");
}

/* A cell's line says what becomes of packets in the queue, and who is there. */
static void test_discipline_and_players(void **state)
{
    struct fixture *x = *state;
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
    if (make(x, false, NULL, &f) < 0) {
        fail_msg("%s", f.text);
    }
    html = contents(x, "report.html");
    contains(html, ") under codel, which marks");
    contains(html, ", behind it one of 8 Mbit/s and 20 ms");
    contains(html, "; 2 music players");
    free(html);
    assert_int_equal(plan_results_load(&p, x->dir, true, &f), 0);
    summary = summary_new(&p);
    assert_false(figures_wanted(&p, summary, FIGURE_RATES, 0));
    json_decref(summary);
    plan_results_fini(&p);
}

/* Of expectations of what was left out only their number is said. */
static void test_expectations_left_out(void **state)
{
    struct fixture *x = *state;
    struct plan_results p;
    struct fault f;
    json_t *summary;
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    assert_non_null(out);
    hand_run_write(x->dir, "a-1", "{}", "[]");
    assert_int_equal(plan_results_load(&p, x->dir, true, &f), 0);
    summary = summary_new(&p);
    json_object_set_new(
        summary, "expect",
        json_pack("[{s:s,s:n,s:s,s:[{s:s},{s:s}]},{s:s,s:n,s:s,s:[{s:s},{s:s}]},{s:s,s:n,s:[]}]",
                  "name", "elsewhere", "ok", "detail", "not judged in any of 2 cells", "checks",
                  "detail", "not run", "detail", "not run", "name", "partly", "ok", "detail",
                  "not enough", "checks", "detail", "not run", "detail", "judged only from 2",
                  "name", "nowhere", "ok", "checks"));
    terminal_print(out, &p, summary);
    fclose(out);
    assert_null(strstr(text, "elsewhere"));
    contains(text, "partly: not enough");
    contains(text, "1 of 3 not judged: none of their cells was run");
    contains(text, "1 of 3 not judged: options left no cell they speak of");
    json_decref(summary);
    plan_results_fini(&p);
    free(text);
}

/* A run that died at once, a path without a rate: still a report, with what there is to draw. */
static void test_report_of_little(void **state)
{
    struct fixture *x = *state;
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
    if (make(x, false, TEMPLATES, &f) != 1) {
        fail_msg("%s", f.text);
    }
    html = contents(x, "report.html");
    contains(html, "No valid run");
    contains(html, "agent-exit");
    contains(html, "b-1-rates.svg");
    assert_null(strstr(html, "a-1-rates.svg"));
    free(html);
    well_formed(x, "report.html");
}

/* A valid run of a path in a grid of rates and delays. */
static void grid_run(const struct fixture *x, const char *stack, int mbps, int delay)
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
    struct fixture *x = *state;
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
    if (make(x, false, TEMPLATES, &f)) {
        fail_msg("%s", f.text);
    }
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        text = contents(x, figures[i]);
        contains(text, "propagation delay");
        contains(text, ">webrtc<");
        contains(text, ">quic<");
        free(text);
        well_formed(x, figures[i]);
        has_pdf_and_data(x, figures[i]);
        text = contents(x, "report.html");
        contains(text, figures[i]);
        assert_null(strstr(text, "compare_media.svg"));
        free(text);
    }
    text = contents(x, "plots/grid_file.csv");
    contains(text, "row,column,series,x,file_time_s,min_s,max_s,ideal_s,setting,rate_bps,delay_ms,"
                   "stack,valid_runs\n");
    contains(text, "\n1,2,1,1,4,4,4,2,,10000000,10,quic,1\n");
    free(text);
    text = contents(x, "plots/heat_media.csv");
    contains(text, "\n1,1,1,2,40,,,,,1000000,50,quic,1\n");
    free(text);
    text = contents(x, "plots/grid_rtt.csv");
    contains(text, "\n1,1,2,1,16,16,19,10,,1000000,10,webrtc,1\n");
    free(text);
}

/* 1 Mbit/s, which becomes 2.5 Mbit/s: in the figure's table, the facts and the cell's name. */
static void test_a_link_that_changes(void **state)
{
    static const char few[] = "3000000000,2500000,93750,3000000001,3000000002\n";
    struct fixture *x = *state;
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
    if (make(x, false, TEMPLATES, &f)) {
        fail_msg("%s", f.text);
    }
    contains(x->output, "quic 1-2.5 Mbit/s 10 ms");
    html = contents(x, "report.html");
    contains(html,
             "path 1 Mbit/s, from 3 s on 2.5 Mbit/s, 10 ms one way, queue 37500 bytes at first");
    free(html);
    html = contents(x, "plots/plots.gp");
    contains(html, "$link << END\ntime,rate\n0,1.000000\n3.000000,2.500000\n10.000000,2.500000\n"
                   "END\ncapacity = 2.500000\nlink_steps = 2\n");
    free(html);

    for (int i = 1; i < 20; i++) { /* too many to name */
        p += sprintf(p, "%d00000000,%d00000,1,2,3\n", i, 5 + i);
    }
    run_folder_text(&r, "testbed.capacity.csv", text);
    snprintf(text, sizeof text, "%s/a-1/metrics.json", x->dir);
    unlink(text);
    if (make(x, false, TEMPLATES, &f)) {
        fail_msg("%s", f.text);
    }
    html = contents(x, "report.html");
    contains(html, "path 1 Mbit/s at first, then 19 changes between 0.6 and 2.4 Mbit/s, 10 ms");
    free(html);
}

static void test_unreducible_run_is_named(void **state)
{
    struct fixture *x = *state;
    struct fault f;
    char path[2 * RUN_FOLDER_PATH_BYTES];

    hand_run_write(x->dir, "a-1", "{\"stack\":\"quic\"}", "[]");
    snprintf(path, sizeof path, "%s/a-1/sender.pcap", x->dir);
    assert_int_equal(truncate(path, 100), 0);
    assert_int_equal(make(x, false, NULL, &f), 1);
    contains(x->output, "invalid: a-1: not-reduced");
    contains(x->output, "sender.pcap: after packet 0");
}

/* The reason quotes the folder's path, which need not be UTF-8; JSON is. */
static void test_a_folder_in_another_encoding(void **state)
{
    struct fixture *x = *state;
    struct fault f;
    char path[2 * RUN_FOLDER_PATH_BYTES];
    size_t len = strlen(x->dir);

    snprintf(path, sizeof path, "%s/caf\xe9", x->dir);
    assert_int_equal(mkdir(path, 0777), 0);
    hand_run_write(path, "a-1", "{\"stack\":\"quic\"}", "[]");
    snprintf(path, sizeof path, "%s/caf\xe9/a-1/sender.pcap", x->dir);
    assert_int_equal(truncate(path, 100), 0);
    snprintf(x->dir + len, sizeof x->dir - len, "/caf\xe9");
    assert_int_equal(make(x, false, NULL, &f), 1);
    contains(x->output, "invalid: a-1: not-reduced");
    contains(x->output, "caf?/a-1/sender.pcap");
    x->dir[len] = '\0';
}

/* An index of one run of that name. */
static void write_index(const struct fixture *x, const char *name)
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

static void jittery_run(const struct fixture *x, const char *name, int jitter_ms, int mbps)
{
    struct run_folder r = {0};
    char text[1024];

    snprintf(r.dir, sizeof r.dir, "%.400s/%.60s", x->dir, name);
    mkdir(r.dir, 0777);
    run_folder_text(&r, "manifest.json", "{}");
    snprintf(
        text, sizeof text,
        "{\"schema\":1,\"name\":\"%s\",\"plan\":\"p\",\"cell\":{\"stack\":\"%s\"},\"stack\":\"%s\","
        "\"preset\":\"reno\",\"link\":\"sim\",\"path\":{\"rate_bps\":%d000000,\"delay_ns\":1000,"
        "\"queue_bytes\":187500,\"impairments\":{\"forward\":{\"delay_ns\":1000,\"jitter_ns\":"
        "%d000000},\"backward\":{\"delay_ns\":1000,\"jitter_ns\":0}}},\"flows\":{},\"valid\":true,"
        "\"invalid\":[],\"metrics\":{\"file_time_s\":{\"whole\":9}}}",
        name, name, name, mbps, jitter_ms);
    run_folder_text(&r, "metrics.json", text);
}

static void test_setup_of_an_impaired_path(void **state)
{
    struct fixture *x = *state;
    struct fault f;
    char *html;

    jittery_run(x, "quic", 5, 1);
    jittery_run(x, "webrtc", 5, 1);
    assert_int_equal(make(x, false, NULL, &f), 0);
    html = contents(x, "report.html");
    contains(html, "way back</td><td class=\"l\">jitter 5 ms, jitter 0 ms back</td>");
    contains(html, "rate control of the calls</td><td class=\"l\">reno</td>");
    free(html);
    jittery_run(x, "webrtc", 6, 2);
    assert_int_equal(make(x, false, NULL, &f), 0);
    html = contents(x, "report.html");
    contains(html, "way back</td><td class=\"l\">differs from cell to cell</td>");
    contains(html, "link rate</td><td class=\"l\">differs from cell to cell</td>");
    free(html);
}

/* The page says what was asked, what was set up, and how to make it again. */
static void test_setup_and_command(void **state)
{
    struct fixture *x = *state;
    struct run_folder r = {0};
    struct fault f;
    char path[RUN_FOLDER_PATH_BYTES + 32], *html;
    sqlite3 *db;

    fake_run(x, "quic-1", "quic", 38, true);
    fake_run(x, "quic-2", "quic", 38, true);
    fake_run(x, "webrtc-1", "webrtc", 25, true);
    fake_run(x, "webrtc-2", "webrtc", 25, true);
    snprintf(r.dir, sizeof r.dir, "%.400s/quic-1", x->dir);
    run_folder_text(&r, "scenario.yaml",
                    "name: p\ndescription: \"is 1 < 2, or \\\"so\\\"\"\nfps: 30\n");
    assert_int_equal(make(x, false, NULL, &f), 0);
    html = contents(x, "report.html");
    contains(html, "<b>Question:</b> is 1 &lt; 2, or &quot;so&quot;.</p>");
    contains(html, "stack</td><td class=\"l\">quic, webrtc <span");
    contains(html, "link rate</td><td class=\"l\">5 Mbit/s</td>");
    contains(html, "queue of the bottleneck</td><td class=\"l\">300 ms</td>");
    contains(html, "repetitions of each cell</td><td class=\"l\">2, each with its own seed</td>");
    contains(html, "as run in quic-1</summary>\n<pre>name: p\n");
    contains(html, "\nfps: 30\n</pre>");
    assert_null(strstr(html, "loss, jitter, way back")); /* there is none */
    contains(html, "<pre>./run-scenario --link sim DIR/quic-1/scenario.yaml");
    contains(html, "Versions: not recorded.");
    free(html);
    snprintf(path, sizeof path, "%s/index.sqlite", x->dir);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "CREATE TABLE plan (key, value);"
                                  "INSERT INTO plan VALUES ('command', 'muxbed --set a<b')",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    assert_int_equal(make(x, false, NULL, &f), 0);
    html = contents(x, "report.html");
    contains(html, "<pre>muxbed --set a&lt;b\n./run-scenario");
    free(html);
    well_formed(x, "report.html");
}

static void test_no_runs(void **state)
{
    static const char *const improper[] = {"../elsewhere", "a/b", "..", ".", ".hidden", ""};
    struct fixture *x = *state;
    struct run_folder r = {0};
    struct fault f;

    assert_int_equal(make(x, false, NULL, &f), ERR_MALFORMED);
    contains(f.text, "no runs");
    for (size_t i = 0; i < sizeof improper / sizeof improper[0]; i++) {
        write_index(x, improper[i]);
        assert_int_equal(make(x, false, NULL, &f), ERR_MALFORMED);
        contains(f.text, "run 1 has no proper name");
    }
    /* one that is planned, but not complete */
    write_index(x, "a-1");
    assert_int_equal(make(x, false, NULL, &f), ERR_MALFORMED);
    contains(f.text, "no runs");
    memcpy(r.dir, x->dir, sizeof r.dir);
    run_folder_text(&r, "index.sqlite", "no database");
    assert_int_equal(make(x, false, NULL, &f), ERR_MALFORMED);
    contains(f.text, "no runs");
}

/* What reports say is what the page of definitions says. */
static void test_every_metric_is_documented(void **state)
{
    struct fixture here = {.dir = "analysis"};
    char *readme = contents(&here, "METRICS.md");

    (void)state;
    for (size_t i = 0; i < catalogue_count; i++) {
        contains(readme, catalogue[i].metric);
    }
    free(readme);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_summary_statistics),
        TEST(test_outliers),
        TEST(test_summary_files),
        TEST(test_terminal_table),
        TEST(test_expectations_left_out),
        TEST(test_discipline_and_players),
        TEST(test_report_is_whole),
        TEST(test_stacks_side_by_side),
        TEST(test_stacks_of_a_grid),
        TEST(test_report_of_prototype),
        TEST(test_report_of_little),
        TEST(test_a_grid_of_paths),
        TEST(test_a_link_that_changes),
        TEST(test_unreducible_run_is_named),
        TEST(test_a_folder_in_another_encoding),
        TEST(test_setup_and_command),
        TEST(test_setup_of_an_impaired_path),
        TEST(test_no_runs),
        cmocka_unit_test(test_every_metric_is_documented),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
