/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/expect.h"

#include "agents/base/err.h"
#include "analysis/report/plan.h"
#include "analysis/report/summary.h"
#include "analysis/ingest/run_folder_test.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

struct fixture {
    char dir[RUN_FOLDER_PATH_BYTES];
    struct plan_results plan;
    json_t *summary;
    size_t unmet;
    struct fault fault;
    char rules[2000];
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

    json_decref(x->summary);
    plan_results_fini(&x->plan);
    run_folder_remove(x->dir);
    free(x);
    return 0;
}

static void put(const char *dir, const char *name, const char *text)
{
    struct run_folder r = {0};

    snprintf(r.dir, sizeof r.dir, "%s", dir);
    mkdir(r.dir, 0777);
    run_folder_text(&r, name, text);
}

/* A reduced run of a cell; its file took so long. */
static void run(const struct fixture *x, const char *cell, int repetition, double seconds,
                bool valid)
{
    char dir[RUN_FOLDER_PATH_BYTES + 80], text[700];

    snprintf(dir, sizeof dir, "%.400s/%s-%d", x->dir, cell, repetition);
    snprintf(text, sizeof text,
             "{\"name\":\"%s-%d\",\"plan\":\"p\",\"cell\":{\"share\":\"%s\"},\"repetition\":%d,"
             "\"link\":\"sim\",\"valid\":%s,\"invalid\":[],"
             "\"metrics\":{\"file_time_s\":{\"whole\":%.3f},\"media_after_5s_bps\":{\"after\":2e6}}"
             "}",
             cell, repetition, cell, repetition, valid ? "true" : "false", seconds);
    put(dir, "manifest.json", "{}");
    put(dir, "metrics.json", text);
}

static int judge(struct fixture *x, const char *expectations)
{
    char text[sizeof x->rules + 100];

    snprintf(text, sizeof text, "{\"schema\":1,\"expect\":[%s]}", expectations);
    put(x->dir, "expect.json", text);
    assert_int_equal(plan_results_load(&x->plan, x->dir, false, &x->fault), 0);
    x->summary = summary_new(&x->plan);
    return expect_judge(&x->plan, x->summary, &x->unmet, &x->fault);
}

static const json_t *entry(const struct fixture *x, size_t i)
{
    return json_array_get(json_object_get(x->summary, "expect"), i);
}

static const json_t *check(const struct fixture *x, size_t i, size_t k)
{
    return json_array_get(json_object_get(entry(x, i), "checks"), k);
}

static void detail_has(const json_t *o, const char *what)
{
    const char *detail = json_string_value(json_object_get(o, "detail"));

    if (!detail || !strstr(detail, what)) {
        fail_msg("\"%s\" is not in: %s", what, detail ? detail : "(none)");
    }
}

/* Adds an expectation on file_time_s, over its checks. */
static void rule(struct fixture *x, const char *name, const char *judge, int runs,
                 const char *checks)
{
    size_t used = strlen(x->rules);

    snprintf(x->rules + used, sizeof x->rules - used,
             "%s{\"name\":\"%s\",\"metric\":\"file_time_s\",\"window\":\"whole\",\"judge\":\"%s\","
             "\"runs\":%d,\"checks\":[%s]}",
             used ? "," : "", name, judge, runs, checks);
}

static void ok_is(const struct fixture *x, size_t i, json_type wanted)
{
    if (json_typeof(json_object_get(entry(x, i), "ok")) != wanted) {
        fail_msg("expectation %zu: %s", i,
                 json_string_value(json_object_get(entry(x, i), "detail")));
    }
}

