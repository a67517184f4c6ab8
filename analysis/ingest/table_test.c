/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ingest/table.h"

#include "agents/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define RTT "time_ns,latest_ns,smoothed_ns\n"

static int parse(struct table *t, enum record_kind kind, const char *text, struct fault *f)
{
    return table_parse(t, kind, "f.csv", (const uint8_t *)text, strlen(text), f);
}

static void refused(enum record_kind kind, const char *text, const char *message)
{
    struct table t;
    struct fault f;

    assert_int_equal(parse(&t, kind, text, &f), ERR_MALFORMED);
    assert_string_equal(f.text, message);
    assert_null(t.values);
    assert_int_equal(t.rows, 0);
}

static void test_values(void **state)
{
    struct table t;
    struct fault f;

    (void)state;
    assert_int_equal(parse(&t, RECORD_RTT,
                           RTT "1,,-3\n9223372036854775807,-9223372036854775807,"
                               "000000000000000000000005\n",
                           &f),
                     0);
    assert_int_equal(t.rows, 2);
    assert_int_equal(table_column(&t, "time_ns")[0], 1);
    assert_true(table_column(&t, "latest_ns")[0] == RECORD_NONE);
    assert_int_equal(table_column(&t, "smoothed_ns")[0], -3);
    assert_true(table_column(&t, "time_ns")[1] == INT64_MAX);
    assert_true(table_column(&t, "latest_ns")[1] == -INT64_MAX);
    assert_int_equal(table_column(&t, "smoothed_ns")[1], 5);
    table_fini(&t);
}

static void test_names(void **state)
{
    struct table t;
    struct fault f;

    (void)state;
    assert_int_equal(parse(&t, RECORD_EVENT, "name,time_ns,value\nmedia-start,5,\n", &f), 0);
    assert_string_equal(t.names[0], "media-start");
    assert_int_equal(table_column(&t, "time_ns")[0], 5);
    table_fini(&t);
    refused(RECORD_EVENT, "name,time_ns,value\n,5,\n",
            "f.csv:2:1: expected a name of 1 to 48 characters");
}

static void test_header_only(void **state)
{
    struct table t;
    struct fault f;

    (void)state;
    assert_int_equal(parse(&t, RECORD_RTT, RTT, &f), 0);
    assert_int_equal(t.rows, 0);
    assert_null(table_column(&t, "time_ns"));
    table_fini(&t);
}

static void test_refusals(void **state)
{
    (void)state;
    refused(RECORD_RTT, "", "f.csv:1:1: the header should go on with \"time_ns\"");
    refused(RECORD_RTT, "time_ns,late_ns,smoothed_ns\n",
            "f.csv:1:9: the header should go on with \"latest_ns\"");
    refused(RECORD_RTT, "time_ns,latest_ns,smoothed_ns,more\n",
            "f.csv:1:30: expected the end of the line");
    refused(RECORD_RTT, RTT "1,2\n", "f.csv:2:4: expected ','");
    refused(RECORD_RTT, RTT "1,2,3,4\n", "f.csv:2:6: expected the end of the line");
    refused(RECORD_RTT, RTT "1,2,3\n4,5x,6\n", "f.csv:3:4: expected ','");
    refused(RECORD_RTT, RTT "1,-,3\n", "f.csv:2:3: expected a whole number or nothing");
    refused(RECORD_RTT, RTT "1,2.5,3\n", "f.csv:2:4: expected ','");
    refused(RECORD_RTT, RTT "1,2,3\r\n", "f.csv:2:6: expected the end of the line");
    refused(RECORD_RTT, RTT "9223372036854775808,2,3\n", "f.csv:2:1: number too large");
    refused(RECORD_RTT, RTT "99999999999999999999999,2,3\n", "f.csv:2:1: number too large");
    refused(RECORD_RTT, RTT "1,2,3\n4,5", "f.csv:3:1: the file is cut off within a line");
    refused(RECORD_RTT, RTT "1,2,3", "f.csv:2:1: the file is cut off within a line");
}

static void test_no_file_is_no_rows(void **state)
{
    struct table t;
    struct fault f;

    (void)state;
    assert_int_equal(table_read(&t, RECORD_RTT, "/nonexistent/sender.rtt.csv", NULL, &f), 0);
    assert_null(t.schema);
    assert_int_equal(table_read(&t, RECORD_RTT, "/", NULL, &f), ERR_OS);
    assert_non_null(strstr(f.text, "/: "));
}

static size_t whole(enum record_kind kind, const char *text)
{
    return table_whole_bytes(kind, (const uint8_t *)text, strlen(text));
}

/* Only a beginning of a line may be left out; what no writer began is left in, to be refused. */
static void test_only_beginnings_are_left_out(void **state)
{
    static const char *const beginnings[] = {"1",   "-",    "12,",      ",",     "1,2",
                                             "1,-", "1,2,", "1,2,-345", "1,2,3", ",,"};
    static const char *const others[] = {"x", "1x", "1,2,3,", "1 ", "1,--", "99999999999999999999"};
    char text[200];

    (void)state;
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
        snprintf(text, sizeof text, RTT "1,2,3\n%s", beginnings[i]);
        assert_int_equal(whole(RECORD_RTT, text), strlen(RTT "1,2,3\n"));
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        snprintf(text, sizeof text, RTT "1,2,3\n%s", others[i]);
        assert_int_equal(whole(RECORD_RTT, text), strlen(text));
    }
    for (size_t i = 0; i < strlen(RTT); i++) {
        snprintf(text, sizeof text, "%.*s", (int)i, RTT);
        assert_int_equal(whole(RECORD_RTT, text), 0);
    }
    assert_int_equal(whole(RECORD_RTT, RTT), strlen(RTT));
    assert_int_equal(whole(RECORD_RTT, "time_ns,slate"), 13);
    assert_int_equal(whole(RECORD_EVENT, "name,time_ns,value\nmedia-st"), 19);
    assert_int_equal(whole(RECORD_EVENT, "name,time_ns,value\nmedia-start,5"), 19);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_header_only),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_no_file_is_no_rows),
        cmocka_unit_test(test_only_beginnings_are_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
