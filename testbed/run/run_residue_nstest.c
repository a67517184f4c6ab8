/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole runs in real namespaces: what SIGKILL leaves, and whether two runs at once meet. */
#include "agents/record/reason.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "testbed/run/run_fixture_test.h"
#include "testbed/run/run_residue_test.h"

#define KILLS 20
#define RESIDUE_LIMIT NS_PER_S

/* Short, but with every phase: set-up, traffic, drain, teardown; and with every kind of process. */
static const char scenario[] = "name: short\n"
                               "path: {rate: 5mbit, delay: 10ms, queue: 300ms}\n"
                               "flows:\n"
                               "  - {kind: media}\n"
                               "  - {kind: data, size: endless, start: 500ms}\n"
                               "call2: {start: 0s, direction: backward}\n"
                               "tcp: {congestion-control: reno}\n"
                               "udp: {rate: 100kbit}\n"
                               "duration: 1500ms\n";

/* The same with three bottlenecks in line: as many processes more as there can be. */
static const char line[] = "name: line\n"
                           "path: {rate: 5mbit, delay: 10ms, queue: 50ms}\n"
                           "path2: {rate: 8mbit, delay: 10ms, queue: 50ms}\n"
                           "path3: {rate: 6mbit, delay: 10ms, queue: 50ms}\n"
                           "flows: [{kind: media}]\n"
                           "call2: {start: 0s, direction: backward, segments: second}\n"
                           "call3: {start: 0s, segments: third}\n"
                           "tcp: {congestion-control: reno}\n"
                           "duration: 1500ms\n";

static struct run_process_fixture line_fixture;

static int set_up(void **state)
{
    run_process_set_up(&fixture, scenario);
    run_process_set_up(&line_fixture, line);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    run_process_remove_dir(fixture.dir);
    run_process_remove_dir(line_fixture.dir);
    return 0;
}

static pid_t start_run_as(const struct run_process_fixture *f, int number, const char *option)
{
    char out[400];
    const char *args[] = {"run", f->file, "--link", "wire", "--quiet", "--out", out, option, NULL};

    snprintf(out, sizeof out, "%s/out-%d", f->dir, number);
    return run_process_start(args, f->log);
}

static pid_t start_run(const struct run_process_fixture *f, int number)
{
    return start_run_as(f, number, NULL);
}

/* 0 when the run is valid, or invalid for nothing but lateness, which two runs on a busy machine
 * cannot help; else what is wrong with it. */
static int check_run(const struct run_process_fixture *f, int number, int status)
{
    char path[500];
    json_t *manifest, *reason;
    size_t i;

    snprintf(path, sizeof path, "%s/out-%d/all-1/manifest.json", f->dir, number);
    manifest = json_load_file(path, 0, NULL);
    if (!manifest || (status != 0 && status != 4)) {
        run_process_show(f->log);
        json_decref(manifest);
        return status ? status : -1;
    }
    json_array_foreach(json_object_get(manifest, "invalid"), i, reason)
    {
        const char *name = json_string_value(json_object_get(reason, "reason"));
        if (!reason_is_host(name)) {
            print_message("invalid: %s\n", name);
            json_decref(manifest);
            return 4;
        }
        print_message("run %d on a busy machine: %s\n", number, name);
    }
    json_decref(manifest);
    return 0;
}