static void test_bands(void **state)
{
    struct fixture *x = *state;

    run(x, "a", 1, 10, true);
    run(x, "a", 2, 12, true);
    run(x, "a", 3, 99, false); /* does not count */
    run(x, "b", 1, 20, true);
    rule(x, "in", "mean", 1, "{\"cell\":\"a\",\"min\":{\"plus\":11},\"max\":{\"plus\":11}}");
    rule(x, "above", "mean", 1,
         "{\"cell\":\"a\",\"max\":{\"plus\":11.5}},{\"cell\":\"b\",\"max\":{\"plus\":11.5}}");
    rule(x, "sure", "interval", 1, "{\"cell\":\"a\",\"max\":{\"plus\":11.9}}");
    rule(x, "surer", "interval", 1, "{\"cell\":\"a\",\"max\":{\"plus\":24}}");
    rule(x, "one", "interval", 1, "{\"cell\":\"b\",\"max\":{\"plus\":24}}");
    assert_int_equal(judge(x, x->rules), 0);
    assert_int_equal(x->unmet, 3);
    ok_is(x, 0, JSON_TRUE);
    detail_has(entry(x, 0), "11.00 ± 1.00 s (2 runs); expected at least 11.00 s and at most 11");
    ok_is(x, 1, JSON_FALSE);
    detail_has(entry(x, 1), "not so in 1 of 2 cells; worst b: 20.00 s (1 run); expected at most 1");
    assert_true(json_is_true(json_object_get(check(x, 1, 0), "ok")));
    assert_true(json_is_false(json_object_get(check(x, 1, 1), "ok")));
    assert_true(json_is_null(json_object_get(check(x, 1, 1), "ci95")));
    ok_is(x, 2, JSON_FALSE); /* its interval reaches to 12 */
    ok_is(x, 3, JSON_TRUE);
    ok_is(x, 4, JSON_FALSE);
    detail_has(entry(x, 4), "takes two valid runs");
}

/* Repetition by repetition: the two cells share seeds, and what differs is compared. */
static void test_comparison(void **state)
{
    struct fixture *x = *state;
    double mean, lo, hi;

    run(x, "a", 1, 21, true);
    run(x, "a", 2, 42, true);
    run(x, "a", 3, 1000, true); /* has no partner */
    run(x, "b", 1, 10, true);
    run(x, "b", 2, 20, true);
    run(x, "b", 3, 1, false);
    run(x, "c", 7, 1, true);
    rule(x, "twice", "mean", 1,
         "{\"cell\":\"a\",\"min\":{\"times\":2,\"cell\":\"b\",\"plus\":1},"
         "\"max\":{\"times\":9,\"cell\":\"b\",\"plus\":0}}");
    rule(x, "more", "mean", 1, "{\"cell\":\"a\",\"min\":{\"times\":3,\"cell\":\"b\",\"plus\":0}}");
    rule(x, "alone", "mean", 1, "{\"cell\":\"a\",\"min\":{\"times\":3,\"cell\":\"c\",\"plus\":0}}");
    assert_int_equal(judge(x, x->rules), 0);
    assert_int_equal(x->unmet, 2);
    ok_is(x, 0, JSON_TRUE);
    assert_int_equal(json_unpack(json_object_get(check(x, 0, 0), "above_min"), "{s:F,s:[F,F]}",
                                 "mean", &mean, "ci95", &lo, &hi),
                     0);
    assert_true(fabs(mean - 0.5) < 1e-9); /* of 0 and 1 */
    assert_true(lo == 0 && hi == 1);
    assert_true(fabs(json_number_value(json_object_get(check(x, 0, 0), "min")) - 31) < 1e-9);
    detail_has(entry(x, 0),
               "expected at least 31.00 s (2 x b + 1.00 s), which it keeps by 0.50 ± 0.50");
    detail_has(entry(x, 0), " s, and at most ");
    ok_is(x, 1, JSON_FALSE);
    detail_has(entry(x, 1), "which it misses by 13.50");
    ok_is(x, 2, JSON_FALSE);
    detail_has(entry(x, 2), "a comparison with c, which has no value of the same repetition");
}

