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
    assert_int_equal(csv_look(path, &(struct csv_query){"event", 1, NULL}, NULL), 2);
    assert_int_equal(csv_look(path, &(struct csv_query){"time_ns", 30, NULL}, NULL), 1);
    assert_int_equal(csv_look(path, &(struct csv_query){"event", 7, NULL}, NULL), 0);
}

static void test_last_value_skips_empty_cells(void **state)
{
    int64_t v = 5;

    (void)state;
    assert_int_equal(csv_look(path, &(struct csv_query){"event", 1, "digest"}, &v), 2);
    assert_int_equal(v, -77);
    v = 5;
    assert_int_equal(csv_look(path, &(struct csv_query){"event", 0, "digest"}, &v), 1);
    assert_int_equal(v, 5);
}

static void test_what_is_not_there(void **state)
{
    int64_t v = 5;

    (void)state;
    assert_int_equal(csv_look("/nonexistent", &(struct csv_query){0}, NULL), 0);
    assert_int_equal(csv_look(path, &(struct csv_query){"even", 1, NULL}, NULL), 0);
    assert_int_equal(csv_look(path, &(struct csv_query){"event", 1, "nothing"}, &v), 2);
    assert_int_equal(v, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_last_value_skips_empty_cells),
        cmocka_unit_test(test_what_is_not_there),
    };

    return cmocka_run_group_tests(tests, write_file, remove_file);
}
