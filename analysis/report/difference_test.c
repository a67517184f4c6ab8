/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/report/difference.h"

#include "agents/base/prng.h"
#include "analysis/ingest/run_folder_test.h"
#include "analysis/report/statistics.h"
#include "analysis/report/summary.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MANY 40

struct fixture {
    char dir[RUN_FOLDER_PATH_BYTES];
    struct plan_results p;
    json_t *summary;
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
    plan_results_fini(&x->p);
    run_folder_remove(x->dir);
    free(x);
    return 0;
}

/* What a reduced run says as far as this room reads it. */
struct faked {
    const char *stack, *cell; /* cell: members of the manifest's "cell" */
    int seed, rate_mbit;
    double seconds;
    bool invalid;
};

static void fake(const struct fixture *x, const char *name, struct faked r)
{
    struct run_folder folder = {0};
    char text[1024];

    snprintf(folder.dir, sizeof folder.dir, "%.400s/%.60s", x->dir, name);
    mkdir(folder.dir, 0777);
    run_folder_text(&folder, "manifest.json", "{}");
    snprintf(text, sizeof text,
             "{\"plan\":\"p\",\"cell\":{%s},\"stack\":\"%s\",\"link\":\"sim\",\"seed\":%d,\"path\":"
             "{\"rate_bps\":%d,\"delay_ns\":10000000,\"queue_bytes\":1000},\"flows\":{},"
             "\"share_ppm\":500000,\"valid\":%s,\"invalid\":[],\"metrics\":{\"file_time_s\":"
             "{\"whole\":%.3f},\"media_owd_ms_p95\":{\"whole\":%.3f%s}}}",
             r.cell, r.stack, r.seed, r.rate_mbit * 1000000, r.invalid ? "false" : "true",
             r.seconds, r.seconds * 2, r.seed == 1 ? ",\"during\":7" : "");
    run_folder_text(&folder, "metrics.json", text);
}

static void load(struct fixture *x)
{
    struct fault f;

    assert_int_equal(plan_results_load(&x->p, x->dir, false, &f), 0);
    x->summary = summary_new(&x->p);
    assert_non_null(x->summary);
}

static void test_few_values(void **state)
{
    static const double a[] = {10, 20, 30}, same[] = {12, 22, 32}, b[] = {10, 21, 0};
    double room[3];
    struct difference_value v = difference_of(a, b, 0, room, "x");

    (void)state;
    assert_true(v.n == 0 && isnan(v.mean) && isnan(v.means[0]) && isnan(v.ci_lo));
    v = difference_of(a, same, 1, room, "x");
    assert_true(v.n == 1 && v.mean == 2 && v.means[0] == 10 && v.means[1] == 12);
    assert_true(isnan(v.ci_lo) && isnan(v.ci_hi));
    v = difference_of(a, same, 3, room, "x"); /* the same every time: nothing is uncertain */
    assert_true(v.mean == 2 && v.ci_lo == 2 && v.ci_hi == 2);
    assert_true(isnan(v.effect) &&
                fabs(v.dominance - 3.0 / 9) < 1e-12); /* six above, three below */
    /* of 0 and 1, a quarter of the resamples each has but one of them */
    v = difference_of(a, b, 2, room, "x");
    assert_true(v.mean == 0.5 && v.ci_lo == 0 && v.ci_hi == 1);
    /* sqrt(1/2) is the deviation of 0 and 1; two above, one below, one equal */
    assert_true(fabs(v.effect - sqrt(0.5)) < 1e-12 && v.dominance == 0.25);
}

