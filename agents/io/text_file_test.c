/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/io/text_file.h"

#include "agents/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static char folder[] = "/tmp/text_file_test-XXXXXX";
static char path[64];

static int set_up(void **state)
{
    (void)state;
    memcpy(strrchr(folder, '-') + 1, "XXXXXX", 6);
    if (!mkdtemp(folder)) {
        return -1;
    }
    snprintf(path, sizeof path, "%s/text", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder); /* and nothing else is left in it */
}

static void wait_for_child(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void put_then_read(void **state)
{
    struct message message;
    char out[16];

    (void)state;
    assert_int_equal(text_file_put(path, "one", 3, &message), 0);
    assert_int_equal(text_file_wait(path, out, sizeof out, -1, &message), 3);
    assert_string_equal(out, "one");
    assert_int_equal(text_file_put(path, "second", 6, &message), 0);
    assert_int_equal(text_file_wait(path, out, sizeof out, -1, &message), 6);
    assert_string_equal(out, "second");
}

static void a_file_that_comes_later(void **state)
{
    struct message message;
    char out[16];
    pid_t pid = fork();

    (void)state;
    if (pid == 0) {
        usleep(60000);
        _exit(text_file_put(path, "late", 4, &message) ? 1 : 0);
    }
    assert_int_equal(text_file_wait(path, out, sizeof out, -1, &message), 4);
    assert_string_equal(out, "late");
    wait_for_child(pid);
}

/* In two parts, with a pause between: all of it is read. */
static void a_named_pipe(void **state)
{
    struct message message;
    char out[16];
    pid_t pid;

    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    pid = fork();
    if (pid == 0) {
        FILE *f = fopen(path, "we");
        bool ok = f && fputs("in ", f) >= 0 && fflush(f) == 0;
        usleep(50000);
        ok = ok && fputs("parts", f) >= 0 && fclose(f) == 0;
        _exit(ok ? 0 : 1);
    }
    assert_int_equal(text_file_wait(path, out, sizeof out, -1, &message), 8);
    assert_string_equal(out, "in parts");
    wait_for_child(pid);

    pid = fork();
    if (pid == 0) {
        _exit(text_file_put(path, "back", 4, &message) ? 1 : 0);
    }
    assert_int_equal(text_file_wait(path, out, sizeof out, -1, &message), 4);
    assert_string_equal(out, "back");
    wait_for_child(pid);
}

static void stopped_while_waiting(void **state)
{
    struct message message;
    char out[16];
    int stop[2];

    (void)state;
    assert_int_equal(pipe(stop), 0);
    assert_int_equal(write(stop[1], "x", 1), 1);
    assert_int_equal(text_file_wait(path, out, sizeof out, stop[0], &message), ERR_LIMIT);
    assert_string_equal(message.text, "stopped before it came");
    assert_int_equal(mkfifo(path, 0600), 0); /* nobody writes */
    assert_int_equal(text_file_wait(path, out, sizeof out, stop[0], &message), ERR_LIMIT);
    close(stop[0]);
    close(stop[1]);
}

static void what_does_not_work_is_said(void **state)
{
    struct message message;
    char out[4];

    (void)state;
    assert_int_equal(text_file_put(path, "four", 4, &message), 0);
    assert_int_equal(text_file_wait(path, out, sizeof out, -1, &message), ERR_SPACE);
    assert_string_equal(message.text, "larger than 3 bytes");
    assert_int_equal(text_file_put("/nowhere/text", "x", 1, &message), ERR_OS);
    assert_string_equal(message.text, "No such file or directory");
    assert_int_equal(text_file_wait("/dev/null/text", out, sizeof out, -1, &message), ERR_OS);
    assert_string_equal(message.text, "Not a directory");
    assert_int_equal(text_file_wait(folder, out, sizeof out, -1, &message), ERR_OS);
    assert_string_equal(message.text, "Is a directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(put_then_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_comes_later, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_named_pipe, set_up, tear_down),
        cmocka_unit_test_setup_teardown(stopped_while_waiting, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_does_not_work_is_said, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("text_file", tests, NULL, NULL);
}
