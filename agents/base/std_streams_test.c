/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Programs whose output cannot be written, or who have none. */
#include "agents/base/std_streams.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* A program that prints this and ends well; with path for its output, NULL: closed. */
static int status_of(const char *prints, const char *path)
{
    int status;
    pid_t pid;

    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int fd = path ? open(path, O_WRONLY) : -1;
        close(STDOUT_FILENO);
        if (fd >= 0 && dup2(fd, STDOUT_FILENO) < 0) {
            _exit(99);
        }
        close(STDERR_FILENO);
        std_streams_open();
        if (open("/dev/null", O_RDONLY) <= STDERR_FILENO) {
            _exit(98); /* a file of ours has the number of a stream */
        }
        fputs(prints, stdout);
        exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_output(void **state)
{
    (void)state;
    assert_int_equal(status_of("words\n", "/dev/null"), 0);
    assert_int_equal(status_of("words\n", "/dev/full"), STD_STREAMS_STATUS);
    assert_int_equal(status_of("words\n", NULL), STD_STREAMS_STATUS);
    assert_int_equal(status_of("", "/dev/full"), 0); /* nothing was lost */
    assert_int_equal(status_of("", NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_output)};

    return cmocka_run_group_tests_name("standard streams", tests, NULL, NULL);
}
