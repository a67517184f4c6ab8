/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A sweep in real namespaces whose processes are killed, at moments spread over all of it:
 * muxbed itself, an agent, the delay line, the captures. Nothing is left behind, and going on with
 * the sweep ends with every run once. KILLS says how often (make test-kill). */
#include "testbed/cmd/cmd_test_help.h"
#include "testbed/cmd/plan_index.h"
#include "testbed/cmd/run_state.h"

#include <jansson.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "testbed/run/run_fixture_test.h"
#include "testbed/run/run_residue_test.h"

#define KILLS_DEFAULT 4
#define RESIDUE_LIMIT NS_PER_S
#define APPEARS_LIMIT (20 * NS_PER_S)
#define RUNS 2
/* A busy host may spoil runs, which are then made again. On one that is too busy for any run it is
 * enough that each says so. */
#define TRIES_MAX 4

static const char scenario[] = "name: short\n"
                               "path: {rate: 5mbit, delay: 10ms, queue: 300ms}\n"
                               "flows:\n"
                               "  - {kind: media}\n"
                               "  - {kind: data, size: endless, start: 500ms}\n"
                               "duration: 1s\n"
                               "runs: 2\n";

enum victim { VICTIM_MUXBED, VICTIM_AGENT, VICTIM_WIRE, VICTIM_CAPTURE, VICTIMS };

static const char *const victim_names[VICTIMS] = {"muxbed", "agent", "wire", "capture"};
/* What their standard error leads to, by which they are known. */
static const char *const victim_logs[VICTIMS] = {NULL, "/log/sender.log", "/log/wire.log",
                                                 "/log/capture.log"};

static int set_up(void **state)
{
    run_process_set_up(&fixture, scenario);
    *state = &fixture;
    return 0;
}

struct search {
    const char *log;
    pid_t found;
};

static void see(void *ctx, const char *pid, bool ours)
{
    struct search *s = ctx;
    char path[300], target[RUN_PROCESS_PATH_MAX];
    size_t len = strlen(s->log);
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/%s/fd/2", pid);
    n = ours ? readlink(path, target, sizeof(target)) : -1;
    if (n > (ssize_t)len && !memcmp(target + n - len, s->log, len))
        s->found = (pid_t)atoi(pid);
}

/* A process of the sweep whose standard error is that log, or 0. */
static pid_t find(const char *log)
{
    struct search s = {.log = log};

    run_residue_each(see, &s);
    return s.found;
}

static pid_t start_sweep(const struct run_process_fixture *f, const char *out)
{
    const char *args[] = {"run", f->file, "--link", "wire",     "--quiet",          "--jobs",
                          "2",   "--out", out,      "--resume", "--no-certificate", "--keep",
                          "all", NULL};

    return run_process_start(args, f->log);
}

static void count_ours(void *ctx, const char *pid, bool ours)
{
    (void)pid;
    *(size_t *)ctx += ours;
}

/* How long until nothing is left; NS_NEVER beyond the limit. A namespace that no process of ours is
 * in or holds is gone: nothing of a sweep is pinned. (Its number may be another program's by then,
 * so it is no use to look for that.) */
static ns_t wait_clean(void)
{
    ns_t start = run_process_now();
    size_t processes;

    do {
        processes = 0;
        run_residue_each(count_ours, &processes);
        if (processes == 0)
            return run_process_now() - start;
        poll(NULL, 0, 10);
    } while (run_process_now() - start < RESIDUE_LIMIT);
    print_message("left: %zu processes\n", processes);
    return NS_NEVER;
}

/* About how long a sweep lasts, and the processes of one of its runs. */
#define SWEEP_TIME (4 * NS_PER_S)
#define RUN_TIME (1200 * NS_PER_MS)

/* Waits for such a process of the sweep; 0 when there is none any more. */
static pid_t await(enum victim victim, pid_t sweep)
{
    ns_t begin = run_process_now();
    siginfo_t info = {0};
    pid_t pid;

    while (!(pid = find(victim_logs[victim])) && run_process_now() - begin < APPEARS_LIMIT &&
           !waitid(P_PID, (id_t)sweep, &info, WEXITED | WNOHANG | WNOWAIT) && !info.si_pid)
        poll(NULL, 0, 5);
    return pid;
}

/* Kills one of the sweep's processes, part (0..1) of its time after it is there, or else the next
 * of its kind. Returns whether there was one. */
static bool kill_one(enum victim victim, pid_t sweep, double part)
{
    ns_t span = (ns_t)(part * (victim == VICTIM_MUXBED ? SWEEP_TIME : RUN_TIME));
    pid_t pid = sweep;

    if (victim != VICTIM_MUXBED && !await(victim, sweep))
        return false;
    run_process_sleep_until(run_process_now() + span);
    if (victim != VICTIM_MUXBED)
        pid = await(victim, sweep);
    return pid > 0 && !kill(pid, SIGKILL);
}

