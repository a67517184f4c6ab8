/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Commands in the agents' place, through the whole program: what they are given, how runs end, and
 * that whatever they start ends with them. */
#include "agents/base/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "testbed/run/run_fixture_test.h"
#include "testbed/run/run_residue_test.h"

#define CLEAN_WITHIN NS_PER_S

static pid_t start_scenario(const char *exec, const char *rest)
{
    char text[2000], out[300];
    const char *const args[] = {"run",   "--link", "wire",       "--no-certificate",
                                "--out", out,      fixture.file, NULL};

    snprintf(out, sizeof out, "%s/out", fixture.dir);
    snprintf(text, sizeof text,
             "name: commands\nstack: exec\npath: {rate: 5mbit, delay: 5ms, queue: 100ms}\n"
             "exec:\n%s%s",
             exec, rest);
    run_process_write(fixture.dir, "scenario.yaml", text);
    return run_process_start(args, fixture.log);
}

static int run_scenario(const char *exec, const char *rest)
{
    return run_process_wait(start_scenario(exec, rest));
}

static void expect_status(int status, int wanted)
{
    if (status != wanted) {
        run_process_show(fixture.log);
    }
    assert_int_equal(status, wanted);
}

static void test_what_commands_are_given(void **state)
{
    (void)state;
    need_namespaces();
    expect_status(run_scenario("  receiver: env > $MUXBED_RUN_DIR/env; echo up; sleep 60\n"
                               "  ready: \"line:up\"\n"
                               "  sender: bash -c 'for i in 1 2 3 4 5; do echo $i$MUXBED_OPTION > "
                               "/dev/udp/$MUXBED_REMOTE/$MUXBED_PORT; done'; echo said\n"
                               "  option: hello\n",
                               "seed: 7\n"),
                  0);
    fixture_expect("out/all-1/env", "MUXBED_ROLE=receiver\n");
    fixture_expect("out/all-1/env", "MUXBED_LOCAL=10.77.3.2\n");
    fixture_expect("out/all-1/env", "MUXBED_REMOTE=10.77.1.1\n");
    fixture_expect("out/all-1/env", "MUXBED_RATE_BPS=5000000\n");
    fixture_expect("out/all-1/env", "MUXBED_DELAY_MS=5\n");
    fixture_expect("out/all-1/env", "MUXBED_SEED=7\n");
    fixture_expect("out/all-1/env", "MUXBED_OPTION=hello\n");
    fixture_expect("out/all-1/log/sender.out", "said\n");
    fixture_expect("out/all-1/metrics.json", "\"valid\": true");
    fixture_expect("out/all-1/traffic.csv", "forward,udp,10.77.1.1:");
    fixture_expect("out/all-1/scenario.yaml", "option: \"hello\"");
}

static void test_a_port_is_awaited(void **state)
{
    (void)state;
    need_namespaces();
    /* were the sender not to wait, it would be refused */
    expect_status(
        run_scenario("  receiver: \"perl -MIO::Socket::INET -e 'select(undef, undef, undef, "
                     "0.5); my $s = IO::Socket::INET->new(Listen => 1, LocalPort => 5000) "
                     "or die; print length readline($s->accept()), qq(.)'\"\n"
                     "  ready: tcp:5000\n"
                     "  sender: bash -c 'echo -n four > "
                     "/dev/tcp/$MUXBED_REMOTE/$MUXBED_PORT'\n",
                     ""),
        0);
    fixture_expect("out/all-1/log/receiver.out", "4.");
}

static void test_the_sender_may_serve(void **state)
{
    (void)state;
    need_namespaces();
    expect_status(run_scenario("  serves: sender\n"
                               "  sender: echo one; sleep 60\n"
                               "  ready: line:one\n"
                               "  receiver: bash -c 'echo x > /dev/udp/$MUXBED_REMOTE/7'\n",
                               ""),
                  0);
    fixture_expect("out/all-1/metrics.json", "\"valid\": true");
}

static void test_failures_have_names(void **state)
{
    static const struct {
        const char *exec, *rest, *wanted;
    } cases[] = {
        {"  receiver: sleep 60\n  sender: \"bash -c 'echo x > /dev/udp/$MUXBED_REMOTE/9'; exit "
         "3\"\n",
         "", "sender: exit status 3"},
        {"  receiver: sleep 60\n  sender: \"true\"\n", "", "exec-silent"},
        {"  receiver: sleep 60\n  sender: \"bash -c 'echo x > /dev/udp/$MUXBED_REMOTE/9'; sleep "
         "60\"\n",
         "time-limit: 1s\n", "exec-unfinished"},
        {"  receiver: sleep 60\n  ready: udp:5000\n  ready-timeout: 300ms\n  sender: sleep 1\n", "",
         "exec.ready-timeout"},
        {"  receiver: echo no such thing >&2; exit 1\n  ready: udp:5000\n  sender: sleep 1\n", "",
         "the receiver did not start: no such thing"},
    };

    (void)state;
    need_namespaces();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char out[600];

        assert_int_not_equal(run_scenario(cases[i].exec, cases[i].rest), 0);
        fixture_expect("log", cases[i].wanted);
        snprintf(out, sizeof out, "%s/out", fixture.dir);
        run_process_remove_dir(out);
        remove(fixture.log);
    }
}

/* Both commands leave processes in the background, one of which ignores SIGTERM. */
static const char leaving[] =
    "  receiver: \"(trap '' TERM; sleep 1000 & sleep 1000) & sleep 1000\"\n"
    "  sender: \"setsid sleep 1000 & bash -c 'echo x > /dev/udp/$MUXBED_REMOTE/9' > "
    "/dev/null; sleep 1000\"\n";

static void test_duration_ends_all(void **state)
{
    static struct run_residue_set seen;
    struct run_residue before;

    (void)state;
    need_namespaces();
    run_residue_count(&before, &seen);
    (void)run_scenario(leaving, "duration: 1s\n");
    assert_true(run_residue_wait(&before, &seen, CLEAN_WITHIN) < NS_NEVER);
    assert_non_null(strstr(fixture_read("out/all-1/manifest.json"), "\"duration_ns\""));
    assert_null(strstr(fixture_read("out/all-1/manifest.json"), "exec-unfinished"));
}

static void test_sigkill_ends_all(void **state)
{
    static struct run_residue_set seen;
    struct run_residue before;

    (void)state;
    need_namespaces();
    run_residue_count(&before, &seen);
    for (int i = 0; i < 4; i++) {
        pid_t pid = start_scenario(leaving, "duration: 20s\n");

        run_process_sleep_until(run_process_now() + (300 + i * 300) * NS_PER_MS);
        run_residue_namespaces(&seen);
        kill(pid, SIGKILL);
        run_process_wait(pid);
        assert_true(run_residue_wait(&before, &seen, CLEAN_WITHIN) < NS_NEVER);
        run_process_remove_dir(fixture.dir);
        assert_int_equal(mkdir(fixture.dir, 0777), 0);
    }
    assert_true(seen.count > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_commands_are_given, make_fixture, remove_fixture),
        cmocka_unit_test_setup_teardown(test_a_port_is_awaited, make_fixture, remove_fixture),
        cmocka_unit_test_setup_teardown(test_the_sender_may_serve, make_fixture, remove_fixture),
        cmocka_unit_test_setup_teardown(test_failures_have_names, make_fixture, remove_fixture),
        cmocka_unit_test_setup_teardown(test_duration_ends_all, make_fixture, remove_fixture),
        cmocka_unit_test_setup_teardown(test_sigkill_ends_all, make_fixture, remove_fixture),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
