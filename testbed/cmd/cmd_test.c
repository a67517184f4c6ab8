/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exit codes and messages of the subcommands, each in a process of its own. Run from the tree's
 * root. */
#include "testbed/cmd/cmd.h"
#include "testbed/cmd/cmd_test_help.h"
#include "testbed/cmd/out_dir.h"

#include <argp.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <cmocka.h>

#define ARGS_MAX 8

struct call {
    int (*run)(int argc, char **argv);
    const char *args[ARGS_MAX];
};

static int make_call(void *ctx)
{
    struct call *c = ctx;
    char *argv[ARGS_MAX + 2] = {NULL}, name[] = "muxbed test";
    int argc = 1;

    argv[0] = name;
    for (size_t i = 0; i < ARGS_MAX && c->args[i]; i++)
        argv[argc++] = strdup(c->args[i]);
    argp_err_exit_status = CMD_EXIT_USAGE;
    setenv("MUXBED_ROOT", ".", 1);
    return c->run(argc, argv);
}

static struct outcome call(struct call c)
{
    return in_child(make_call, &c);
}

static void test_exit_codes(void **state)
{
    static const struct {
        struct call call;
        int status;
        const char *out, *err; /* parts */
    } cases[] = {
        {{cmd_check, {"scenarios/smoke.yaml"}}, 0, "scenarios/smoke.yaml: good, 1 run, ", ""},
        {{cmd_check, {"scenarios/smoke.yaml", "nothing.yaml"}}, 2, "good", "nothing.yaml: No such"},
        {{cmd_check, {NULL}}, 2, "", "a scenario file is needed"},
        {{cmd_plan, {NULL}}, 0, "delayed-file: 2 runs, about ", ""},
        {{cmd_plan, {"scenarios/paper/grid.yaml", "--runs", "3"}}, 0, "grid: 162 runs", ""},
        {{cmd_plan, {"--set", "path.rate=5"}}, 2, "", "--set path.rate=5: path.rate: \"5\" has no"},
        {{cmd_plan, {"--runs", "0"}}, 2, "", "--runs 0: runs: \"0\" is out of range"},
        {{cmd_plan, {"--runs", "-1"}}, 2, "", "--runs -1: not a whole number; allowed: 1, 2"},
        {{cmd_plan, {"--seed", "x"}}, 2, "", "--seed x: not a whole number; allowed: 0, 1"},
        {{cmd_plan, {"--only", "x"}}, 2, "", "--only: there is no cell \"x\""},
        {{cmd_plan, {"--wrong"}}, 2, "", "unrecognized option"},
        {{cmd_plan, {"a", "b"}}, 2, "", "a, b: one scenario file is enough"},
        {{cmd_run, {"--quiet", "check", "b"}}, 2, "", "check, b: one scenario file is enough; a"},
        {{cmd_list, {NULL}}, 0, "scenarios/paper/grid.yaml", ""},
        {{cmd_keys, {NULL}}, 0, "media.min-rate = 400kbit\n", ""},
        {{cmd_keys, {"--markdown"}}, 0, "| `media.min-rate` | rate | 400kbit |", ""},
        {{cmd_report, {NULL}}, 2, "", "a folder of results is needed"},
        {{cmd_plan, {"scenarios/paper/grid.yaml", "--only", "*rate=5*"}}, 0, "grid: 180 runs", ""},
        {{cmd_plan, {"scenarios/paper/grid.yaml", "--shard", "2/4"}}, 0, "grid: 135 runs", ""},
        {{cmd_plan, {"--shard", "0/4"}}, 2, "", "--shard 0/4: no part; allowed: K/N"},
        {{cmd_plan, {"scenarios/paper/grid.yaml", "--only", "*rate=5*", "--only", "*rate=1m*"}},
         0,
         "grid: 360 runs",
         ""},
        {{cmd_plan, {"--only", "stack=quic", "--only", "x"}}, 2, "", "there is no cell \"x\""},
        {{cmd_plan, {"--link", "sim"}}, 0, " of virtual time", ""},
        {{cmd_plan, {"--link", "wire"}}, 0, " in real time", ""},
        {{cmd_plan, {"--link", "magic"}}, 2, "", "--link magic: unknown; allowed: auto, netem"},
        {{cmd_plan, {"scenarios/spotify/http.yaml", "--link", "sim"}}, 3, "", "no virtual time"},
        {{cmd_merge, {NULL}}, 2, "", "folders of results are needed"},
        {{cmd_merge, {"a", "b"}}, 2, "", "--out DIR is needed"},
        {{cmd_merge, {"--help"}}, 0, "run-scenario merge --out results/grid", ""},
        {{cmd_report, {"/tmp", "--beside", "/nothing"}}, 2, "", "--beside /nothing: No such file"},
        {{cmd_rtplog, {NULL}}, 2, "", "a folder of results is needed"},
        {{cmd_rtplog, {"/tmp"}}, 3, "", "analyze is missing"},
        {{cmd_clean, {"/nonexistent"}}, 2, "", "No such file"},
        {{cmd_run, {"--link", "magic"}}, 2, "", "allowed: auto, netem, wire, sim"},
        {{cmd_run, {"README"}}, 2, "", "README: No such file"},
        {{cmd_run, {"--set", "share=2"}}, 2, "", "--set share=2: share: \"2\" is out of range"},
        /* beside this test there is no analyze */
        {{cmd_run, {"--link", "sim"}}, 3, "", "analyze is missing"},
        {{cmd_report, {"/tmp"}}, 3, "", "analyze is missing"},
        {{cmd_selfcheck, {"--link", "sim"}}, 0, "can be run in virtual time", ""},
        {{cmd_selfcheck, {"--link", "sim", "scenarios/paper/grid.yaml"}},
         0,
         "10 Mbit/s, 50 ms",
         ""},
        {{cmd_selfcheck, {"--link", "sim", "--set", "path.queue=1s", "--quiet"}}, 0, "", ""},
        {{cmd_selfcheck, {"--link", "sim", "--set", "path.aqm=cake", "--set", "path.ecn=on"}},
         2,
         "",
         "--link sim: --set path.aqm=cake: path.aqm cake: only the kernel has it, not the models; "
         "allowed: --link netem, or path.aqm fq-codel"},
        {{cmd_selfcheck, {"--link", "wire", "--set", "path.aqm=cake", "--set", "path.ecn=on"}},
         2,
         "",
         "--link wire: --set path.aqm=cake: path.aqm cake: only the kernel"},
        {{cmd_selfcheck, {"--link", "netem", "--set", "path.aqm=dualpi2", "--set", "path.ecn=on"}},
         2,
         "",
         "--set path.aqm=dualpi2: path.aqm dualpi2: links of kind netem have"},
        {{cmd_selfcheck, {"--link", "magic"}}, 2, "", "allowed: auto, netem, wire, sim"},
        {{cmd_selfcheck, {"nothing.yaml"}}, 2, "", "nothing.yaml: No such"},
        {{cmd_run, {"--help"}}, 0, "run-scenario --link sim", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct outcome o = call(cases[i].call);

        if (o.status != cases[i].status || !strstr(o.out, cases[i].out) ||
            !strstr(o.err, cases[i].err))
            print_error("case %zu: status %d\n%s%s", i, o.status, o.out, o.err);
        assert_int_equal(o.status, cases[i].status);
        assert_non_null(strstr(o.out, cases[i].out));
        assert_non_null(strstr(o.err, cases[i].err));
    }
}

/* Every command's help fits a narrow terminal and has an example of it. */
static void test_help(void **state)
{
    static const struct {
        int (*run)(int argc, char **argv);
        const char *example;
    } commands[] = {
        {cmd_check, "run-scenario check"},   {cmd_plan, "run-scenario plan "},
        {cmd_list, "run-scenario list\n"},   {cmd_keys, "run-scenario keys "},
        {cmd_report, "run-scenario report"}, {cmd_merge, "run-scenario merge"},
        {cmd_rtplog, "run-scenario rtplog"}, {cmd_clean, "run-scenario clean"},
        {cmd_run, "run-scenario --link"},    {cmd_selfcheck, "run-scenario selfcheck\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        struct outcome o = call((struct call){commands[i].run, {"--help"}});
        char *line, *rest;

        assert_int_equal(o.status, 0);
        if (!strstr(o.out, commands[i].example))
            fail_msg("\"%s\" is not in: %s", commands[i].example, o.out);
        for (line = strtok_r(o.out, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
            if (strlen(line) > 80)
                fail_msg("longer than 80: %s", line);
        }
    }
}

static void make_run(const char *plan, const char *name, bool scenario, bool done)
{
    char dir[CMD_PATH_MAX];

    assert_int_equal(cmd_join(dir, plan, name), 0);
    assert_int_equal(cmd_make_dirs(dir), 0);
    if (scenario) {
        write_file(dir, "scenario.yaml", "x");
        write_file(dir, "sender.conf", "x");
    }
    if (done)
        write_file(dir, "DONE", "");
}

static void test_clean(void **state)
{
    char plan[CMD_PATH_MAX], target[CMD_PATH_MAX];
    struct call clean = {cmd_clean, {plan}};
    struct out_dir busy;
    struct outcome o;

    (void)state;
    make_temporary(plan);
    assert_int_equal(out_dir_open(&busy, plan, "x"), 0);
    make_run(plan, "all-1", true, true);
    make_run(plan, "all-2", true, false);
    make_run(plan, "somebody-elses", false, false);
    assert_int_equal(cmd_join(target, plan, "link"), 0);
    assert_int_equal(symlink("all-2", target), 0);
    o = call(clean);
    assert_int_equal(o.status, CMD_EXIT_USAGE);
    assert_non_null(strstr(o.err, "runs are being made there"));
    assert_true(cmd_exists(plan, "all-2"));
    out_dir_close(&busy);
    o = call(clean);
    assert_int_equal(o.status, CMD_EXIT_OK);
    assert_non_null(strstr(o.out, "1 incomplete run removed"));
    assert_true(cmd_exists(plan, "all-1"));
    assert_false(cmd_exists(plan, "all-2"));
    assert_true(cmd_exists(plan, "somebody-elses"));
    assert_int_equal(cmd_remove_tree(plan), 0);
}

static int resume_nothing(void *name)
{
    struct out_dir d;
    int rv = out_dir_resume(&d, NULL, name);

    if (!rv)
        out_dir_close(&d);
    return rv;
}

static void test_out_dir(void **state)
{
    char base[CMD_PATH_MAX], path[CMD_PATH_MAX];
    struct out_dir d, second;
    char other[] = "other";
    struct outcome o;

    (void)state;
    make_temporary(base);
    assert_int_equal(cmd_join(path, base, "a/b/c"), 0);
    assert_int_equal(out_dir_open(&d, path, "x"), 0);
    assert_true(out_dir_busy(path));
    assert_int_equal(out_dir_open(&second, path, "x"), CMD_EXIT_USAGE); /* not empty */
    out_dir_close(&d);
    assert_false(out_dir_busy(path));
    assert_int_equal(out_dir_open(&d, path, "x"), 0); /* empty again */
    out_dir_close(&d);
    write_file(path, "file", "x");
    assert_int_equal(out_dir_open(&d, path, "x"), CMD_EXIT_USAGE);
    assert_int_equal(cmd_join(path, base, "a/b/c/file"), 0);
    assert_int_equal(out_dir_open(&d, path, "x"), CMD_EXIT_USAGE); /* no folder */
    /* without --out: two at the same second do not meet */
    setenv("MUXBED_ROOT", base, 1);
    assert_int_equal(cmd_join(path, base, "results"), 0);
    assert_int_equal(mkdir(path, 0777), 0);
    assert_int_equal(out_dir_open(&d, NULL, "plan"), 0);
    assert_int_equal(out_dir_open(&second, NULL, "plan"), 0);
    assert_string_not_equal(d.path, second.path);
    assert_non_null(strstr(d.path, "/results/plan-"));
    out_dir_close(&d);
    out_dir_close(&second);
    o = in_child(resume_nothing, other);
    assert_int_equal(o.status, 0);
    assert_non_null(strstr(o.err, "--resume: no results of \"other\" yet"));
    o = in_child(resume_nothing, other); /* now there are */
    assert_int_equal(o.status, 0);
    assert_string_equal(o.err, "");
    unsetenv("MUXBED_ROOT");
    assert_int_equal(cmd_remove_tree(base), 0);
}

/* The whole program: a run in virtual time, its summary as JSON, then the report once more. */
static void test_whole_program(void **state)
{
    char program[CMD_PATH_MAX], base[CMD_PATH_MAX], out[CMD_PATH_MAX];
    char *run[] = {program,
                   (char[]){"scenarios/smoke.yaml"},
                   (char[]){"--link=sim"},
                   (char[]){"--json"},
                   (char[]){"--quiet"},
                   (char[]){"--out"},
                   out,
                   NULL};
    char *report[] = {program, (char[]){"report"}, out, NULL};
    char *unknown[] = {program, (char[]){"unknown"}, NULL};
    char *version[] = {program, (char[]){"--version"}, NULL};
    struct outcome o;
    json_t *summary;

    (void)state;
    if (!find_program("muxbed", program)) {
        print_message("no muxbed has been built beside this test\n");
        skip();
    }
    make_temporary(base);
    assert_int_equal(cmd_join(out, base, "out"), 0);
    o = in_child(run_program, run);
    if (o.status)
        print_error("%s%s", o.out, o.err);
    assert_int_equal(o.status, 0);
    assert_string_equal(o.err, "");
    summary = json_loads(o.out, 0, NULL);
    assert_int_equal(json_integer_value(json_object_get(summary, "schema")), 1);
    assert_int_equal(json_array_size(json_object_get(summary, "cells")), 1);
    json_decref(summary);
    assert_true(cmd_exists(out, "report.html"));
    assert_false(cmd_exists(out, ".running"));
    o = in_child(run_program, report);
    assert_int_equal(o.status, 0);
    assert_non_null(strstr(o.out, "smoke"));
    o = in_child(run_program, unknown);
    assert_int_equal(o.status, CMD_EXIT_USAGE);
    o = in_child(run_program, version);
    assert_int_equal(o.status, 0);
    assert_ptr_equal(strstr(o.out, "muxbed "), o.out);
    assert_non_null(strstr(o.out, "\nngtcp2 "));
    assert_int_equal(cmd_remove_tree(base), 0);
}

/* What is in a file, to be freed. */
static char *contents(const char *dir, const char *name)
{
    char path[CMD_PATH_MAX], *text = NULL;
    size_t room = 0;
    FILE *f = cmd_join(path, dir, name) ? NULL : fopen(path, "re");

    assert_non_null(f);
    assert_true(getdelim(&text, &room, '\0', f) > 0);
    fclose(f);
    return text;
}

static const char hopes[] = "name: hopes\n"
                            "flows: [{kind: media}]\n"
                            "duration: 3s\n"
                            "expect:\n"
                            "  - {name: a <call>, metric: media_goodput_bps, min: 1kbit}\n"
                            "  - {name: wonders, metric: media_owd_ms_p50, max: 1ms}\n"
                            "  - {name: more runs, metric: media_owd_ms_p50, runs: 2, max: 1ms}\n";

/* Expectations decide the exit status and are listed with the runs in the JUnit file. */
static void test_expectations(void **state)
{
    char program[CMD_PATH_MAX], base[CMD_PATH_MAX], out[CMD_PATH_MAX], file[CMD_PATH_MAX],
        junit[CMD_PATH_MAX], *text;
    char *run[] = {
        program, file, (char[]){"--link=sim"}, (char[]){"--junit"}, junit, (char[]){"--out"}, out,
        NULL,    NULL};
    char *report[] = {program, (char[]){"report"}, out, NULL};
    struct outcome o;

    (void)state;
    if (!find_program("muxbed", program)) {
        print_message("no muxbed has been built beside this test\n");
        skip();
    }
    make_temporary(base);
    write_file(base, "hopes.yaml", hopes);
    assert_int_equal(cmd_join(file, base, "hopes.yaml"), 0);
    assert_int_equal(cmd_join(junit, base, "junit.xml"), 0);
    assert_int_equal(cmd_join(out, base, "out"), 0);
    o = in_child(run_program, run);
    assert_int_equal(o.status, CMD_EXIT_EXPECT);
    assert_non_null(strstr(o.out, "ok      a <call>: "));
    assert_non_null(strstr(o.out, "FAILED  wonders: "));
    assert_non_null(strstr(o.err, "not as the scenario expects"));
    text = contents(base, "junit.xml");
    assert_non_null(strstr(text, "name=\"hopes runs\" tests=\"1\" failures=\"0\" errors=\"0\" "));
    assert_non_null(strstr(text, "name=\"hopes expectations\" tests=\"3\" failures=\"1\" "
                                 "errors=\"0\" skipped=\"1\""));
    assert_non_null(strstr(text, "name=\"a &lt;call&gt;\" time=\"0.000\"/>"));
    assert_non_null(strstr(text, "<failure message=\""));
    assert_non_null(strstr(text, "</testsuites>\n"));
    free(text);
    o = in_child(run_program, report);
    assert_int_equal(o.status, CMD_EXIT_EXPECT);
    text = contents(out, "report.html");
    assert_non_null(strstr(text, "1 of the scenario's 3 expectations not met"));
    free(text);
    /* not asked, not judged */
    assert_int_equal(cmd_join(out, base, "again"), 0);
    run[7] = (char[]){"--no-expect"};
    o = in_child(run_program, run);
    assert_int_equal(o.status, CMD_EXIT_OK);
    assert_false(cmd_exists(out, "expect.json"));
    /* a file that cannot be written is known before the runs */
    assert_int_equal(cmd_join(out, base, "third"), 0);
    assert_int_equal(cmd_join(junit, base, "nowhere/junit.xml"), 0);
    o = in_child(run_program, run);
    assert_int_equal(o.status, CMD_EXIT_HOST);
    assert_non_null(strstr(o.err, "nowhere/junit.xml: No such file"));
    assert_false(cmd_exists(out, "all-1"));
    assert_int_equal(cmd_remove_tree(base), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exit_codes),   cmocka_unit_test(test_clean),
        cmocka_unit_test(test_out_dir),      cmocka_unit_test(test_whole_program),
        cmocka_unit_test(test_expectations), cmocka_unit_test(test_help),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
