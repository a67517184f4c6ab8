/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs of a plan in the simulator. The reducer is a program that only succeeds or fails: what it
 * computes is tested elsewhere. */
#include "testbed/cmd/executor.h"
#include "testbed/cmd/cmd_test_help.h"
#include "testbed/cmd/plan_index.h"
#include "testbed/cmd/process.h"
#include "testbed/cmd/run_state.h"

#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <cmocka.h>

static const char quick[] = "name: quick\n"
                            "flows: [{kind: data, size: 20kB}]\n"
                            "duration: 2s\n"
                            "runs: 2\n"
                            "grid: {path.delay: [1ms, 2ms]}\n";
/* Far more than is ever waited for. */
static const char endless[] = "flows: [{kind: media}, {kind: data, size: endless}]\n"
                              "duration: 7200s\n";
/* The file cannot arrive before the end. */
static const char unfinished[] = "flows: [{kind: data, size: 100MB}]\nduration: 2s\n";

struct job {
    const char *text, *analyze;
    char out[CMD_PATH_MAX];
    size_t jobs;
    bool resume;
};

/* In the child: exit status 10 x complete + invalid + 4 x failed, or 100 when interrupted. */
static int execute(void *ctx)
{
    struct job *job = ctx;
    struct executor e = {.link = RUN_LINK_SIM,
                         .link_why = "asked for",
                         .out = job->out,
                         .analyze = job->analyze,
                         .keep = KEEP_ALL,
                         .jobs = job->jobs,
                         .resume = job->resume};
    struct plan *plan = NULL;
    char message[CMD_PATH_MAX];
    int rv;

    if (plan_parse(&plan, "test", job->text, strlen(job->text), NULL, stderr))
        return 99;
    if (plan_index_open(&e.index, job->out, message, sizeof(message)) ||
        plan_index_add(e.index, plan))
        return 97;
    process_catch_signals();
    rv = executor_run(&e, plan);
    rv |= plan_index_close(e.index, message, sizeof(message));
    plan_free(plan);
    if (rv)
        return 98;
    return e.interrupted ? 100 : (int)(10 * e.complete + e.invalid + 4 * e.failed);
}

static void job_init(struct job *job, const char *text, const char *analyze)
{
    *job = (struct job){.text = text, .analyze = analyze, .jobs = 2};
    make_temporary(job->out);
}

struct seen {
    const char *const *names;
    size_t count;
};

static int see_run(void *ctx, const char *run_dir)
{
    struct seen *seen = ctx;

    assert_string_equal(strrchr(run_dir, '/') + 1, seen->names[seen->count++]);
    assert_true(cmd_exists(run_dir, "DONE"));
    assert_true(cmd_exists(run_dir, "manifest.json"));
    return 0;
}

static void test_complete(void **state)
{
    static const char *const names[] = {"path.delay=1ms-1", "path.delay=1ms-2", "path.delay=2ms-1",
                                        "path.delay=2ms-2"};
    struct seen seen = {.names = names};
    struct job job;
    struct outcome o;
    struct plan_index *index;
    struct plan_index_row row;
    char message[CMD_PATH_MAX];

    (void)state;
    job_init(&job, quick, "/bin/true");
    o = in_child(execute, &job);
    assert_int_equal(o.status, 40);
    assert_non_null(strstr(o.err, "run 4 of 4  "));
    assert_true(cmd_exists(job.out, EXECUTOR_LOG_FILE));
    assert_int_equal(plan_index_each(job.out, see_run, &seen, message, sizeof(message)), 0);
    assert_int_equal(seen.count, 4);
    assert_int_equal(plan_index_open(&index, job.out, message, sizeof(message)), 0);
    for (size_t i = 0; i < 4; i++) {
        assert_true(plan_index_get(index, names[i], &row));
        /* the reducer of this test writes no metrics, the manifest is judged */
        assert_int_equal(row.state, PLAN_INDEX_COMPLETE);
        assert_int_equal(row.attempts, 1);
        assert_true(row.started > 0);
        assert_true(row.wall_s > 0 && row.cpu_s > 0);
        assert_int_equal(row.late_p99, NS_NEVER);
    }
    assert_int_equal(plan_index_close(index, message, sizeof(message)), 0);
    assert_int_equal(cmd_remove_tree(job.out), 0);
}

/* What is half there is made again, what is complete stays as it is, what is not reduced is only
 * reduced. */
