/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/record/record_csv.h"

#include "agents/base/err.h"
#include "agents/base/prng.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define DIR_TEMPLATE "/tmp/record_csv_test.XXXXXX"
#define PATH_MAX_BYTES 128

static int setup(void **state)
{
    static char dir[sizeof DIR_TEMPLATE];

    memcpy(dir, DIR_TEMPLATE, sizeof dir);
    *state = mkdtemp(dir);
    return *state ? 0 : -1;
}

static int teardown(void **state)
{
    const char *dir = *state;
    char path[sizeof DIR_TEMPLATE + NAME_MAX + 2];
    DIR *d = opendir(dir);

    for (const struct dirent *e; d && (e = readdir(d));) {
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        unlink(path);
    }
    if (d) {
        closedir(d);
    }
    return rmdir(dir);
}

static void kind_path(char path[PATH_MAX_BYTES], const char *dir, enum record_kind kind)
{
    snprintf(path, PATH_MAX_BYTES, "%s/sender.%s.csv", dir, record_schemas[kind].name);
}

/* The whole file of a kind as a string, to be freed; NULL if there is none. */
static char *read_kind(const char *dir, enum record_kind kind)
{
    char path[PATH_MAX_BYTES], *text = NULL;
    size_t cap = 0;
    FILE *f;

    kind_path(path, dir, kind);
    f = fopen(path, "re");
    if (f && getdelim(&text, &cap, '\0', f) < 0) {
        free(text);
        text = NULL;
    }
    if (f) {
        fclose(f);
    }
    return text;
}

static struct record_csv *open_csv(const char *dir)
{
    struct record_csv *c = NULL;

    assert_int_equal(record_csv_open(&c, dir, "sender"), 0);
    return c;
}

static void a_file_appears_with_its_first_row(void **state)
{
    struct record_csv *c = open_csv(*state);
    char *text;

    record_put(record_csv_sink(c), RECORD_RTT, 10, RECORD_NONE, INT64_MAX);
    record_put(record_csv_sink(c), RECORD_RTT, 0, -1, RECORD_NONE + 1);
    record_put_named(record_csv_sink(c), RECORD_COUNTER, "some.name", RECORD_NONE);
    assert_int_equal(record_csv_close(c), 0);
    text = read_kind(*state, RECORD_RTT);
    assert_string_equal(text, "time_ns,latest_ns,smoothed_ns\n"
                              "10,,9223372036854775807\n"
                              "0,-1,-9223372036854775807\n");
    free(text);
    text = read_kind(*state, RECORD_COUNTER);
    assert_string_equal(text, "name,value\nsome.name,\n");
    free(text);
    assert_null(read_kind(*state, RECORD_FILE));
}

static long size_of(const char *dir, enum record_kind kind)
{
    char path[PATH_MAX_BYTES];
    struct stat s;

    kind_path(path, dir, kind);
    return stat(path, &s) ? -1 : (long)s.st_size;
}

/* An agent in real time has better to do than to write a page at a time. */
static void rows_go_out_by_the_buffer(void **state)
{
    struct record_csv *c = open_csv(*state);
    int64_t rows = 1;
    long header, size;

    record_put(record_csv_sink(c), RECORD_RTT, 0, 1, 2);
    header = size_of(*state, RECORD_RTT);
    assert_int_equal(header, strlen("time_ns,latest_ns,smoothed_ns\n"));
    for (; (size = size_of(*state, RECORD_RTT)) == header && rows < 100000; rows++) {
        record_put(record_csv_sink(c), RECORD_RTT, rows, 1, 2);
    }
    assert_in_range(size - header, 60 * 1024, 64 * 1024);
    assert_int_equal(record_csv_close(c), 0);
    assert_true(size_of(*state, RECORD_RTT) > size);
}

/* What a reader that knows nothing but the header line finds for a column of a line. */
static int64_t cell(const char *header, const char *line, const char *column)
{
    size_t len = strlen(column);
    const char *h = header;

    while (strncmp(h, column, len) || (h[len] != ',' && h[len] != '\n')) {
        h = strpbrk(h, ",\n");
        line = strpbrk(line, ",\n");
        if (!h || *h == '\n' || !line || *line == '\n') {
            fail_msg("no column %s", column);
            return 0;
        }
        h++;
        line++;
    }
    return *line == ',' || *line == '\n' ? RECORD_NONE : strtoll(line, NULL, 10);
}

