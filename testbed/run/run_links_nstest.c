/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One scenario on two kinds of link: what the simulator says must be what kernel queues, sockets
 * and clocks do, within the bands the project states, as build/analyze judges them
 * (analysis/report/agreement.h). More scenarios: make test-links. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "testbed/run/run_fixture_test.h"

/* The rate before the file is not among the bands: its few seconds hold one or two teeth of the
 * estimate's saw, whose phase moves a run's mean by more than 3 %. */
#define RUNS 3
/* A busy machine may spoil real runs, which then say so. One more set is allowed; where that is
 * spoilt as well there is nothing to compare, and nothing wrong. */
#define ATTEMPTS 2
#define STATUS_INVALID 4

static const char scenario[] = "name: links\n"
                               "path: {rate: 5mbit, delay: 10ms, queue: 300ms}\n"
                               "flows:\n"
                               "  - {kind: media}\n"
                               "  - {kind: data, size: 2500kB, start: 6s}\n"
                               "linger: 1s\n";

static const char *const metrics[] = {
    "file_time_s:whole",       "media_throughput_bps:during",      "link_utilisation_ratio:during",
    "media_owd_ms_p50:before", "media_owd_ms_p50:during",          "media_owd_ms_p95:during",
    "media_owd_ms_p99:during", "media_sender_queue_ms_p95:during",
};

#define METRICS (sizeof metrics / sizeof metrics[0])

static int set_up(void **state)
{
    run_process_set_up(&fixture, scenario);
    *state = &fixture;
    return 0;
}

/* Runs the repetitions on link into out. Returns the exit status. */
static int run_all(const struct run_process_fixture *f, const char *link, const char *out)
{
    char runs[16];
    const char *args[] = {"run",    f->file, "--link", link, "--quiet",
                          "--runs", runs,    "--out",  out,  NULL};

    snprintf(runs, sizeof runs, "%d", RUNS);
    return run_process_wait(run_process_start(args, f->log));
}

/* Lets build/analyze compare the two sets of runs, and prints its table. Returns its status. */
static int compare(const struct run_process_fixture *f, const char *sim, const char *real)
{
    char program[RUN_PROCESS_PATH_MAX], log[300], *name;
    const char *argv[2 * METRICS + 8] = {program, "agree", sim, real, "--runs-min", "2"};
    size_t n = 6;
    pid_t pid;

    run_process_program(program, sizeof program);
    name = strrchr(program, '/') + 1;
    snprintf(name, sizeof program - (size_t)(name - program), "analyze");
    for (size_t i = 0; i < METRICS; i++) {
        argv[n++] = "--metric";
        argv[n++] = metrics[i];
    }
    snprintf(log, sizeof log, "%s/agree.log", f->dir);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0644);

        if (fd >= 0 && dup2(fd, 1) >= 0 && dup2(fd, 2) >= 0) {
            execv(program, (char *const *)(uintptr_t)argv);
        }
        _exit(127);
    }
    int status = run_process_wait(pid);
    run_process_show(log);
    return status;
}

static void test_links_agree(void **state)
{
    struct run_process_fixture *f = *state;
    char sim[300], real[300], why[200];
    int status = -1, verdict = STATUS_INVALID;

    if (run_netns_probe(RUN_LINK_WIRE, why, sizeof why)) {
        print_message("no namespaces here: %s\n", why);
        skip();
    }
    snprintf(sim, sizeof sim, "%s/sim", f->dir);
    assert_int_equal(run_all(f, "sim", sim), 0);
    for (int i = 0; i < ATTEMPTS && verdict == STATUS_INVALID; i++) {
        snprintf(real, sizeof real, "%s/real-%d", f->dir, i);
        status = run_all(f, "wire", real);
        if (status != 0) {
            run_process_show(f->log);
            assert_int_equal(status, STATUS_INVALID);
        }
        verdict = compare(f, sim, real);
    }
    if (verdict == STATUS_INVALID) {
        print_message("this host is too busy for a valid run\n");
        return;
    }
    assert_int_equal(verdict, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_links_agree)};

    return cmocka_run_group_tests(tests, set_up, remove_fixture);
}
