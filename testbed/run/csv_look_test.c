/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/csv_look.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

static char path[] = "/tmp/csv_look_test_XXXXXX";

static int write_file(void **state)
{
    int fd = mkstemp(path);

    (void)state;
    return fd < 0 ||
           dprintf(fd, "time_ns,channel,event,digest\n"
                       "10,0,0,\n"
                       "20,0,1,-77\n"
                       "30,0,1,\n") < 0 ||
           close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static void test_counts(void **state)
{
    (void)state;
    assert_int_equal(csv_look(path, &(struct csv_query){0}, NULL), 3);
    assert_int_equal(csv_look(path, &(struct csv_query){.where = "event", .value = 1}, NULL), 2);
    assert_int_equal(csv_look(path, &(struct csv_query){.where = "time_ns", .value = 30}, NULL), 1);
    assert_int_equal(csv_look(path, &(struct csv_query){.where = "event", .value = 7}, NULL), 0);
}

static void test_last_value_skips_empty_cells(void **state)
{
    int64_t v = 5;

    (void)state;
    assert_int_equal(
        csv_look(path, &(struct csv_query){.where = "event", .value = 1, .want = "digest"}, &v), 2);
    assert_int_equal(v, -77);
    v = 5;
    assert_int_equal(
        csv_look(path, &(struct csv_query){.where = "event", .value = 0, .want = "digest"}, &v), 1);
    assert_int_equal(v, 5);
}

static void test_what_is_not_there(void **state)
{
    int64_t v = 5;

    (void)state;
    assert_int_equal(csv_look("/nonexistent", &(struct csv_query){0}, NULL), 0);
    assert_int_equal(csv_look(path, &(struct csv_query){.where = "even", .value = 1}, NULL), 0);
    assert_int_equal(
        csv_look(path, &(struct csv_query){.where = "event", .value = 1, .want = "nothing"}, &v),
        2);
    assert_int_equal(v, 5);
}

static void test_words(void **state)
{
    static char words[] = "/tmp/csv_look_test_XXXXXX";
    const struct csv_query q = {.where = "name", .text = "late-p99", .want = "value"};
    int fd = mkstemp(words);
    int64_t v = 0;

    (void)state;
    assert_true(fd >= 0);
    assert_true(dprintf(fd, "name,value\nlate-p99-ns,1\nlate-p99,22\nlate,3\n") > 0);
    assert_int_equal(close(fd), 0);
    assert_int_equal(csv_look(words, &q, &v), 1);
    assert_int_equal(v, 22);
    assert_int_equal(unlink(words), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_last_value_skips_empty_cells),
        cmocka_unit_test(test_what_is_not_there),
        cmocka_unit_test(test_words),
    };

    return cmocka_run_group_tests(tests, write_file, remove_file);
}
