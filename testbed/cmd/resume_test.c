/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether a folder is of the same plan, and how to say how to go on with it. */
#include "testbed/cmd/resume.h"
#include "testbed/cmd/cmd_test_help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void test_difference(void **state)
{
    static const struct {
        const char *was, *is, *text; /* NULL: none */
    } cases[] = {
        {"a: 1\nb: 2\n", "a: 1\nb: 2\n", NULL},
        {"a: 1\nb: 2\n", "a: 1\nb: 3\n", "b was 2 and is 3"},
        {"path:\n  rate: 5mbit\n  delay: 10ms\n", "path:\n  rate: 5mbit\n  delay: 25ms\n",
         "path.delay was 10ms and is 25ms"},
        {"flows:\n  - kind: data\n    size: 1MB\n", "flows:\n  - kind: data\n    size: 2MB\n",
         "flows.size was 1MB and is 2MB"},
        {"a: 1\n", "a: 1\nflows:\n", "flows was nothing and is flows:"},
        {"a: 1\nb: 2\n", "a: 1\n", "b was 2 and is nothing"},
        /* what another version has more, or less: the values of two keys are not compared */
        {"path:\n  loss: 0\n  jitter: 1ms\n", "path:\n  aqm: none\n  loss: 0\n  jitter: 1ms\n",
         "path.aqm was nothing and is none"},
        {"path:\n  aqm: none\n  loss: 0\n  jitter: 1ms\n", "path:\n  loss: 0\n  jitter: 1ms\n",
         "path.aqm was none and is nothing"},
        {"path:\n  rate: 1mbit\nb: 2\n", "path:\n  rate: 1mbit\n  loss: 0\nb: 2\n",
         "path.loss was nothing and is 0"},
        {"path:\n  rate: 1mbit\n  loss: 0\nb: 2\n", "path:\n  rate: 1mbit\nb: 2\n",
         "path.loss was 0 and is nothing"},
        /* what changes no run */
        {"description: x\nruns: 1\nq:\n  trace: a/b\n", "description: y\nruns: 5\nq:\n  trace: c\n",
         NULL},
    };
    char text[300];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(resume_difference(cases[i].was, cases[i].is, text, sizeof(text)),
                         cases[i].text != NULL);
        if (cases[i].text)
            assert_string_equal(text, cases[i].text);
    }
}

static void test_command(void **state)
{
    char *argv[] = {(char[]){"run-scenario run"},
                    (char[]){"a b.yaml"},
                    (char[]){"--out"},
                    (char[]){"old"},
                    (char[]){"--jobs"},
                    (char[]){"4"},
                    (char[]){"--out=older"},
                    (char[]){"--resume"},
                    (char[]){"--set"},
                    (char[]){"name=it's"},
                    NULL};
    char text[200];

    (void)state;
    resume_command(text, sizeof(text), 10, argv, "results/x");
    assert_string_equal(text, "./run-scenario 'a b.yaml' --jobs 4 --set 'name=it'\\''s' --resume "
                              "--out results/x");
    resume_command_begun(text, sizeof(text), 10, argv);
    assert_string_equal(text, "./run-scenario 'a b.yaml' --jobs 4 --set 'name=it'\\''s'");
    argv[0] = (char[]){"/a b/run-scenario run"};
    resume_command(text, sizeof(text), 2, argv, "x");
    assert_string_equal(text, "'/a b/run-scenario' 'a b.yaml' --resume --out x");
    resume_command_begun(text, sizeof(text), 2, argv);
    assert_string_equal(text, "./run-scenario 'a b.yaml'");
    argv[0] = (char[]){"build/muxbed run"};
    resume_command(text, sizeof(text), 2, argv, "x");
    assert_string_equal(text, "build/muxbed 'a b.yaml' --resume --out x");
    resume_command(text, 20, 10, argv, "results/x");
    assert_true(strlen(text) < 20);
}

struct check {
    const char *text, *link;
    const char *dir;
    bool part;
};

/* In a child, for what it says. */
static int check(void *ctx)
{
    const struct check *c = ctx;
    struct plan_index *x = NULL;
    struct plan *plan = NULL;
    char message[CMD_PATH_MAX];
    int rv;

    if (plan_parse(&plan, "test", c->text, strlen(c->text), NULL, stderr) ||
        plan_index_open(&x, c->dir, message, sizeof(message)))
        return 99;
    rv = resume_check(x, c->dir, plan, c->link, c->part);
    if (!rv && !plan_index_text(x, "link", message, sizeof(message))) {
        plan_index_put_text(x, "link", c->link);
        rv = plan_index_add(x, plan);
    }
    plan_index_close(x, message, sizeof(message));
    plan_free(plan);
    return rv;
}

static void test_check(void **state)
{
    static const char was[] = "name: small\nflows: [{kind: data, size: 20kB}]\n"
                              "grid: {path.delay: [1ms, 2ms]}\n";
    static const struct {
        struct check check;
        int status;
        const char *err;
    } cases[] = {
        {{was, "sim", NULL, false}, 0, ""},
        {{was, "sim", NULL, false}, 0, ""},
        {{was, "wire", NULL, false}, 2, "its runs were made on link sim, not wire; allowed: the "},
        {{"name: other\nflows: [{kind: data, size: 20kB}]\n", "sim", NULL, false},
         2,
         "it is of the plan small, not other"},
        {{"name: small\nflows: [{kind: data, size: 30kB}]\ngrid: {path.delay: [1ms, 2ms]}\n", "sim",
          NULL, false},
         2,
         "the scenario has changed: in run path.delay=1ms-1 flows.size was 20kB and is 30kB"},
        {{"name: small\nflows: [{kind: data, size: 20kB}]\ngrid: {path.delay: [1ms, 3ms]}\n", "sim",
          NULL, false},
         2,
         "it has no run path.delay=2ms-1 any more"},
        {{"name: small\nflows: [{kind: data, size: 20kB}]\ngrid: {path.delay: [1ms, 3ms]}\n", "sim",
          NULL, true},
         0,
         ""},
        /* more repetitions are welcome */
        {{"name: small\nruns: 3\nflows: [{kind: data, size: 20kB}]\n"
          "grid: {path.delay: [1ms, 2ms]}\n",
          "sim", NULL, false},
         0,
         ""},
    };
    char dir[CMD_PATH_MAX];

    (void)state;
    make_temporary(dir);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct check c = cases[i].check;
        struct outcome o;

        c.dir = dir;
        o = in_child(check, &c);
        if (o.status != cases[i].status || !strstr(o.err, cases[i].err))
            print_error("case %zu: status %d: %s", i, o.status, o.err);
        assert_int_equal(o.status, cases[i].status);
        assert_non_null(strstr(o.err, cases[i].err));
    }
    assert_int_equal(cmd_remove_tree(dir), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_difference),
        cmocka_unit_test(test_command),
        cmocka_unit_test(test_check),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
