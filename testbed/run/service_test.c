/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A service answers, fails with its own words, or ends; whoever started it learns which. */
#include "testbed/run/service.h"

#include "agents/base/err.h"
#include "testbed/wire/realtime.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define SOON (10 * NS_PER_S) /* nothing here takes long, but the host may be busy */
#define MANY 20000           /* more packets than a socket holds */

static struct message m;

static struct service start(int (*serve)(int fd, void *arg))
{
    struct service_options o = {.child = {.name = "helper", .ns_fd = -1}, .serve = serve};
    struct service s;

    if (service_start(&s, &o, &m)) {
        fail_msg("%s", m.text);
    }
    return s;
}

static void expect_failure(struct service *s, int code, ns_t deadline, const char *text)
{
    int64_t got;

    assert_int_equal(service_expect(s, &got, sizeof got, deadline, &m), code);
    if (!strstr(m.text, text)) {
        fail_msg("\"%s\" does not say \"%s\"", m.text, text);
    }
}

/* Doubles what it is told until that is 0. */
static int doubles(int fd, void *arg)
{
    char c;

    (void)arg;
    while (read(fd, &c, 1) == 1 && c) {
        const int64_t v = 2 * c;

        service_answer(fd, 0, NULL, &v, sizeof v);
    }
    return 0;
}

static void test_answers(void **state)
{
    struct service s = start(doubles);
    int64_t v;

    (void)state;
    for (char c = 1; c < 5; c++) {
        assert_int_equal(service_command(&s, c, &m), 0);
        assert_int_equal(service_expect(&s, &v, sizeof v, realtime_mono() + SOON, &m), 0);
        assert_int_equal(v, 2 * c);
    }
    expect_failure(&s, ERR_OS, realtime_mono(), "helper does not answer");
    assert_int_equal(service_command(&s, 0, &m), 0);
    assert_true(child_wait(&s.child, realtime_mono() + SOON));
    assert_int_equal(service_command(&s, 1, &m), ERR_OS);
    assert_non_null(strstr(m.text, "helper does not listen"));
    service_kill(&s);
    assert_int_equal(s.fd, -1);
}

static int fails(int fd, void *arg)
{
    struct message why;

    (void)arg;
    message_set(&why, 0, "the disk is full");
    service_answer(fd, ERR_LIMIT, &why, NULL, 0);
    return 7;
}

/* Its own words come first; then how it ended. */
static void test_failure_and_end(void **state)
{
    struct service s = start(fails);

    (void)state;
    expect_failure(&s, ERR_LIMIT, realtime_mono() + SOON, "the disk is full");
    expect_failure(&s, ERR_OS, realtime_mono() + SOON, "helper ended: exit status 7");
    service_kill(&s);
}

static int says_little(int fd, void *arg)
{
    (void)arg;
    service_answer(fd, 0, NULL, "x", 1);
    return 0;
}

static void test_out_of_turn(void **state)
{
    struct service s = start(says_little);

    (void)state;
    expect_failure(&s, ERR_OS, realtime_mono() + SOON, "helper answers out of turn");
    service_kill(&s);
}

static int waits(int fd, void *arg)
{
    (void)fd;
    (void)arg;
    pause(); /* until it is killed */
    return 0;
}

/* Two processes that never rest, on one processor. */
static int spins(int fd, void *arg)
{
    char c;

    (void)arg;
    while (recv(fd, &c, 1, MSG_DONTWAIT) != 0) {
    }
    return 0;
}

static void test_waiting_for_a_processor(void **state)
{
    struct service one, other;
    cpu_set_t before, first;
    ns_t end = realtime_mono() + SOON, waited = 0;

    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&first);
    for (size_t i = 0; i < CPU_SETSIZE && !CPU_COUNT(&first); i++) {
        if (CPU_ISSET(i, &before)) {
            CPU_SET(i, &first);
        }
    }
    assert_int_equal(sched_setaffinity(0, sizeof first, &first), 0);
    one = start(spins);
    other = start(spins);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    if (child_waited(&one.child) == NS_NEVER) {
        print_message("this kernel does not count who waits for a processor\n");
        service_kill(&one);
        service_kill(&other);
        skip();
    }
    while (waited < 30 * NS_PER_MS && realtime_mono() < end) {
        waited = child_waited(&one.child);
    }
    assert_true(waited >= 30 * NS_PER_MS && waited != NS_NEVER);
    service_kill(&one);
    service_kill(&other);
    assert_true(child_waited(&one.child) == NS_NEVER);
}

static void test_killed(void **state)
{
    struct service s = start(waits);

    (void)state;
    child_signal(&s.child, SIGKILL);
    expect_failure(&s, ERR_OS, realtime_mono() + SOON, "killed by signal 9");
    assert_false(child_running(&s.child));
    s = start(waits);
    service_kill(&s);
    assert_false(child_running(&s.child));
    assert_true(WIFSIGNALED(s.child.status));
}

static int chatters(int fd, void *arg)
{
    (void)arg;
    for (int64_t i = 0; i < MANY; i++) {
        service_notify(fd, &i, sizeof i);
    }
    return 0;
}

/* News do not wait for a starter that does not listen, and arrive in order when it does. */
static void test_news_do_not_wait(void **state)
{
    struct service s = start(chatters);
    int64_t v, n = 0;

    (void)state;
    assert_true(child_wait(&s.child, realtime_mono() + SOON));
    while (!service_expect(&s, &v, sizeof v, realtime_mono() + SOON, &m)) {
        assert_int_equal(v, n++);
    }
    assert_in_range(n, 1, MANY - 1);
    service_kill(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),          cmocka_unit_test(test_failure_and_end),
        cmocka_unit_test(test_out_of_turn),      cmocka_unit_test(test_waiting_for_a_processor),
        cmocka_unit_test(test_out_of_turn),      cmocka_unit_test(test_killed),
        cmocka_unit_test(test_news_do_not_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
