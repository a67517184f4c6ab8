/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/base/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[] = "/tmp/muxbed-test-XXXXXX";

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(dir) && !chdir(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    return chdir("/") || rmdir(dir);
}

static void test_reads_a_file(void **state)
{
    const char *why;
    char line[16];
    FILE *f = fopen("file", "we");

    (void)state;
    assert_non_null(f);
    fputs("words\n", f);
    fclose(f);
    assert_int_equal(symlink("file", "link"), 0);
    f = regular_file_open("link", &why);
    assert_non_null(f);
    assert_int_equal(fcntl(fileno(f), F_GETFL) & O_NONBLOCK, 0);
    assert_int_equal(fcntl(fileno(f), F_GETFD), FD_CLOEXEC);
    assert_non_null(fgets(line, sizeof line, f));
    assert_string_equal(line, "words\n");
    fclose(f);
    unlink("link");
    unlink("file");
}

/* None of these may be waited for or read without end. */
static void test_refuses_what_is_no_file(void **state)
{
    static const struct {
        const char *path;
        int error;
        const char *why;
    } cases[] = {
        {"pipe", EINVAL, "is a pipe or a device; allowed: a regular file"},
        {"zero", EINVAL, "is a pipe or a device; allowed: a regular file"},
        {".", EISDIR, "Is a directory"},
        {"absent", ENOENT, "No such file or directory"},
        {"loop", ELOOP, "Too many levels of symbolic links"},
    };

    (void)state;
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_int_equal(symlink("/dev/zero", "zero"), 0);
    assert_int_equal(symlink("loop", "loop"), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *why = NULL;

        assert_int_equal(regular_file_fd(cases[i].path, &why), -1);
        assert_int_equal(errno, cases[i].error);
        assert_string_equal(why, cases[i].why);
        assert_null(regular_file_open(cases[i].path, &why));
        assert_int_equal(errno, cases[i].error);
    }
    unlink("pipe");
    unlink("zero");
    unlink("loop");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_a_file),
        cmocka_unit_test(test_refuses_what_is_no_file),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
