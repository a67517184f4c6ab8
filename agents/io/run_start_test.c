/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agents/base/err.h"
#include "agents/io/clock.h"
#include "agents/io/run_start.h"

static void test_numbers(void **state)
{
    (void)state;
    assert_int_equal(run_start_fd("0"), 0);
    assert_int_equal(run_start_fd("17"), 17);
    assert_int_equal(run_start_fd(""), -1);
    assert_int_equal(run_start_fd("-1"), -1);
    assert_int_equal(run_start_fd(" 1"), -1);
    assert_int_equal(run_start_fd("1x"), -1);
    assert_int_equal(run_start_fd("99999999999999999999"), -1);
}

static void test_nobody_asks(void **state)
{
    const struct run_start s = {.ready_fd = -1, .start_fd = -1};
    ns_t before = clock_mono(), start;
    struct message m;

    (void)state;
    assert_int_equal(run_start_await(&s, -1, &start, &m), 0);
    assert_true(start >= before && start <= clock_mono());
}

/* Both pipes, as a run has them; the start is a little ahead. */
static int await(ns_t ahead, int stop_fd, ns_t *start, struct message *m)
{
    ns_t at = clock_mono() + (ahead == NS_NEVER ? 0 : ahead);
    int ready[2], begin[2], rc;
    struct run_start s;
    char byte = 0;

    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(begin), 0);
    s = (struct run_start){.ready_fd = ready[1], .start_fd = begin[0]};
    if (ahead != NS_NEVER) {
        assert_int_equal(write(begin[1], &at, sizeof at), sizeof at);
    }
    close(begin[1]);
    rc = run_start_await(&s, stop_fd, start, m);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    if (!rc) {
        assert_int_equal(*start, at);
        assert_true(clock_mono() >= at);
    }
    close(ready[0]);
    close(ready[1]);
    close(begin[0]);
    return rc;
}

static void test_a_common_start(void **state)
{
    struct message m;
    ns_t start;

    (void)state;
    assert_int_equal(await(20 * NS_PER_MS, -1, &start, &m), 0);
    assert_int_equal(await(-NS_PER_MS, -1, &start, &m), 0);
    assert_int_equal(await(NS_NEVER, -1, &start, &m), ERR_OS);
    assert_non_null(strstr(m.text, "--start-fd"));
}

static void test_told_to_end_before(void **state)
{
    int fd = run_start_signals();
    struct message m;
    ns_t start;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(raise(SIGTERM), 0);
    assert_int_equal(await(60 * NS_PER_S, fd, &start, &m), ERR_LIMIT);
    close(fd);
}

static void test_nobody_listens(void **state)
{
    struct run_start s = {.start_fd = -1};
    struct message m;
    ns_t start;
    int ready[2];

    (void)state;
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(pipe(ready), 0);
    close(ready[0]);
    s.ready_fd = ready[1];
    assert_int_equal(run_start_await(&s, -1, &start, &m), ERR_OS);
    close(ready[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_nobody_asks),
        cmocka_unit_test(test_a_common_start),
        cmocka_unit_test(test_nobody_listens),
        cmocka_unit_test(test_told_to_end_before),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