static void test_resume(void **state)
{
    struct job job;
    struct outcome o;
    char half[CMD_PATH_MAX], whole[CMD_PATH_MAX], raw[CMD_PATH_MAX];

    (void)state;
    job_init(&job, quick, "/bin/true");
    assert_int_equal(in_child(execute, &job).status, 40);
    assert_int_equal(cmd_join(half, job.out, "path.delay=1ms-1"), 0);
    assert_int_equal(cmd_join(whole, job.out, "path.delay=1ms-2"), 0);
    assert_int_equal(cmd_join(raw, job.out, "path.delay=2ms-1"), 0);
    write_file(half, "mark", "");
    write_file(whole, "mark", "");
    write_file(raw, "mark", "");
    write_file(whole, "metrics.json", "{\"invalid\":[]}");
    unlinkat(AT_FDCWD, strcat(half, "/DONE"), 0);
    *strrchr(half, '/') = '\0';
    assert_int_equal(run_state_of(half), RUN_STATE_HALF);
    assert_int_equal(run_state_of(whole), RUN_STATE_COMPLETE);
    assert_int_equal(run_state_of(raw), RUN_STATE_UNREDUCED);
    job.resume = true;
    o = in_child(execute, &job);
    assert_int_equal(o.status, 40);
    assert_non_null(strstr(o.err, "path.delay=1ms-1: was cut off; it is made again"));
    assert_non_null(strstr(o.err, "1 of 4 runs are there already"));
    assert_false(cmd_exists(half, "mark"));
    assert_true(cmd_exists(half, "DONE"));
    assert_true(cmd_exists(whole, "mark"));
    assert_true(cmd_exists(raw, "mark"));
    /* one whose processes were killed is made again, one that is invalid by itself is kept */
    write_file(whole, "metrics.json",
               "{\"invalid\":[{\"reason\":\"agent-exit\",\"detail\":\"killed by signal 9\"}]}");
    write_file(raw, "metrics.json", "{\"invalid\":[{\"reason\":\"file-unfinished\"}]}");
    o = in_child(execute, &job);
    assert_int_equal(o.status, 41);
    assert_false(cmd_exists(whole, "mark"));
    assert_true(cmd_exists(raw, "mark"));
    assert_int_equal(cmd_remove_tree(job.out), 0);
}

/* What a host that lost its power has left of a complete run: its metrics are reckoned anew where
 * it still has what they come from, else it is made again, as it is without a manifest. What stays
 * is not invalid. */
static void test_resume_damaged(void **state)
{
    static const struct {
        const char *file, *text;
        bool trimmed, kept;
    } cases[] = {
        {"metrics.json", "", false, true},
        {"metrics.json", "{\"invalid\":[", false, true},
        {"metrics.json", "{\"invalid\":[", true, false},
        {"manifest.json", "", false, false},
        {"manifest.json", "{\"schema\":1, \"inv", false, false},
    };
    struct job job;
    char dir[CMD_PATH_MAX], capture[CMD_PATH_MAX];

    (void)state;
    job_init(&job, quick, "/bin/true");
    assert_int_equal(in_child(execute, &job).status, 40);
    assert_int_equal(cmd_join(dir, job.out, "path.delay=1ms-2"), 0);
    assert_int_equal(cmd_join(capture, dir, "sender.pcap"), 0);
    job.resume = true;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct outcome o;

        write_file(dir, "mark", "");
        write_file(dir, cases[i].file, cases[i].text);
        if (cases[i].trimmed)
            assert_int_equal(unlinkat(AT_FDCWD, capture, 0), 0);
        o = in_child(execute, &job);
        if (o.status != 40 || cmd_exists(dir, "mark") != cases[i].kept)
            print_error("case %zu: %s", i, o.err);
        assert_int_equal(o.status, 40);
        assert_int_equal(cmd_exists(dir, "mark"), cases[i].kept);
        assert_non_null(strstr(o.err, cases[i].file));
        assert_non_null(
            strstr(o.err, cases[i].kept ? "; it is reduced again\n" : "; it is made again\n"));
    }
    assert_int_equal(cmd_remove_tree(job.out), 0);
}

static void test_reducer_fails(void **state)
{
    struct job job;
    struct outcome o;

    (void)state;
    job_init(&job, quick, "/bin/false");
    o = in_child(execute, &job);
    assert_int_equal(o.status, 4 * 4); /* a run that failed is not complete, too */
    assert_non_null(strstr(o.err, "failed in "));
    assert_non_null(strstr(o.err, "analyze reduce ended with status 1"));
    assert_int_equal(cmd_remove_tree(job.out), 0);
}

static void test_invalid(void **state)
{
    struct job job;
    struct outcome o;

    (void)state;
    job_init(&job, unfinished, "/bin/true");
    o = in_child(execute, &job);
    assert_int_equal(o.status, 11);
    assert_non_null(strstr(o.err, "invalid in "));
    assert_non_null(strstr(o.err, "file-unfinished"));
    assert_int_equal(cmd_remove_tree(job.out), 0);
}

/* A folder that is already there is never written into. */
static void test_run_folder_exists(void **state)
{
    struct job job;
    struct outcome o;
    char path[CMD_PATH_MAX];

    (void)state;
    job_init(&job, quick, "/bin/true");
    assert_int_equal(cmd_join(path, job.out, "path.delay=1ms-2"), 0);
    assert_int_equal(cmd_make_dirs(path), 0);
    o = in_child(execute, &job);
    assert_int_equal(o.status, 30 + 4);
    assert_non_null(strstr(o.err, "File exists"));
    assert_false(cmd_exists(path, "DONE"));
    assert_int_equal(cmd_remove_tree(job.out), 0);
}