/* Against the normal approximation, whose plug-in deviation has n below the line. */
static void test_interval(void **state)
{
    double first[MANY], second[MANY], room[MANY], mean = 0, square = 0, half;
    struct difference_value v, again, other;
    struct prng random;

    (void)state;
    prng_init(&random, 5, "values");
    for (int i = 0; i < MANY; i++) {
        double d = 3 + 2 * prng_uniform(&random);

        first[i] = 100 * prng_uniform(&random); /* what both share does not matter */
        second[i] = first[i] + d;
        mean += d / MANY;
        square += d * d / MANY;
    }
    half = 1.96 * sqrt((square - mean * mean) / MANY);
    v = difference_of(first, second, MANY, room, "x");
    assert_true(fabs(v.mean - mean) < 1e-9);
    assert_true(fabs(v.ci_lo - (mean - half)) < 0.15 * half);
    assert_true(fabs(v.ci_hi - (mean + half)) < 0.15 * half);
    again = difference_of(first, second, MANY, room, "x");
    assert_true(again.ci_lo == v.ci_lo && again.ci_hi == v.ci_hi);
    other = difference_of(first, second, MANY, room, "y");
    assert_true(other.ci_lo != v.ci_lo);
}

/* Runs meet by seed, wherever they stand; only valid ones. */
static void test_equal_seeds(void **state)
{
    struct fixture *x = *state;
    struct difference_value v;
    json_t *d;

    fake(x, "quic-1", (struct faked){"quic", "\"stack\":\"quic\"", 3, 5, 33, false});
    fake(x, "quic-2", (struct faked){"quic", "\"stack\":\"quic\"", 1, 5, 31, false});
    fake(x, "quic-3", (struct faked){"quic", "\"stack\":\"quic\"", 2, 5, 99, true});
    fake(x, "quic-4", (struct faked){"quic", "\"stack\":\"quic\"", 4, 5, 99, false});
    fake(x, "webrtc-1", (struct faked){"webrtc", "\"stack\":\"webrtc\"", 1, 5, 30, false});
    fake(x, "webrtc-2", (struct faked){"webrtc", "\"stack\":\"webrtc\"", 2, 5, 1, false});
    fake(x, "webrtc-3", (struct faked){"webrtc", "\"stack\":\"webrtc\"", 3, 5, 30, false});
    load(x);
    v = difference_get(x->summary, 0, "file_time_s", "whole");
    assert_int_equal(v.n, 2);
    assert_true(v.means[0] == 30 && v.means[1] == 32 && v.mean == 2); /* quic minus webrtc */
    assert_true(v.ci_lo == 1 && v.ci_hi == 3);
    v = difference_get(x->summary, 0, "media_owd_ms_p95", "during"); /* only seed 1 has it */
    assert_true(v.n == 1 && v.mean == 0 && isnan(v.ci_lo));
    assert_int_equal(difference_get(x->summary, 0, "file_time_s", "after").n, 0);
    assert_int_equal(difference_get(x->summary, 1, "file_time_s", "whole").n, 0);
    d = json_array_get(json_object_get(x->summary, "differences"), 0);
    assert_string_equal(json_string_value(json_array_get(json_object_get(d, "stacks"), 0)),
                        "webrtc");
    assert_int_equal(json_integer_value(json_array_get(json_object_get(d, "cells"), 0)), 1);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(d, "cells"), 1)), 0);
    assert_int_equal(json_integer_value(json_object_get(d, "resamples")), STATISTICS_RESAMPLES);
    assert_null(json_object_get(json_object_get(d, "params"), "stack"));
    assert_int_equal(json_integer_value(json_object_get(json_object_get(d, "params"), "rate_bps")),
                     5000000);
}

/* A row of "during" is of the whole run where there is no transfer. */
static void test_rows(void **state)
{
    struct fixture *x = *state;
    size_t seen = 0;

    fake(x, "quic-1", (struct faked){"quic", "\"stack\":\"quic\"", 2, 5, 33, false});
    fake(x, "webrtc-1", (struct faked){"webrtc", "\"stack\":\"webrtc\"", 2, 5, 30, false});
    load(x);
    for (size_t i = 0; i < difference_row_count; i++) {
        struct difference_value v = difference_row_get(x->summary, 0, i);

        assert_non_null(catalogue_find(difference_rows[i].metric));
        if (strcmp(difference_rows[i].metric, "media_owd_ms_p95") == 0) {
            assert_true(v.n == 1 && v.mean == 6);
        }
        seen += v.n;
    }
    assert_int_equal(seen, 2);
}

