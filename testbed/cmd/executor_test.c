/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs of a plan in the simulator. The reducer is a program that only succeeds or fails: what it
 * computes is tested elsewhere. */
#include "testbed/cmd/executor.h"
#include "testbed/cmd/cmd_test_help.h"
#include "testbed/cmd/plan_index.h"

#include <jansson.h>
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
                              "duration: 86400s\n";
/* The file cannot arrive before the end. */
static const char unfinished[] = "flows: [{kind: data, size: 100MB}]\nduration: 2s\n";

struct job {
    const char *text, *analyze;
    char out[CMD_PATH_MAX];
};

/* In the child: exit status 10 x complete + invalid + 4 x failed, or 100 when interrupted. */
static int execute(void *ctx)
{
    struct job *job = ctx;
    struct executor e = {
        .link = RUN_LINK_SIM, .link_why = "asked for", .out = job->out, .analyze = job->analyze};
    struct plan *plan = NULL;
    int rv;

    if (plan_parse(&plan, "test", job->text, strlen(job->text), NULL, stderr))
        return 99;
    executor_catch_signals();
    rv = executor_run(&e, plan);
    plan_free(plan);
    if (rv)
        return 98;
    return e.interrupted ? 100 : (int)(10 * e.complete + e.invalid + 4 * e.failed);
}

static void job_init(struct job *job, const char *text, const char *analyze)
{
    job->text = text;
    job->analyze = analyze;
    make_temporary(job->out);
}

static void test_complete(void **state)
{
    static const char *const names[] = {"path.delay=1ms-1", "path.delay=1ms-2", "path.delay=2ms-1",
                                        "path.delay=2ms-2"};
    struct job job;
    struct outcome o;
    char path[CMD_PATH_MAX];
    json_t *index, *runs;

    (void)state;
    job_init(&job, quick, "/bin/true");
    o = in_child(execute, &job);
    assert_int_equal(o.status, 40);
    assert_non_null(strstr(o.err, "run 4 of 4  path.delay=2ms-2  done in "));
    assert_int_equal(cmd_join(path, job.out, "index.json"), 0);
    index = json_load_file(path, 0, NULL);
    runs = json_object_get(index, "runs");
    assert_int_equal(json_array_size(runs), 4);
    for (size_t i = 0; i < 4; i++) {
        const json_t *run = json_array_get(runs, i);

        assert_string_equal(json_string_value(json_object_get(run, "name")), names[i]);
        assert_int_equal(json_integer_value(json_object_get(run, "repetition")), 1 + i % 2);
        assert_int_equal(json_integer_value(json_object_get(run, "seed")), 1 + i % 2);
        assert_int_equal(cmd_join(path, job.out, names[i]), 0);
        assert_true(cmd_exists(path, "DONE"));
        assert_true(cmd_exists(path, "manifest.json"));
    }
    json_decref(index);
    assert_int_equal(cmd_remove_tree(job.out), 0);
}

static void test_reducer_fails(void **state)
{
    struct job job;
    struct outcome o;

    (void)state;
    job_init(&job, quick, "/bin/false");
    o = in_child(execute, &job);
    assert_int_equal(o.status, 40 + 4 * 4);
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
    assert_true(cmd_exists(job.out, "index.json"));
    assert_int_equal(cmd_remove_tree(job.out), 0);
}

static int spawn_status(void *ctx)
{
    const char *const argv[] = {"/bin/sh", "-c", ctx, NULL};

    return executor_spawn(argv, STDOUT_FILENO);
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
    assert_int_equal(executor_spawn(none, -1), 127);
}

static void test_invalid_manifests(void **state)
{
    static const struct {
        const char *text, *why;
        bool invalid;
    } cases[] = {
        {"{\"invalid\":[]}", "", false},
        {"{\"invalid\":[{\"reason\":\"agent-exit\",\"count\":1,\"detail\":\"x\"},{\"reason\":\"b\"}"
         "]}",
         "agent-exit (x), b", true},
        {"{}", "manifest.json: has no list", true},
        {"{", "manifest.json: ", true},
    };
    char dir[CMD_PATH_MAX], why[100];

    (void)state;
    make_temporary(dir);
    assert_true(plan_index_invalid(dir, why, sizeof(why)));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        write_file(dir, "manifest.json", cases[i].text);
        assert_int_equal(plan_index_invalid(dir, why, sizeof(why)), cases[i].invalid);
        assert_memory_equal(why, cases[i].why, strlen(cases[i].why));
    }
    assert_int_equal(cmd_remove_tree(dir), 0);
}

static int count_run(void *ctx, const char *run_dir)
{
    (void)run_dir;
    ++*(size_t *)ctx;
    return 0;
}

static void test_bad_indexes(void **state)
{
    static const char *const texts[] = {"",
                                        "[]",
                                        "{\"runs\":{}}",
                                        "{\"runs\":[{}]}",
                                        "{\"runs\":[{\"name\":\"../x\"}]}",
                                        "{\"runs\":[{\"name\":\"..\"}]}"};
    char dir[CMD_PATH_MAX], message[CMD_PATH_MAX];
    size_t runs = 0;

    (void)state;
    make_temporary(dir);
    assert_true(plan_index_each(dir, count_run, &runs, message, sizeof(message)) < 0);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        write_file(dir, "index.json", texts[i]);
        message[0] = '\0';
        assert_true(plan_index_each(dir, count_run, &runs, message, sizeof(message)) < 0);
        assert_true(strlen(message) > 0);
    }
    assert_int_equal(runs, 0);
    write_file(dir, "index.json", "{\"runs\":[{\"name\":\"a-1\"},{\"name\":\"a-2\"}]}");
    assert_int_equal(plan_index_each(dir, count_run, &runs, message, sizeof(message)), 0);
    assert_int_equal(runs, 2);
    assert_int_equal(cmd_remove_tree(dir), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_complete),          cmocka_unit_test(test_reducer_fails),
        cmocka_unit_test(test_invalid),           cmocka_unit_test(test_run_folder_exists),
        cmocka_unit_test(test_interrupt),         cmocka_unit_test(test_spawn),
        cmocka_unit_test(test_invalid_manifests), cmocka_unit_test(test_bad_indexes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