/* An interrupt in the middle of a run: it ends soon, what was begun is removed. */
static void test_interrupt(void **state)
{
    struct job job;
    struct outcome o;
    FILE *out = tmpfile(), *err = tmpfile();
    char run_dir[CMD_PATH_MAX];
    pid_t pid;

    (void)state;
    assert_non_null(out);
    assert_non_null(err);
    job_init(&job, endless, "/bin/true");
    assert_int_equal(cmd_join(run_dir, job.out, "all-1"), 0);
    pid = start_child(execute, &job, out, err);
    assert_true(pid > 0);
    for (int i = 0; i < 2000 && !cmd_exists(run_dir, "sender.conf"); i++)
        poll(NULL, 0, 5);
    assert_true(cmd_exists(run_dir, "sender.conf"));
    assert_int_equal(kill(pid, SIGINT), 0);
    o = finish_child(pid, out, err);
    assert_int_equal(o.status, 100);
    assert_non_null(strstr(o.err, "interrupted in "));
    assert_false(cmd_exists(job.out, "all-1"));
    assert_true(cmd_exists(job.out, PLAN_INDEX_FILE));
    assert_int_equal(cmd_remove_tree(job.out), 0);
}

static int spawn_status(void *ctx)
{
    const char *const argv[] = {"/bin/sh", "-c", ctx, NULL};

    return process_spawn(argv, STDOUT_FILENO);
}

static void test_spawn(void **state)
{
    static const char *const none[] = {"/nonexistent", NULL};
    char say[] = "echo said", seven[] = "exit 7", die[] = "kill -9 $$";
    struct outcome o = in_child(spawn_status, say);

    (void)state;
    assert_int_equal(o.status, 0);
    assert_string_equal(o.out, "said\n");
    o = in_child(spawn_status, seven);
    assert_int_equal(o.status, 7);
    o = in_child(spawn_status, die);
    assert_int_equal(o.status, 128 + SIGKILL);
    assert_int_equal(process_spawn(none, -1), 127);
}

static void test_end_text(void **state)
{
    char text[PROCESS_END_MAX];

    (void)state;
    process_end_text(text, sizeof(text), 7);
    assert_string_equal(text, "ended with status 7");
    process_end_text(text, sizeof(text), 128 + SIGXFSZ);
    assert_string_equal(text, "was killed by signal 25 (File size limit exceeded)");
    process_end_text(text, sizeof(text), 255); /* no signal has this number */
    assert_string_equal(text, "ended with status 255");
}

static void test_invalid_manifests(void **state)
{
    static const struct {
        const char *text, *why;
        bool invalid, host;
    } cases[] = {
        {"{\"invalid\":[]}", "", false, false},
        {"{\"invalid\":[{\"reason\":\"agent-exit\",\"count\":1,\"detail\":\"x\"},{\"reason\":\"b\"}"
         "]}",
         "agent-exit (x), b", true, false},
        {"{\"invalid\":[{\"reason\":\"driver-stall\"}]}", "driver-stall", true, true},
        {"{}", "manifest.json: has no list", true, false},
        {"{", "manifest.json: ", true, false},
    };
    char dir[CMD_PATH_MAX];
    struct run_verdict v;

    (void)state;
    make_temporary(dir);
    run_state_judge(dir, &v);
    assert_true(v.invalid);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        write_file(dir, "manifest.json", cases[i].text);
        run_state_judge(dir, &v);
        assert_int_equal(v.invalid, cases[i].invalid);
        assert_int_equal(v.host, cases[i].host);
        assert_memory_equal(v.text, cases[i].why, strlen(cases[i].why));
    }
    assert_int_equal(cmd_remove_tree(dir), 0);
}

static void test_lateness(void **state)
{
    char dir[CMD_PATH_MAX];
    ns_t p99, max;

    (void)state;
    make_temporary(dir);
    run_state_lateness(dir, &p99, &max);
    assert_true(p99 == NS_NEVER && max == NS_NEVER);
    write_file(dir, "manifest.json", "{\"invalid\":[]}");
    write_file(dir, "receiver.counter.csv",
               "name,value\ndriver-late-p99-ns,1500\ndriver-late-max-ns,70000\n");
    write_file(dir, "testbed.counter.csv", "name,value\nwire-late-p99-ns,2500\n");
    run_state_lateness(dir, &p99, &max);
    assert_int_equal(p99, 2500);
    assert_int_equal(max, 70000);
    assert_int_equal(cmd_remove_tree(dir), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_complete),
        cmocka_unit_test(test_resume_damaged),
        cmocka_unit_test(test_reducer_fails),
        cmocka_unit_test(test_invalid),
        cmocka_unit_test(test_run_folder_exists),
        cmocka_unit_test(test_interrupt),
        cmocka_unit_test(test_spawn),
        cmocka_unit_test(test_end_text),
        cmocka_unit_test(test_invalid_manifests),
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_lateness),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