static void test_sigkill_leaves_nothing(void **state)
{
    struct run_process_fixture *f = *state;
    static struct run_residue_set seen;
    struct run_residue before;
    ns_t length, start, worst = 0;
    size_t namespaces = 0;
    int status;

    need_namespaces();
    run_residue_count(&before, &seen);
    assert_int_equal(before.processes, 0);

    start = run_process_now();
    status = run_process_wait(start_run(f, 0));
    length = run_process_now() - start;
    assert_int_equal(check_run(f, 0, status), 0);
    assert_true(run_residue_wait(&before, &seen, RESIDUE_LIMIT) < NS_NEVER);

    for (int i = 1; i <= KILLS; i++) {
        pid_t pid = start_run(f, i);
        ns_t left;

        run_process_sleep_until(run_process_now() + length * i / (KILLS + 1));
        seen.count = 0;
        run_residue_namespaces(&seen);
        namespaces += seen.count;
        kill(pid, SIGKILL);
        run_process_wait(pid);
        left = run_residue_wait(&before, &seen, RESIDUE_LIMIT);
        if (left == NS_NEVER) {
            print_message("killed %.0f ms after the start of a run of %.0f ms\n",
                          ns_to_ms(length * i / (KILLS + 1)), ns_to_ms(length));
        }
        assert_true(left < NS_NEVER);
        worst = ns_max(worst, left);
    }
    /* else the moments missed the runs and nothing was tested */
    assert_true(namespaces > KILLS);
    print_message("%d times SIGKILL over %.1f s, %zu namespaces in all: clean after at most %.0f "
                  "ms\n",
                  KILLS, ns_to_s(length), namespaces, ns_to_ms(worst));
}

/* At moments after all namespaces are there: while it gets ready, and in the middle of it. */
static void test_sigkill_of_a_line_leaves_nothing(void **state)
{
    static const ns_t moments[] = {100 * NS_PER_MS, 500 * NS_PER_MS, 1200 * NS_PER_MS};
    static struct run_residue_set seen;
    struct run_residue before;
    size_t most = 0;

    (void)state;
    need_namespaces();
    run_residue_count(&before, &seen);
    for (size_t i = 0; i < sizeof moments / sizeof moments[0]; i++) {
        pid_t pid = start_run_as(&line_fixture, (int)i, "--no-certificate");

        run_process_sleep_until(run_process_now() + moments[i]);
        seen.count = 0;
        run_residue_namespaces(&seen);
        most = seen.count > most ? seen.count : most;
        kill(pid, SIGKILL);
        run_process_wait(pid);
        assert_true(run_residue_wait(&before, &seen, RESIDUE_LIMIT) < NS_NEVER);
    }
    assert_true(most > 0);
    print_message("up to %zu namespaces, nothing left\n", most);
}

static void test_interrupt_leaves_nothing(void **state)
{
    struct run_process_fixture *f = *state;
    static struct run_residue_set seen;
    struct run_residue before;

    need_namespaces();
    run_residue_count(&before, &seen);
    pid_t pid = start_run(f, 50);
    run_process_sleep_until(run_process_now() + 900 * NS_PER_MS);
    run_residue_namespaces(&seen);
    assert_true(seen.count > 0);
    kill(pid, SIGINT);
    assert_int_equal(run_process_wait(pid), 130);
    assert_true(run_residue_wait(&before, &seen, RESIDUE_LIMIT) < NS_NEVER);
}

static void test_two_runs_do_not_meet(void **state)
{
    struct run_process_fixture *f = *state;
    static struct run_residue_set seen;
    struct run_residue before;
    pid_t a, b;
    int status_a, status_b;

    need_namespaces();
    run_residue_count(&before, &seen);
    a = start_run(f, 100);
    b = start_run(f, 101);
    run_process_sleep_until(run_process_now() + 900 * NS_PER_MS);
    run_residue_namespaces(&seen);
    status_a = run_process_wait(a);
    status_b = run_process_wait(b);
    assert_int_equal(check_run(f, 100, status_a), 0);
    assert_int_equal(check_run(f, 101, status_b), 0);
    assert_true(run_residue_wait(&before, &seen, RESIDUE_LIMIT) < NS_NEVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sigkill_leaves_nothing),
        cmocka_unit_test(test_sigkill_of_a_line_leaves_nothing),
        cmocka_unit_test(test_interrupt_leaves_nothing),
        cmocka_unit_test(test_two_runs_do_not_meet),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