static void test_what_cannot_be_judged(void **state)
{
    struct fixture *x = *state;

    run(x, "a", 1, 21, true);
    run(x, "b", 1, 21, false);
    rule(x, "elsewhere", "mean", 1, "{\"cell\":\"z\",\"min\":{\"plus\":1}}");
    rule(x, "none", "mean", 1, "");
    rule(x, "few", "mean", 2, "{\"cell\":\"a\",\"max\":{\"plus\":1}}");
    rule(x, "invalid", "mean", 1, "{\"cell\":\"b\",\"max\":{\"plus\":1}}");
    rule(x, "part", "mean", 1,
         "{\"cell\":\"z\",\"max\":{\"plus\":1}},{\"cell\":\"a\",\"max\":{\"plus\":30}}");
    rule(x, "half", "mean", 1, "{\"cell\":\"a\",\"max\":{\"times\":1,\"cell\":\"z\",\"plus\":0}}");
    assert_int_equal(judge(x, x->rules), 0);
    assert_int_equal(x->unmet, 1);
    ok_is(x, 0, JSON_NULL);
    detail_has(entry(x, 0), "not run");
    ok_is(x, 5, JSON_NULL); /* there is nothing to compare with */
    detail_has(entry(x, 5), "z not run");
    ok_is(x, 1, JSON_NULL);
    ok_is(x, 2, JSON_NULL);
    detail_has(entry(x, 2), "judged only from 2 valid runs on");
    ok_is(x, 3, JSON_FALSE);
    detail_has(entry(x, 3), "no valid run has file_time_s");
    ok_is(x, 4, JSON_TRUE);
    detail_has(
        entry(x, 4),
        "so in 1 cell; nearest to its bound a: 21.00 s (1 run); expected at most 30.00 s; 1 cell "
        "not judged");
}

/* A reduced run in which the transfer's time never came, in so many seconds. */
static void waited(const struct fixture *x, const char *cell, int repetition, double seconds)
{
    char dir[RUN_FOLDER_PATH_BYTES + 80], text[700];

    snprintf(dir, sizeof dir, "%.400s/%s-%d", x->dir, cell, repetition);
    snprintf(text, sizeof text,
             "{\"name\":\"%s-%d\",\"plan\":\"p\",\"cell\":{\"share\":\"%s\"},\"repetition\":%d,"
             "\"link\":\"sim\",\"valid\":true,\"invalid\":[],"
             "\"metrics\":{\"file_time_s\":{\"whole\":{\"never_within_s\":%.3f}}}}",
             cell, repetition, cell, repetition, seconds);
    put(dir, "manifest.json", "{}");
    put(dir, "metrics.json", text);
}

/* What never came is no number: it meets no upper bound, and a lower one by what was waited. */
static void test_what_never_came(void **state)
{
    struct fixture *x = *state;

    run(x, "a", 1, 12, true);
    run(x, "a", 2, 14, true);
    waited(x, "a", 3, 20);
    waited(x, "b", 1, 20);
    waited(x, "b", 2, 25);
    run(x, "c", 1, 2, true);
    run(x, "c", 2, 3, true);
    rule(x, "most", "mean", 1, "{\"cell\":\"a\",\"max\":{\"plus\":1000}}");
    rule(x, "all", "interval", 1, "{\"cell\":\"b\",\"max\":{\"plus\":1000}}");
    rule(x, "least", "mean", 3, "{\"cell\":\"a\",\"min\":{\"plus\":15}}");
    rule(x, "less", "mean", 2, "{\"cell\":\"b\",\"min\":{\"plus\":23}}");
    rule(x, "shorter", "mean", 1,
         "{\"cell\":\"c\",\"max\":{\"times\":1,\"cell\":\"b\",\"plus\":0}}");
    rule(x, "longer", "mean", 1,
         "{\"cell\":\"c\",\"min\":{\"times\":2,\"cell\":\"b\",\"plus\":1}}");
    waited(x, "e", 1, 7);
    rule(x, "once", "mean", 1, "{\"cell\":\"e\",\"max\":{\"plus\":9}}");
    rule(x, "twice", "mean", 1, "{\"cell\":\"b\",\"max\":{\"times\":2,\"cell\":\"c\",\"plus\":0}}");
    assert_int_equal(judge(x, x->rules), 0);
    assert_int_equal(x->unmet, 6);
    ok_is(x, 0, JSON_FALSE);
    detail_has(entry(x, 0),
               "not within 20.00 s in 1 of 3 runs, median 14.00 s; expected at most 1000.00 s");
    assert_true(json_is_null(json_object_get(check(x, 0, 0), "value")));
    assert_int_equal(json_integer_value(json_object_get(check(x, 0, 0), "n")), 2);
    assert_int_equal(json_integer_value(json_object_get(check(x, 0, 0), "never")), 1);
    assert_true(json_number_value(json_object_get(check(x, 0, 0), "never_within_s")) == 20);
    ok_is(x, 1, JSON_FALSE);
    detail_has(entry(x, 1), "not within 20.00 s in 2 of 2 runs; expected at most 1000.00 s, with");
    ok_is(x, 2, JSON_TRUE);  /* (12 + 14 + 20 or more) / 3 */
    ok_is(x, 3, JSON_FALSE); /* 22.5 is all that is known */
    ok_is(x, 4, JSON_TRUE);
    detail_has(entry(x, 4), "expected at most 1 x b, which was not within 20.00 s in 2 of 2 runs, "
                            "which it keeps by at least 20.00");
    ok_is(x, 5, JSON_FALSE);
    detail_has(entry(x, 5), "at least 2 x b + 1.00 s, which was not within 20.00 s in 2 of 2 runs");
    ok_is(x, 6, JSON_FALSE);
    detail_has(entry(x, 6), "not within 7.00 s (1 run); expected at most 9.00 s");
    ok_is(x, 7, JSON_FALSE);
    detail_has(entry(x, 7), "expected at most 5.00 s (2 x c)");
}

