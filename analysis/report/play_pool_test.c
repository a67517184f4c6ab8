/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pooled plays and what is claimed of them, from documents made by hand. */
#include "analysis/report/play_claims.h"
#include "analysis/report/play_pool.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define RUNS 8
#define CELLS 4

static struct plan_result_run runs[CELLS * RUNS];
static struct plan_result_cell cells[CELLS];
static struct plan_results plan;
static json_t *made;

/* n plays with values from first on in steps, and so many stutters. */
static json_t *share(int n, double latency, double bandwidth, int stutters)
{
    json_t *l = json_array(), *b = json_array();

    for (int i = 0; i < n; i++) {
        json_array_append_new(l, json_real(latency + i));
        json_array_append_new(b, json_real(bandwidth * (1 + 0.1 * i)));
    }
    return json_pack("{s:i,s:i,s:i,s:i,s:i,s:f,s:o,s:o}", "plays", n, "failed", 1, "cut", 2, "on",
                     n, "stutters", stutters, "stutter_s", 2.0 * stutters, "latency_ms", l,
                     "bandwidth_bps", b);
}

/* The runs of a cell: seeds 1 .. RUNS; scale is the arm's bandwidth, and run r has r % 2 more. */
static void make_cell(size_t cell, const char *preset, const char *cohort, double bandwidth,
                      int stutters)
{
    for (size_t r = 0; r < RUNS; r++) {
        struct plan_result_run *run = &runs[cell * RUNS + r];
        double bw = bandwidth * (1 + (double)(r % 2));

        run->doc = json_pack("{s:i,s:{s:s,s:s},s:{s:{s:o,s:o,s:o}}}", "seed", (int)r + 1, "cell",
                             "setting", cohort, "preset", preset, "plays", "windows", "whole",
                             share(10, 100, bw, stutters + (int)(r % 2)), "before",
                             share(5, 100, bw, stutters / 2), "during",
                             share(5, 100, strcmp(preset, "bbr") ? bw / 4 : bw, stutters));
        run->valid = true;
        run->cell = cell;
    }
    cells[cell].params =
        json_pack("{s:s,s:s,s:s}", "stack", "play-quic", "preset", preset, "setting", cohort);
    cells[cell].shown = cell * RUNS;
    snprintf(cells[cell].label, sizeof cells[cell].label, "%s %s", cohort, preset);
}

static int set_up(void **state)
{
    (void)state;
    make_cell(0, "cubic", "clean", 1e6, 2);
    make_cell(1, "bbr", "clean", 1e6, 2);
    make_cell(2, "cubic", "lossy", 1e6, 20);
    make_cell(3, "bbr", "lossy", 3e6, 4);
    plan = (struct plan_results){
        .runs = runs, .run_count = CELLS * RUNS, .cells = cells, .cell_count = CELLS};
    made = play_pool_new(&plan);
    assert_non_null(made);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < CELLS * RUNS; i++) {
        json_decref(runs[i].doc);
    }
    for (size_t i = 0; i < CELLS; i++) {
        json_decref(cells[i].params);
    }
    json_decref(made);
    return 0;
}

static json_t *comparison(size_t i)
{
    return json_array_get(json_object_get(made, "comparisons"), i);
}

static void near(double got, double wanted)
{
    if (!(fabs(got - wanted) <= 1e-9 * fabs(wanted) + 1e-12)) {
        fail_msg("%.12g is not %.12g", got, wanted);
    }
}

static void test_cells_are_pooled(void **state)
{
    json_t *whole, *v;

    (void)state;
    assert_int_equal(json_array_size(json_object_get(made, "cells")), CELLS);
    whole = json_object_get(
        json_object_get(json_array_get(json_object_get(made, "cells"), 0), "windows"), "whole");
    assert_int_equal(json_integer_value(json_object_get(whole, "plays")), 10 * RUNS);
    assert_int_equal(json_integer_value(json_object_get(whole, "failed")), RUNS);
    assert_int_equal(json_integer_value(json_object_get(whole, "cut")), 2 * RUNS);
    /* all 80 bandwidths: 40 of 1.0 to 1.9, 40 of 2.0 to 3.8; the 40th is the median */
    v = json_object_get(json_object_get(whole, "metrics"), "download_bandwidth_bps_p50");
    near(json_number_value(json_object_get(v, "value")), 1.9e6);
    v = json_object_get(json_object_get(whole, "metrics"), "stutters_per_track");
    near(json_number_value(json_object_get(v, "value")), (2 * RUNS + RUNS / 2) / (10.0 * RUNS));
    assert_true(json_number_value(json_array_get(json_object_get(v, "ci95"), 0)) < 0.25);
    assert_true(json_number_value(json_array_get(json_object_get(v, "ci95"), 1)) > 0.25);
}

