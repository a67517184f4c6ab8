/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agents/base/err.h"
#include "agents/http/content_range.h"

static int parse(struct content_range *r, const char *line)
{
    return content_range_parse(r, line, strlen(line));
}

static void test_ranges(void **state)
{
    struct content_range r;

    (void)state;
    assert_int_equal(parse(&r, "Content-Range: bytes 0-511999/900000\r\n"), 1);
    assert_int_equal(r.first, 0);
    assert_int_equal(r.last, 511999);
    assert_int_equal(r.total, 900000);
    assert_int_equal(parse(&r, "CONTENT-RANGE:\tBytes 5-5/6"), 1);
    assert_int_equal(r.first, 5);
    assert_int_equal(r.last, 5);
    assert_int_equal(parse(&r, "content-range:bytes 1-2/* \r\n"), 1);
    assert_int_equal(r.total, -1);
    assert_int_equal(parse(&r, "content-range: bytes 0-9223372036854775806/9223372036854775807"),
                     1);
}

static void test_other_lines(void **state)
{
    static const char *const lines[] = {"",
                                        "\r\n",
                                        "HTTP/1.1 206 Partial Content\r\n",
                                        "Content-Length: 512000\r\n",
                                        "Content-Rang",
                                        "X-Content-Range: bytes 0-1/2"};
    struct content_range r;

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        assert_int_equal(parse(&r, lines[i]), 0);
    }
}

static void test_damaged_ranges(void **state)
{
    static const char *const values[] = {
        "",
        "bytes",
        "bytes ",
        "bytes */100",
        "bytes 0-/100",
        "bytes -5/9",
        "bytes 5-4/9",
        "bytes 0-9/9",
        "bytes 0-1",
        "bytes 0-1/",
        "octets 0-1/2",
        "bytes 0-1/2x",
        "bytes 0 - 1/2",
        "bytes 0-1/2, 3-4/5",
        "bytes 0-99999999999999999999/*",
    };
    struct content_range r;

    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char line[100] = "Content-Range: ";

        strcat(line, values[i]);
        assert_int_equal(parse(&r, line), ERR_MALFORMED);
    }
}

/* Every beginning of a good line is another line, damaged, or a good one with a shorter total. */
static void test_cut_lines(void **state)
{
    static const char line[] = "Content-Range: bytes 10-19/200";
    struct content_range r;

    (void)state;
    for (size_t len = 0; len < strlen(line); len++) {
        int rc = content_range_parse(&r, line, len);

        if (len < strlen("Content-Range:")) {
            assert_int_equal(rc, 0);
        } else if (len == strlen(line) - 1) {
            assert_int_equal(rc, 1);
            assert_int_equal(r.total, 20);
        } else {
            assert_int_equal(rc, ERR_MALFORMED);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_other_lines),
        cmocka_unit_test(test_damaged_ranges),
        cmocka_unit_test(test_cut_lines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
