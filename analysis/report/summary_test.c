/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/summary.h"

#include "analysis/report/plan.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "analysis/report/report_folder_test.h"

static void test_summary_statistics(void **state)
{
    struct report_folder *x = *state;
    struct plan_results p;
    struct fault f;
    json_t *summary;
    struct summary_value v;

    report_folder_add(x, "quic-1", "quic", 38, true);
    report_folder_add(x, "quic-2", "quic", 40, true);
    report_folder_add(x, "quic-10", "quic", 42, true);
    report_folder_add(x, "quic-11", "quic", 1000, false);
    report_folder_add(x, "webrtc-1", "webrtc", 25, true);
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

/* Seen far from the others, told everywhere, and counted like them. */
static void test_outliers(void **state)
{
    static const double seconds[] = {38, 39, 40, 41, 60};
    struct report_folder *x = *state;
    struct summary_value v;
    struct plan_results p;
    struct fault f;
    json_t *summary;
    char *text;

    for (int i = 0; i < 5; i++) {
        char name[16];

        snprintf(name, sizeof name, "quic-%d", i + 1);
        report_folder_add(x, name, "quic", seconds[i], true);
    }
    assert_int_equal(plan_results_load(&p, x->dir, false, &f), 0);
    summary = summary_new(&p);
    v = summary_get(summary, 0, "file_time_s", "whole");
    assert_true(v.n == 5 && v.mean == 43.6 && v.median == 40 && v.max == 60);
    assert_true(v.fence_lo == 36 && v.fence_hi == 44);
    json_decref(summary);
    plan_results_fini(&p);
    assert_int_equal(report_folder_make(x, false, NULL, &f), 0);
    text = report_folder_contents(x, "summary.csv");
    report_folder_contains(text, ",38,60,40,5,0,\n");
    free(text);
    text = report_folder_contents(x, "report.html");
    report_folder_contains(text, "1 value lies far from the other repetitions");
    report_folder_contains(text, "<td>5</td><td>60.00</td><td>40.00</td><td>36.00 to 44.00</td>");
    free(text);
}

static void test_summary_files(void **state)
{
    struct report_folder *x = *state;
    struct fault f;
    json_t *printed, *cell, *value;
    const char *stack;
    double rate;
    int schema, runs, invalid;
    char *csv;

    report_folder_add(x, "quic-1", "quic", 38, true);
    report_folder_add(x, "quic-2", "quic", 1, false);
    assert_int_equal(report_folder_make(x, true, NULL, &f), 1);
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
    csv = report_folder_contents(x, "summary.csv");
    assert_string_equal(csv,
                        "stack,rate_bps,delay_ms,queue_bytes,data,share,metric,window,n,mean,"
                        "sd,ci95_lo,ci95_hi,min,max,median,outliers,never,never_within_s\n"
                        "quic,5000000,10,187500,none,0.5,file_time_s,whole,1,38,,,,38,38,38,,0,\n");
    free(csv);
}

/* A run that got to its share after so many seconds, or never within them. */
static void share_run(const struct report_folder *x, const char *name, double seconds, bool never)
{
    struct run_folder r = {0};
    char text[700], value[60];

    snprintf(r.dir, sizeof r.dir, "%.400s/%.60s", x->dir, name);
    mkdir(r.dir, 0777);
    run_folder_text(&r, "manifest.json", "{}");
    snprintf(value, sizeof value, never ? "{\"never_within_s\":%.1f}" : "%.1f", seconds);
    snprintf(text, sizeof text,
             "{\"name\":\"%s\",\"repetition\":%d,\"plan\":\"p\",\"cell\":{\"stack\":\"%.*s\"},"
             "\"stack\":\"%.*s\",\"seed\":%d,\"link\":\"sim\",\"valid\":true,\"invalid\":[],"
             "\"flow_table\":[{\"name\":\"call1\",\"kind\":\"call\"}],"
             "\"metrics\":{\"convergence_s\":{\"whole\":%s},\"ramp_up_s\":{\"whole\":1}}}",
             name, atoi(strrchr(name, '-') + 1), (int)strcspn(name, "-"), name,
             (int)strcspn(name, "-"), name, atoi(strrchr(name, '-') + 1), value);
    run_folder_text(&r, "metrics.json", text);
}

/* A time that never came is in no mean, and nowhere taken for a time or for nothing. */
static void test_times_that_never_came(void **state)
{
    struct report_folder *x = *state;
    struct summary_value v;
    struct plan_results p;
    struct fault f;
    json_t *summary, *differences;
    char *text;

    share_run(x, "quic-1", 4, false);
    share_run(x, "quic-2", 6, false);
    share_run(x, "quic-3", 20, true);
    share_run(x, "webrtc-1", 20, true);
    share_run(x, "webrtc-2", 18, true);
    share_run(x, "webrtc-3", 3, false);
    assert_int_equal(plan_results_load(&p, x->dir, false, &f), 0);
    summary = summary_new(&p);
    v = summary_get(summary, 0, "convergence_s", "whole");
    assert_true(v.n == 2 && v.never == 1 && v.waited_s == 20 && v.min == 4 && v.median == 6);
    assert_true(isnan(v.mean) && isnan(v.sd) && isnan(v.ci_lo) && isnan(v.max));
    v = summary_get(summary, 1, "convergence_s", "whole");
    assert_true(v.n == 1 && v.never == 2 && v.waited_s == 18 && v.min == 3 && isnan(v.median));
    v = summary_get(summary, 0, "ramp_up_s", "whole");
    assert_true(v.n == 3 && v.never == 0 && v.mean == 1);
    /* nor is what the others differ by told as if it were of all */
    differences =
        json_object_get(json_array_get(json_object_get(summary, "differences"), 0), "metrics");
    assert_null(json_object_get(differences, "convergence_s"));
    assert_non_null(json_object_get(differences, "ramp_up_s"));
    json_decref(summary);
    plan_results_fini(&p);

    assert_int_equal(report_folder_make(x, false, NULL, &f), 0);
    text = report_folder_contents(x, "summary.csv");
    report_folder_contains(text, "convergence_s,whole,2,,,,,4,,6,,1,20\n");
    report_folder_contains(text, "convergence_s,whole,1,,,,,3,,,,2,18\n");
    free(text);
    text = report_folder_contents(x, "report.html");
    report_folder_contains(text,
                           "<td>not within 20.0 <span class=\"ci\">in 1 of 3 runs</span></td>");
    free(text);
    report_folder_contains(x->output, " >20.0 1/3\n");
    report_folder_contains(x->output, " >18.0 2/3\n");
    report_folder_contains(x->output, ">20.0 3/10: not in 3 of 10 runs.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        REPORT_FOLDER_TEST(test_summary_statistics),
        REPORT_FOLDER_TEST(test_outliers),
        REPORT_FOLDER_TEST(test_summary_files),
        REPORT_FOLDER_TEST(test_times_that_never_came),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