/* The ten seconds after the file share an entry of the catalogue. */
static void test_seconds_after_the_file(void **state)
{
    struct fixture *x = *state;

    run(x, "a", 1, 21, true);
    assert_int_equal(judge(x, "{\"name\":\"after\",\"metric\":\"media_after_5s_bps\",\"window\":"
                              "\"after\",\"judge\":\"mean\",\"runs\":1,\"checks\":[{\"cell\":\"a\","
                              "\"min\":{\"plus\":1e6}}]}"),
                     0);
    ok_is(x, 0, JSON_TRUE);
    detail_has(entry(x, 0), "2.000 Mbit/s (1 run); expected at least 1.000 Mbit/s");
}

static void test_bad_files(void **state)
{
    static const struct {
        const char *rule, *message;
    } cases[] = {
        {"{}", "expectation 1: name, metric"},
        {"{\"name\":\"a\",\"metric\":\"rtt_ms_p50\",\"window\":\"whole\",\"judge\":\"mean\","
         "\"runs\":1,\"checks\":[{}]}",
         "expectation 1: a check without a cell"},
        {"{\"name\":\"a\",\"metric\":\"rtt_ms_p50\",\"window\":\"whole\",\"judge\":\"mean\","
         "\"runs\":1,\"checks\":[{\"cell\":\"a\",\"min\":{}}]}",
         "expectation 1: a bound is no"},
        {"{\"name\":\"a\",\"metric\":\"rtt_ms_p50\",\"window\":\"whole\",\"judge\":\"mean\","
         "\"runs\":0,\"checks\":[]}",
         "is missing"},
        {"{\"name\":\"a\",\"metric\":\"x\",\"window\":\"whole\",\"judge\":\"mean\",\"runs\":1,"
         "\"checks\":[]}",
         "its metric is unknown"},
        {"{", "expect.json:1:"},
    };
    struct fixture *x = *state;

    run(x, "a", 1, 21, true);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(judge(x, cases[i].rule), ERR_MALFORMED);
        if (!strstr(x->fault.text, cases[i].message)) {
            fail_msg("\"%s\" is not in: %s", cases[i].message, x->fault.text);
        }
        json_decref(x->summary);
        plan_results_fini(&x->plan);
        x->summary = NULL;
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_bands),
        TEST(test_comparison),
        TEST(test_what_cannot_be_judged),
        TEST(test_what_never_came),
        TEST(test_seconds_after_the_file),
        TEST(test_bad_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