/* Goes on until every run is there and good, or often enough. Returns the last exit status. */
static int finish_sweep(const struct run_process_fixture *f, const char *out)
{
    int status = -1;

    for (int i = 0; i < TRIES_MAX; i++) {
        status = run_process_wait(start_sweep(f, out));
        if (status != 4)
            break;
    }
    return status;
}

static size_t number(const json_t *cell, const char *key)
{
    return (size_t)json_integer_value(json_object_get(cell, key));
}

/* sweep.log tells how many runs there were at once. */
static void check_log(const char *out)
{
    char path[CMD_PATH_MAX], line[512];
    bool told = false;
    FILE *log;

    assert_int_equal(cmd_join(path, out, "sweep.log"), 0);
    log = fopen(path, "re");
    assert_non_null(log);
    while (fgets(line, sizeof(line), log))
        told |= strstr(line, "admission: at most ") && strstr(line, " at once of 2 asked for; ");
    fclose(log);
    assert_true(told);
}

/* Every run once, in the index and in the summary. */
static void check_sweep(const char *out)
{
    char path[CMD_PATH_MAX], message[CMD_PATH_MAX], name[16];
    struct plan_index *x = NULL;
    struct plan_index_row row;
    const json_t *cell;
    struct run_verdict v;
    size_t invalid = 0;
    json_t *summary;

    assert_int_equal(plan_index_open(&x, out, message, sizeof(message)), 0);
    for (int r = 1; r <= RUNS; r++) {
        snprintf(name, sizeof(name), "all-%d", r);
        assert_true(plan_index_get(x, name, &row));
        assert_int_equal(cmd_join(path, out, name), 0);
        assert_int_equal(run_state_of(path), RUN_STATE_COMPLETE);
        run_state_judge(path, &v);
        if (v.invalid)
            print_message("%s on a busy host: %s\n", name, v.text);
        assert_true(!v.invalid || v.host);
        assert_int_equal(row.state, v.invalid ? PLAN_INDEX_INVALID : PLAN_INDEX_COMPLETE);
        invalid += v.invalid;
        assert_true(row.late_p99 != NS_NEVER && row.late_max >= row.late_p99);
    }
    assert_int_equal(plan_index_close(x, message, sizeof(message)), 0);
    assert_int_equal(cmd_join(path, out, "summary.json"), 0);
    summary = json_load_file(path, 0, NULL);
    cell = json_array_get(json_object_get(summary, "cells"), 0);
    assert_int_equal(json_array_size(json_object_get(summary, "cells")), 1);
    assert_int_equal(number(cell, "runs"), RUNS);
    assert_int_equal(number(cell, "invalid"), invalid);
    json_decref(summary);
}

static void test_kills(void **state)
{
    const struct run_process_fixture *f = *state;
    const char *given = getenv("KILLS");
    int kills = given ? atoi(given) : KILLS_DEFAULT, hit[VICTIMS] = {0}, status;
    char out[RUN_PROCESS_PATH_MAX], why[200];
    ns_t worst = 0;

    if (run_netns_probe(RUN_LINK_WIRE, why, sizeof(why))) {
        print_message("no namespaces here: %s\n", why);
        skip();
    }
    for (int i = 0; i < kills; i++) {
        enum victim victim = (enum victim)(i % VICTIMS);
        pid_t sweep;
        ns_t left;

        /* two kills of one sweep, while it has runs to make, then the next */
        snprintf(out, sizeof(out), "%s/out-%d", f->dir, i / 2);
        sweep = start_sweep(f, out);
        hit[victim] += kill_one(victim, sweep, (i + 0.5) / kills);
        status = run_process_wait(sweep);
        assert_true(status == 0 || status == 4 || status == 128 + SIGKILL);
        left = wait_clean();
        if (left == NS_NEVER)
            print_message("kill %d, of %s\n", i, victim_names[victim]);
        assert_true(left < NS_NEVER);
        worst = ns_max(worst, left);
        if (i % 2 || i == kills - 1) {
            status = finish_sweep(f, out);
            if (status != 0 && status != 4)
                run_process_show(f->log);
            assert_true(status == 0 || status == 4);
            check_sweep(out);
            check_log(out);
        }
    }
    print_message("killed: %d muxbed, %d agents, %d wires, %d captures; clean after at most %.0f "
                  "ms\n",
                  hit[0], hit[1], hit[2], hit[3], ns_to_ms(worst));
    assert_true(hit[VICTIM_MUXBED] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kills),
    };

    return cmocka_run_group_tests(tests, set_up, remove_fixture);
}