static void test_pairs_of_a_grid(void **state)
{
    struct fixture *x = *state;
    json_t *d;

    fake(x, "a-1",
         (struct faked){"quic", "\"path.rate\":\"1mbit\",\"stack\":\"quic\"", 1, 1, 1, false});
    fake(x, "b-1",
         (struct faked){"webrtc", "\"path.rate\":\"1mbit\",\"stack\":\"webrtc\"", 1, 1, 2, false});
    fake(x, "c-1",
         (struct faked){"webrtc", "\"path.rate\":\"5mbit\",\"stack\":\"webrtc\"", 1, 5, 4, false});
    fake(x, "d-1",
         (struct faked){"quic", "\"path.rate\":\"5mbit\",\"stack\":\"quic\"", 1, 5, 8, false});
    fake(x, "e-1",
         (struct faked){"quic", "\"path.rate\":\"9mbit\",\"stack\":\"quic\"", 1, 9, 8, false});
    fake(x, "f-1",
         (struct faked){"webrtc", "\"share\":\"0\",\"path.rate\":\"9mbit\"", 1, 9, 8, false});
    load(x);
    assert_int_equal(x->p.cell_count, 6);
    assert_int_equal(x->p.pair_count, 2);
    assert_true(x->p.pairs[0].cells[0] == 1 && x->p.pairs[0].cells[1] == 0);
    assert_true(x->p.pairs[1].cells[0] == 2 && x->p.pairs[1].cells[1] == 3);
    assert_string_equal(x->p.pairs[1].label, "path.rate=5mbit"); /* and no stack */
    d = json_object_get(x->summary, "differences");
    assert_int_equal(json_array_size(d), 2);
    assert_true(difference_get(x->summary, 0, "file_time_s", "whole").mean == -1);
    assert_true(difference_get(x->summary, 1, "file_time_s", "whole").mean == 4);
}

/* Stacks that are not quic stand in the order of the plan. */
static void test_other_stacks(void **state)
{
    struct fixture *x = *state;

    fake(x, "a-1", (struct faked){"old", "\"stack\":\"old\"", 1, 1, 1, false});
    fake(x, "b-1", (struct faked){"new", "\"stack\":\"new\"", 1, 1, 2, false});
    load(x);
    assert_int_equal(x->p.pair_count, 1);
    assert_string_equal(x->p.pairs[0].label, "");
    assert_string_equal(plan_results_stack(&x->p, x->p.pairs[0].cells[0]), "old");
    assert_true(difference_get(x->summary, 0, "file_time_s", "whole").mean == 1);
}

static void test_texts(void **state)
{
    const struct catalogue_entry *rate = catalogue_find("media_throughput_bps");
    struct difference_value v = {2, {0, 0}, 0, -1234567, 400, 0, 0};
    char text[DIFFERENCE_TEXT_BYTES];

    (void)state;
    difference_text(text, 1500000, rate);
    assert_string_equal(text, "+1.500");
    difference_text(text, -400, rate); /* shown as zero, without the sign */
    assert_string_equal(text, "+0.000");
    difference_text(text, NAN, rate);
    assert_string_equal(text, "-");
    difference_interval_text(text, &v, rate);
    assert_string_equal(text, "-1.235 to +0.000");
    v.ci_lo = NAN;
    difference_interval_text(text, &v, rate);
    assert_string_equal(text, "-");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few_values),
        cmocka_unit_test(test_interval),
        TEST(test_equal_seeds),
        TEST(test_rows),
        TEST(test_pairs_of_a_grid),
        TEST(test_other_stacks),
        cmocka_unit_test(test_texts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