static void test_changes(void **state)
{
    struct play_pool_change c;

    (void)state;
    assert_int_equal(json_array_size(json_object_get(made, "comparisons")), 3);
    assert_string_equal(json_string_value(json_object_get(comparison(0), "label")), "clean");
    /* equal arms on equal seeds: drawn together they stay equal, so nothing varies */
    c = play_pool_get(comparison(0), "whole", "download_bandwidth_bps_p10");
    near(c.change, 0);
    near(c.lo, 0);
    near(c.hi, 0);
    c = play_pool_get(comparison(1), "whole", "download_bandwidth_bps_p50");
    near(c.a, 1.9e6);
    near(c.b, 5.7e6);
    near(c.change, 2);
    near(c.lo, 2); /* thrice whatever is drawn */
    near(c.hi, 2);
    c = play_pool_get(comparison(1), "whole", "stutters_per_track");
    near(c.change, (4 * RUNS + RUNS / 2) / (20.0 * RUNS + RUNS / 2) - 1);
    assert_true(c.lo < c.change && c.change < c.hi && c.hi < 0);
    c = play_pool_get(comparison(1), "during", "download_bandwidth_bps_p10");
    near(c.change, 11);
    c = play_pool_get(comparison(1), "after", "download_bandwidth_bps_p10");
    assert_true(isnan(c.a) && isnan(c.change));
    /* all together: the same runs once more */
    assert_null(json_object_get(comparison(2), "cells"));
    assert_int_equal(json_integer_value(json_object_get(comparison(2), "runs")), 2 * RUNS);
    c = play_pool_get(comparison(2), "whole", "stutters_per_track");
    near(c.a, (22 * RUNS + RUNS) / (20.0 * RUNS));
    near(c.b, (6 * RUNS + RUNS) / (20.0 * RUNS));
}

static void test_equal_plans_give_equal_intervals(void **state)
{
    json_t *again = play_pool_new(&plan);

    (void)state;
    assert_true(json_equal(made, again));
    json_decref(again);
}

static void test_only_equal_seeds_are_compared(void **state)
{
    json_t *less;

    (void)state;
    runs[0].valid = false;            /* of cubic on the clean path */
    runs[RUNS + 3].valid = false;     /* of bbr there */
    runs[2 * RUNS + 1].valid = false; /* all but one of cubic on the lossy one */
    for (size_t r = 2; r < RUNS; r++) {
        runs[2 * RUNS + r].valid = false;
    }
    less = play_pool_new(&plan);
    json_decref(made);
    made = less;
    assert_int_equal(json_integer_value(json_object_get(comparison(0), "runs")), RUNS - 2);
    assert_int_equal(json_integer_value(json_object_get(comparison(1), "runs")), 1);
    /* nothing can be drawn from one run */
    assert_true(isnan(play_pool_get(comparison(1), "whole", "stutters_per_track").lo));
    assert_true(isfinite(play_pool_get(comparison(1), "whole", "stutters_per_track").change));
    for (size_t i = 0; i < CELLS * RUNS; i++) {
        runs[i].valid = true;
    }
}

static const char *verdict_of(const json_t *claims, const char *claim, const char *where)
{
    json_t *c;
    size_t i;

    json_array_foreach(claims, i, c)
    {
        if (strstr(json_string_value(json_object_get(c, "claim")), claim) &&
            strcmp(json_string_value(json_object_get(c, "where")), where) == 0) {
            return json_string_value(json_object_get(c, "verdict"));
        }
    }
    return "not judged";
}

static void test_claims(void **state)
{
    json_t *claims = play_claims_new(made);

    (void)state;
    assert_non_null(claims);
    assert_string_equal(verdict_of(claims, "fewer stutters", "all together"), "shown");
    assert_string_equal(verdict_of(claims, "fewer stutters", "lossy"), "not judged");
    assert_string_equal(verdict_of(claims, "median download", "all together"), "shown");
    assert_string_equal(verdict_of(claims, "latency is unchanged", "all together"), "shown");
    /* the clean paths are the slow ones: their tenth gains nothing, the middle does */
    assert_string_not_equal(verdict_of(claims, "the slow (p10) gain", "all together"), "shown");
    assert_string_equal(verdict_of(claims, "gap in bandwidth opens", "lossy"), "shown");
    assert_string_equal(verdict_of(claims, "stutters in the event", "lossy"), "shown");
    assert_string_equal(verdict_of(claims, "stutters in the event", "clean"), "not shown");
    json_decref(claims);
}

static void test_a_plan_without_plays(void **state)
{
    struct plan_result_run run = {.doc = json_object(), .valid = true};
    struct plan_result_cell cell = {.params = json_object()};
    struct plan_results p = {.runs = &run, .run_count = 1, .cells = &cell, .cell_count = 1};
    json_t *none = play_pool_new(&p);

    (void)state;
    assert_true(json_is_null(none));
    json_decref(none);
    json_decref(run.doc);
    json_decref(cell.params);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_cells_are_pooled, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_changes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_equal_plans_give_equal_intervals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_only_equal_seeds_are_compared, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_claims, set_up, tear_down),
        cmocka_unit_test(test_a_plan_without_plays),
    };

    return cmocka_run_group_tests_name("play_pool", tests, NULL, NULL);
}