static int64_t odd_value(struct prng *r)
{
    uint64_t v = prng_u64(r) >> prng_u32(r) % 64;

    return prng_u32(r) % 8 ? (int64_t)v : RECORD_NONE;
}

/* Writes rows of random values, reads them back through header and schema, and compares. */
static void round_trip(const char *dir, enum record_kind kind, struct prng *r)
{
    struct record_csv *c = open_csv(dir);
    const struct record_schema *s = &record_schemas[kind];
    int64_t rows[50][RECORD_COLUMNS_MAX];
    char *text, *line;

    for (size_t i = 0; i < 50; i++) {
        for (size_t j = 0; j < RECORD_COLUMNS_MAX; j++) {
            rows[i][j] = odd_value(r);
        }
        record_put_values(record_csv_sink(c), kind, s->has_name ? "a-name" : NULL, rows[i],
                          record_columns(kind));
    }
    assert_int_equal(record_csv_close(c), 0);
    text = line = read_kind(dir, kind);
    assert_non_null(text);
    for (size_t i = 0; i < 50; i++) {
        line = strchr(line, '\n') + 1;
        assert_true(!s->has_name || !strncmp(line, "a-name,", 7));
        for (size_t j = 0; j < record_columns(kind); j++) {
            assert_true(cell(text, line, s->columns[j]) == rows[i][j]);
        }
    }
    assert_int_equal(strchr(line, '\n')[1], '\0');
    free(text);
}

static void every_kind_round_trips(void **state)
{
    struct prng r;

    prng_init(&r, 1, "record");
    for (int k = 0; k < RECORD_KINDS; k++) {
        round_trip(*state, (enum record_kind)k, &r);
    }
}

static void a_long_name_does_not_overrun(void **state)
{
    struct record_csv *c = open_csv(*state);
    char name[500], *text;

    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    record_put_named(record_csv_sink(c), RECORD_LINK, name, INT64_MAX, INT64_MAX, INT64_MAX,
                     INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX);
    assert_int_equal(record_csv_close(c), 0);
    text = read_kind(*state, RECORD_LINK);
    assert_true(cell(text, strchr(text, '\n') + 1, "backlog_max_bytes") == INT64_MAX);
    free(text);
}

/* /dev/full accepts nothing, as a full disk does. */
static void a_full_disk_is_reported(void **state)
{
    char path[PATH_MAX_BYTES];

    if (access("/dev/full", W_OK)) {
        print_message("no /dev/full here\n");
        skip();
    }
    kind_path(path, *state, RECORD_RTT);
    assert_int_equal(symlink("/dev/full", path), 0);
    for (int rows = 1; rows <= 10000; rows *= 100) { /* fails in close, and in the middle */
        struct record_csv *c = open_csv(*state);

        for (int i = 0; i < rows; i++) {
            record_put(record_csv_sink(c), RECORD_RTT, i, INT64_MAX, INT64_MAX);
        }
        errno = 0;
        assert_int_equal(record_csv_close(c), ERR_OS);
        assert_int_equal(errno, ENOSPC);
    }
}

static void a_missing_folder_is_reported(void **state)
{
    struct record_csv *c = open_csv("/nonexistent/folder");

    (void)state;
    record_put(record_csv_sink(c), RECORD_RTT, 1, 2, 3);
    record_put(record_csv_sink(c), RECORD_RTT, 1, 2, 3);
    record_put_named(record_csv_sink(c), RECORD_COUNTER, "n", 3);
    errno = 0;
    assert_int_equal(record_csv_close(c), ERR_OS);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(record_csv_close(NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_appears_with_its_first_row, setup, teardown),
        cmocka_unit_test_setup_teardown(rows_go_out_by_the_buffer, setup, teardown),
        cmocka_unit_test_setup_teardown(every_kind_round_trips, setup, teardown),
        cmocka_unit_test_setup_teardown(a_long_name_does_not_overrun, setup, teardown),
        cmocka_unit_test_setup_teardown(a_full_disk_is_reported, setup, teardown),
        cmocka_unit_test(a_missing_folder_is_reported),
    };

    return cmocka_run_group_tests_name("record_csv", tests, NULL, NULL);
}
