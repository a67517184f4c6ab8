/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/bottleneck.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define HEADER                                                                                     \
    "name,time_ns,packets,overflow_drops,early_drops,marks,wait_p50_ns,wait_p95_ns,wait_p99_ns,"   \
    "wait_max_ns\n"

/* What is made of these rows, in a run of which this is the testbed (NULL: the run's own). */
static struct metric_set reduce(const char *rows, const char *testbed)
{
    char path[] = "/tmp/bottleneck_test_XXXXXX";
    struct run_data d = {.info.testbed = testbed};
    struct metric_set out;
    struct fault f;
    int fd = mkstemp(path);
    FILE *file = fdopen(fd, "w");

    assert_non_null(file);
    fprintf(file, HEADER "%s", rows);
    fclose(file);
    assert_int_equal(table_read(&d.tables[RUN_TESTBED][RECORD_QUEUE], RECORD_QUEUE, path, NULL, &f),
                     0);
    unlink(path);
    assert_int_equal(metric_set_init(&out), 0);
    bottleneck_put(&d, &out);
    assert_false(out.failed);
    table_fini(&d.tables[RUN_TESTBED][RECORD_QUEUE]);
    return out;
}

static double metric(const struct metric_set *m, const char *name)
{
    json_t *v = json_object_get(json_object_get(m->root, name), "whole");

    return v ? json_number_value(v) : NAN;
}

static void test_both_queues(void **state)
{
    struct metric_set m = reduce("forward,9,900,20,80,50,5000000,17000000,30000000,90000000\n"
                                 "forward-l4s,9,400,0,0,100,100000,900000,2000000,3000000\n"
                                 "backward,9,1,1,1,1,1,1,1,1\n"
                                 "forward2,9,1,1,1,1,1,1,1,1\n",
                                 NULL);

    (void)state;
    assert_true(metric(&m, "bottleneck_drop_ratio") == 0.1);
    assert_true(metric(&m, "bottleneck_mark_ratio") == 0.05);
    assert_true(metric(&m, "bottleneck_wait_ms_p50") == 5);
    assert_true(metric(&m, "bottleneck_wait_ms_p95") == 17);
    assert_true(metric(&m, "bottleneck_wait_ms_p99") == 30);
    assert_true(metric(&m, "bottleneck_l4s_drop_ratio") == 0);
    assert_true(metric(&m, "bottleneck_l4s_mark_ratio") == 0.25);
    assert_true(metric(&m, "bottleneck_l4s_wait_ms_p50") == 0.1);
    assert_true(metric(&m, "bottleneck_l4s_wait_ms_p99") == 2);
    assert_int_equal(json_object_size(m.root), 10);
    metric_set_fini(&m);
}

/* A kernel's discipline tells what it did, but no waits. */
static void test_no_waits(void **state)
{
    struct metric_set m = reduce("forward,9,900,20,80,50,,,,\n", NULL);

    (void)state;
    assert_true(metric(&m, "bottleneck_drop_ratio") == 0.1);
    assert_true(metric(&m, "bottleneck_mark_ratio") == 0.05);
    assert_int_equal(json_object_size(m.root), 2);
    metric_set_fini(&m);
}

/* A queue without packets has no figures, one that dropped all has no waits, and a further call
 * leaves the path's to the first. */
static void test_what_there_is_not(void **state)
{
    static const char empty[] = "forward-l4s,9,0,0,0,0,0,0,0,0\n";
    static const char dropped[] = "forward,9,0,5,0,0,0,0,0,0\n";
    struct metric_set m = reduce(empty, NULL);

    (void)state;
    assert_int_equal(json_object_size(m.root), 0);
    metric_set_fini(&m);
    m = reduce(dropped, NULL);
    assert_true(metric(&m, "bottleneck_drop_ratio") == 1);
    assert_int_equal(json_object_size(m.root), 2);
    metric_set_fini(&m);
    m = reduce(dropped, "..");
    assert_int_equal(json_object_size(m.root), 0);
    metric_set_fini(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_both_queues),
                                       cmocka_unit_test(test_no_waits),
                                       cmocka_unit_test(test_what_there_is_not)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
