/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What rows.h reads and refuses is what table.h does. */
#include "analysis/ingest/rows.h"

#include "agents/base/err.h"
#include "analysis/ingest/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define RTT "time_ns,latest_ns,smoothed_ns\n"
#define MANY 20000 /* rows of which the buffer holds a part */

static void write_file(char path[32], const char *text, size_t len)
{
    FILE *f;
    int fd;

    strcpy(path, "/tmp/rows_test-XXXXXX");
    fd = mkstemp(path);
    assert_true(fd >= 0);
    f = fdopen(fd, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, len, f), len);
    fclose(f);
}

/* Both ways of reading a file: the same rows, or the same words. */
static void same(enum record_kind kind, const char *text, size_t len, bool may_be_cut)
{
    char path[32];
    bool cut = false;
    struct fault f = {{0}}, g = {{0}};
    struct table t;
    struct rows r;
    size_t n = 0;
    int at_once, rc;

    write_file(path, text, len);
    at_once = table_read(&t, kind, path, may_be_cut ? &cut : NULL, &f);
    rc = rows_open(&r, kind, path, may_be_cut, &g);
    while (!rc && (rc = rows_next(&r)) > 0) {
        for (size_t c = 0; !at_once && c < t.columns; c++) {
            assert_true(t.values[c * t.rows + n] == r.value[c]);
        }
        assert_true(at_once || !t.names || !strcmp(t.names[n], r.name));
        n++;
        rc = 0;
    }
    assert_int_equal(rc, at_once);
    assert_string_equal(f.text, g.text);
    if (!rc) {
        assert_int_equal(n, t.rows);
        assert_int_equal(r.cut, cut);
        table_fini(&t);
    }
    rows_close(&r);
    unlink(path);
}

static void test_small_files(void **state)
{
    static const char *const texts[] = {"",
                                        "t",
                                        "time_ns,latest_ns,smoothed_ns",
                                        RTT,
                                        RTT "1,,-3\n",
                                        RTT "1,2,3\n4,5",
                                        RTT "1,2,3\n4,5x",
                                        RTT "1,2,3\n4,5x,6\n7,8,9\n",
                                        RTT "1,2,3\r\n",
                                        RTT "1,2,3\n\n",
                                        RTT "9223372036854775808,2,3\n",
                                        RTT "1,2,3,4\n",
                                        "time_ns,late_ns\n1,2\n",
                                        RTT "1,2,3\n-"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        same(RECORD_RTT, texts[i], strlen(texts[i]), false);
        same(RECORD_RTT, texts[i], strlen(texts[i]), true);
    }
    same(RECORD_EVENT, "name,time_ns,value\nmedia-start,5,\nx,,7\n", 40, false);
    same(RECORD_EVENT, "name,time_ns,value\nmedia-st", 27, true);
}

/* Cut at any byte of what the buffer's end falls into, whole, and with damage far inside. */
static void test_large_file(void **state)
{
    char *text;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    (void)state;
    fputs(RTT, f);
    for (int i = 0; i < MANY; i++) {
        fprintf(f, "%d,%d,%d\n", i, i * 31, -i);
    }
    fclose(f);
    same(RECORD_RTT, text, len, false);
    for (size_t cut = 65500; cut < 65580; cut++) {
        same(RECORD_RTT, text, cut, true);
        same(RECORD_RTT, text, cut, false);
    }
    text[200000] = '!';
    same(RECORD_RTT, text, len, true);
    memset(text + 100000, '0', 150000); /* a number longer than the buffer */
    same(RECORD_RTT, text, len, false);
    free(text);
}

static void test_no_file(void **state)
{
    struct rows r;
    struct fault f;

    (void)state;
    assert_int_equal(rows_open(&r, RECORD_RTT, "/nonexistent/sender.rtt.csv", false, &f), 0);
    assert_null(r.at.schema);
    assert_int_equal(rows_next(&r), 0);
    rows_close(&r);
    assert_int_equal(rows_open(&r, RECORD_RTT, "/", false, &f), ERR_OS);
    assert_non_null(strstr(f.text, "/: "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_files),
        cmocka_unit_test(test_large_file),
        cmocka_unit_test(test_no_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
