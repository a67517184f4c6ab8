/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How agents that do not end are made to, without a network. */
#include "testbed/run/netns_agents.h"

#include "testbed/run/child.h"
#include "testbed/run/netns_run.h"
#include "testbed/wire/realtime.h"

#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SOON (10 * NS_PER_S)

static int heeds_nothing(void *arg)
{
    int *ready = arg;

    signal(SIGTERM, SIG_IGN);
    (void)!write(ready[1], "", 1);
    while (pause()) {
    }
    return 0;
}

static struct netns_side stubborn(void)
{
    struct netns_side s = {.agent = CHILD_NONE, .waited_before = NS_NEVER, .waited = NS_NEVER};
    int ready[2];
    char byte;
    struct child_options o = {.name = "agent", .ns_fd = -1, .run = heeds_nothing, .arg = ready};
    struct message m;

    assert_int_equal(pipe(ready), 0);
    assert_int_equal(child_start(&s.agent, &o, &m), 0);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return s;
}

/* SIGTERM, then SIGKILL, each when its time has come and not before. */
static void test_steps(void **state)
{
    struct netns_side s = stubborn();
    struct netns_stopping stop = {.side = &s, .next = 100, .signal = SIGTERM};

    (void)state;
    netns_agents_step(&stop, 99);
    assert_int_equal(s.told, 0);
    netns_agents_step(&stop, 100);
    assert_int_equal(s.told, 100);
    assert_false(s.timed_out);
    assert_int_equal(stop.next, 100 + NETNS_STOP_GRACE);
    netns_agents_step(&stop, 100 + NETNS_STOP_GRACE - 1);
    assert_false(s.timed_out);
    netns_agents_step(&stop, 100 + NETNS_STOP_GRACE);
    assert_true(s.timed_out);
    assert_true(child_wait(&s.agent, realtime_mono() + SOON));
    assert_int_equal(WTERMSIG(s.agent.status), SIGKILL);
}

/* On a starved host even a killed process takes its time to go. What it waited for before it was
 * killed stays what is said of it. */
static void test_second_kill(void **state)
{
    struct netns_side s = stubborn();
    struct netns_stopping stop = {.side = &s, .next = 0, .signal = SIGTERM};
    struct pollfd p = {.fd = s.agent.pidfd, .events = POLLIN};

    (void)state;
    netns_agents_step(&stop, 0);
    netns_agents_step(&stop, stop.next);
    assert_true(s.timed_out);
    s.waited = 1200 * NS_PER_MS;                               /* of the 2 s before */
    assert_int_equal(poll(&p, 1, (int)(SOON / NS_PER_MS)), 1); /* dead, but not reaped */
    netns_agents_step(&stop, stop.next);
    assert_true(s.timed_out && s.waited == 1200 * NS_PER_MS);
    assert_true(child_wait(&s.agent, realtime_mono() + SOON));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_second_kill),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
