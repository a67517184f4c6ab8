/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/record/record.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void every_kind_is_described(void **state)
{
    (void)state;
    for (int k = 0; k < RECORD_KINDS; k++) {
        const struct record_schema *s = &record_schemas[k];
        size_t n = record_columns((enum record_kind)k);

        assert_true(s->name && *s->name && s->help && *s->help);
        assert_in_range(n, 1, RECORD_COLUMNS_MAX);
        assert_int_equal(record_column((enum record_kind)k, "nothing"), RECORD_COLUMNS_MAX);
        for (int j = 0; j < k; j++) {
            assert_string_not_equal(s->name, record_schemas[j].name);
        }
        for (size_t i = 0; i < n; i++) {
            for (const char *c = s->columns[i]; *c; c++) {
                assert_true(islower((unsigned char)*c) || isdigit((unsigned char)*c) || *c == '_');
            }
            for (size_t j = 0; j < i; j++) {
                assert_string_not_equal(s->columns[i], s->columns[j]);
            }
            assert_int_equal(record_column((enum record_kind)k, s->columns[i]), i);
        }
    }
}

/* Rows can be put in order by their time, which is the first column wherever there is one. */
static void times_come_first(void **state)
{
    (void)state;
    for (int k = 0; k < RECORD_KINDS; k++) {
        for (size_t i = 1; i < record_columns((enum record_kind)k); i++) {
            assert_string_not_equal(record_schemas[k].columns[i], "time_ns");
        }
        if (k != RECORD_COUNTER) {
            assert_string_equal(record_schemas[k].columns[0], "time_ns");
        }
    }
}

struct seen {
    int rows;
    enum record_kind kind;
    char name[16];
    int64_t values[RECORD_COLUMNS_MAX];
};

static void put(void *ctx, enum record_kind kind, const char *name, const int64_t *values)
{
    struct seen *s = ctx;

    s->rows++;
    s->kind = kind;
    strncpy(s->name, name ? name : "(none)", sizeof s->name - 1);
    memcpy(s->values, values, record_columns(kind) * sizeof *values);
}

static void rows_reach_the_sink(void **state)
{
    struct seen seen = {0};
    const struct record_sink sink = {.put = put, .ctx = &seen};

    (void)state;
    record_put(&sink, RECORD_RTT, 1, -2, RECORD_NONE);
    assert_int_equal(seen.rows, 1);
    assert_int_equal(seen.kind, RECORD_RTT);
    assert_string_equal(seen.name, "(none)");
    assert_int_equal(seen.values[0], 1);
    assert_int_equal(seen.values[1], -2);
    assert_true(seen.values[2] == RECORD_NONE);
    record_put_named(&sink, RECORD_COUNTER, "drops", 7);
    assert_string_equal(seen.name, "drops");
    assert_int_equal(seen.values[0], 7);
    record_put(NULL, RECORD_RTT, 1, 2, 3);
    assert_int_equal(seen.rows, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_is_described),
        cmocka_unit_test(times_come_first),
        cmocka_unit_test(rows_reach_the_sink),
    };

    return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}
