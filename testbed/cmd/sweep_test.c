/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole sweeps in virtual time by the program itself: ended at any moment and gone on with, in
 * parts, with less kept: always the same summary. Run from the tree's root. */
#include "testbed/cmd/cmd_test_help.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/stat.h>
#include <stdarg.h>
#include <cmocka.h>

#define ARGS_MAX 16
#define KILLS 3
#define RUNS 6

/* 24 runs: enough to be a sweep, each over in some tens of milliseconds. */
static const char scenario[] = "name: little\n"
                               "path: {rate: 2mbit, queue: 200ms}\n"
                               "flows:\n"
                               "  - {kind: media}\n"
                               "  - {kind: data, size: 100kB, start: 500ms}\n"
                               "duration: 2s\n"
                               "runs: 6\n"
                               "grid: {stack: [webrtc, quic], path.delay: [5ms, 20ms]}\n";

struct fixture {
    char program[CMD_PATH_MAX], base[CMD_PATH_MAX], file[CMD_PATH_MAX];
    char *summary; /* of a sweep that nothing disturbed */
};

struct command {
    const char *argv[ARGS_MAX + 1];
};

static char *place(const struct fixture *x, const char *name, char *path)
{
    assert_int_equal(cmd_join(path, x->base, name), 0);
    return path;
}

/* The sweep into a folder, with up to six further words. */
static struct command sweep(const struct fixture *x, const char *out, const char *const *more)
{
    struct command c = {{x->program, x->file, "--link", "sim", "--out", out}};

    for (size_t i = 0; more && more[i]; i++)
        c.argv[6 + i] = more[i];
    return c;
}

static struct outcome run_sweep(const struct fixture *x, const char *out, const char *const *more)
{
    struct command c = sweep(x, out, more);

    return in_child(run_program, &c);
}

static char *contents(const char *dir, const char *name)
{
    char path[CMD_PATH_MAX], *text = NULL;
    size_t room = 0;
    FILE *f = cmd_join(path, dir, name) ? NULL : fopen(path, "re");

    if (!f)
        fail_msg("%s/%s: %s", dir, name, strerror(errno));
    assert_true(getdelim(&text, &room, '\0', f) > 0);
    fclose(f);
    return text;
}

static void same_summary(const struct fixture *x, const char *out)
{
    char *text = contents(out, "summary.json");

    assert_string_equal(text, x->summary);
    free(text);
}

static int set_up(void **state)
{
    struct fixture *x = calloc(1, sizeof(*x));
    char out[CMD_PATH_MAX];
    struct outcome o;

    *state = x;
    if (!x || !find_program("muxbed", x->program))
        return 0;
    make_temporary(x->base);
    write_file(x->base, "little.yaml", scenario);
    place(x, "little.yaml", x->file);
    o = run_sweep(x, place(x, "whole", out), NULL);
    if (o.status)
        print_error("status %d: %s", o.status, o.err);
    x->summary = o.status ? NULL : contents(out, "summary.json");
    return o.status;
}

static int tear_down(void **state)
{
    struct fixture *x = *state;

    if (x->summary)
        cmd_remove_tree(x->base);
    free(x->summary);
    free(x);
    return 0;
}

static struct fixture *need(void **state)
{
    struct fixture *x = *state;

    if (!x->summary) {
        print_message("no muxbed has been built beside this test\n");
        skip();
    }
    return x;
}

static void test_default(void **state)
{
    static const char run[] = "stack=quic,path.delay=5ms-1";
    const struct fixture *x = need(state);
    char out[CMD_PATH_MAX], dir[CMD_PATH_MAX];
    struct outcome o;

    place(x, "whole", out);
    assert_int_equal(cmd_join(dir, out, run), 0);
    /* so many runs are kept as summaries */
    assert_true(cmd_exists(dir, "metrics.json"));
    assert_true(cmd_exists(dir, "series.delay.csv"));
    assert_true(cmd_exists(dir, "manifest.json"));
    assert_false(cmd_exists(dir, "sender.pcap"));
    assert_false(cmd_exists(dir, "sender.sqlog"));
    assert_false(cmd_exists(dir, "sender.rtp_sent.csv"));
    /* which is enough for a report */
    o = in_child(run_program, &(struct command){{x->program, "report", out}});
    assert_int_equal(o.status, 0);
    same_summary(x, out);
    /* a folder that has something is never written into by mistake */
    o = run_sweep(x, out, NULL);
    assert_int_equal(o.status, CMD_EXIT_USAGE);
    assert_non_null(strstr(o.err, "--resume"));
}

/* Runs of 5 ms, kept in some way: their metrics are, byte by byte, those of the whole sweep. */
static void same_metrics(const struct fixture *x, const char *out)
{
    static const char *const cells[] = {"stack=webrtc,path.delay=5ms", "stack=quic,path.delay=5ms"};
    char whole[CMD_PATH_MAX], a[CMD_PATH_MAX], b[CMD_PATH_MAX], name[100];

    place(x, "whole", whole);
    for (int i = 0; i < 2 * RUNS; i++) {
        char *was, *is;

        snprintf(name, sizeof(name), "%s-%d", cells[i % 2], 1 + i / 2);
        assert_int_equal(cmd_join(a, whole, name), 0);
        assert_int_equal(cmd_join(b, out, name), 0);
        was = contents(a, "metrics.json");
        is = contents(b, "metrics.json");
        assert_string_equal(was, is);
        free(was);
        free(is);
    }
}

/* What stays on disk changes no number. */
static void test_keep(void **state)
{
    static const char *const all[] = {"--keep", "all", "--jobs", "1", "--only", "*=5ms", NULL};
    static const char *const records[] = {"--keep", "records", "--only", "*=5ms", NULL};
    static const char run[] = "stack=quic,path.delay=5ms-1";
    const struct fixture *x = need(state);
    char out[CMD_PATH_MAX], dir[CMD_PATH_MAX];

    assert_int_equal(run_sweep(x, place(x, "all", out), all).status, 0);
    same_metrics(x, out);
    assert_int_equal(cmd_join(dir, out, run), 0);
    assert_true(cmd_exists(dir, "sender.pcap"));
    assert_true(cmd_exists(dir, "sender.sqlog"));
    assert_int_equal(run_sweep(x, place(x, "records", out), records).status, 0);
    same_metrics(x, out);
    assert_int_equal(cmd_join(dir, out, run), 0);
    assert_false(cmd_exists(dir, "sender.pcap"));
    assert_true(cmd_exists(dir, "sender.rtp_sent.csv"));
}

static size_t count_done(const struct fixture *x, const char *out)
{
    static const char *const cells[] = {"stack=webrtc,path.delay=5ms",
                                        "stack=webrtc,path.delay=20ms", "stack=quic,path.delay=5ms",
                                        "stack=quic,path.delay=20ms"};
    char dir[CMD_PATH_MAX], name[100];
    size_t n = 0;

    (void)x;
    for (size_t c = 0; c < 4; c++) {
        for (int r = 1; r <= 6; r++) {
            snprintf(name, sizeof(name), "%s-%d", cells[c], r);
            n += !cmd_join(dir, out, name) && cmd_exists(dir, "metrics.json");
        }
    }
    return n;
}

/* Starts the sweep and sends a signal wait_ms after so many runs are complete. */
static struct outcome end_sweep(const struct fixture *x, const char *out, size_t done, int number,
                                size_t wait_ms, const char *const *more)
{
    struct command c = sweep(x, out, more);
    FILE *stdout_file = tmpfile(), *stderr_file = tmpfile();
    pid_t pid;

    assert_true(stdout_file && stderr_file);
    pid = start_child(run_program, &c, stdout_file, stderr_file);
    assert_true(pid > 0);
    for (int i = 0; i < 20000 && count_done(x, out) < done; i++)
        poll(NULL, 0, 2);
    poll(NULL, 0, (int)wait_ms);
    kill(pid, number);
    return finish_child(pid, stdout_file, stderr_file);
}

/* How often to kill: a few times, or as KILLS says (make test-kill). */
static size_t wanted_kills(void)
{
    const char *given = getenv("KILLS");

    return given ? (size_t)atoi(given) : KILLS;
}

/* SIGKILL again and again, each time a little further in, until all is there: no run lost, none
 * twice. Then the next sweep, until it has been often enough. */
static void test_kill(void **state)
{
    static const char *const resume[] = {"--resume", NULL};
    const struct fixture *x = need(state);
    size_t kills = wanted_kills();
    char out[CMD_PATH_MAX], name[40], *log;
    struct outcome o;

    for (size_t i = 0; i < kills; i++) {
        size_t round = i % KILLS;

        snprintf(name, sizeof(name), "killed %zu", i / KILLS);
        place(x, name, out);
        /* where in a run it strikes differs from sweep to sweep */
        o = end_sweep(x, out, 5 * round, SIGKILL, i / KILLS * 3, round ? resume : NULL);
        assert_int_equal(o.status, 128 + SIGKILL);
        if (round < KILLS - 1 && i + 1 < kills)
            continue;
        o = run_sweep(x, out, resume);
        if (o.status)
            print_error("%s", o.err);
        assert_int_equal(o.status, 0);
        assert_int_equal(count_done(x, out), 24);
        same_summary(x, out);
    }
    log = contents(out, "sweep.log");
    assert_non_null(strstr(log, "of 24 runs are there already"));
    free(log);
    /* all is there: nothing is made, the report comes again */
    o = run_sweep(x, out, resume);
    assert_int_equal(o.status, 0);
    assert_non_null(strstr(o.err, "24 of 24 runs are there already"));
    same_summary(x, out);
}

static void test_interrupt(void **state)
{
    static const char *const resume[] = {"--resume", NULL};
    static const char *const other[] = {"--resume", "--set", "share=0.6", NULL};
    static const char *const part[] = {"--resume", "--only", "*quic*20ms", NULL};
    const struct fixture *x = need(state);
    char out[CMD_PATH_MAX], command[3 * CMD_PATH_MAX + 100];
    struct outcome o;

    place(x, "interrupted", out);
    o = end_sweep(x, out, 3, SIGINT, 0, NULL);
    assert_int_equal(o.status, CMD_EXIT_INTERRUPTED);
    snprintf(command, sizeof(command), "go on with: %s %s --link sim --resume --out %s\n",
             x->program, x->file, out);
    if (!strstr(o.err, command))
        print_error("%s", o.err);
    assert_non_null(strstr(o.err, command));
    assert_false(cmd_exists(out, "summary.json"));
    o = run_sweep(x, out, other);
    assert_int_equal(o.status, CMD_EXIT_USAGE);
    assert_non_null(strstr(o.err, "the scenario has changed: in run stack=webrtc,path.delay=5ms-1 "
                                  "share was 0.5 and is 0.6"));
    assert_int_equal(run_sweep(x, out, resume).status, 0);
    same_summary(x, out);
    /* the index is made up from the folders, and not only from those of the part that is asked for
     */
    write_file(out, "index.sqlite", "no index");
    assert_int_equal(run_sweep(x, out, part).status, 0);
    same_summary(x, out);
}

/* Two parts, one of them in two goes, joined. */
static void test_parts(void **state)
{
    static const char *const one[] = {"--shard", "1/2", NULL}, *const two[] = {"--shard", "2/2",
                                                                               NULL};
    static const char *const quic[] = {"--only", "*quic*", NULL};
    const struct fixture *x = need(state);
    char a[CMD_PATH_MAX], b[CMD_PATH_MAX], out[CMD_PATH_MAX], c[CMD_PATH_MAX];
    struct outcome o;

    assert_int_equal(run_sweep(x, place(x, "one", a), one).status, 0);
    assert_int_equal(run_sweep(x, place(x, "two", b), two).status, 0);
    assert_int_equal(count_done(x, a), 12);
    assert_int_equal(count_done(x, b), 12);
    place(x, "joined", out);
    o = in_child(run_program, &(struct command){{x->program, "merge", "--out", out, a, b}});
    if (o.status)
        print_error("%s", o.err);
    assert_int_equal(o.status, 0);
    same_summary(x, out);
    assert_int_equal(count_done(x, out), 24);
    /* cells by a pattern; what is in two parts counts once */
    assert_int_equal(run_sweep(x, place(x, "quic", c), quic).status, 0);
    assert_int_equal(count_done(x, c), 12);
    place(x, "joined again", out);
    o = in_child(run_program, &(struct command){{x->program, "merge", "--out", out, c, b, a}});
    assert_int_equal(o.status, 0);
    assert_non_null(strstr(o.err, "24 runs from 3 folders; some were in several"));
    same_summary(x, out);
}

static void test_parts_of_others(void **state)
{
    static const char *const other[] = {"--set", "share=0.6", "--only", "*quic*5ms", NULL};
    const struct fixture *x = need(state);
    char a[CMD_PATH_MAX], b[CMD_PATH_MAX], out[CMD_PATH_MAX];
    struct outcome o;

    assert_int_equal(run_sweep(x, place(x, "other", b), other).status, 0);
    place(x, "not joined", out);
    o = in_child(run_program,
                 &(struct command){{x->program, "merge", "--out", out, place(x, "whole", a), b}});
    assert_int_equal(o.status, CMD_EXIT_USAGE);
    assert_non_null(strstr(o.err, "has another scenario in a run that is in both: stack=quic"));
    assert_false(cmd_exists(x->base, "not joined")); /* nothing is left of what was taken before */
    o = in_child(run_program, &(struct command){{x->program, "merge", "--out", b, a}});
    assert_int_equal(o.status, CMD_EXIT_USAGE);
    assert_non_null(strstr(o.err, "is not empty; allowed: a new or an empty folder\n"));
    o = in_child(run_program, &(struct command){{x->program, "merge", a}});
    assert_int_equal(o.status, CMD_EXIT_USAGE);
    assert_non_null(strstr(o.err, "--out DIR is needed"));
    o = in_child(run_program, &(struct command){{x->program, "report", x->file}});
    assert_int_equal(o.status, CMD_EXIT_USAGE);
    assert_non_null(strstr(o.err, ": Not a directory\n"));
}

static void test_refusals(void **state)
{
    static const struct {
        const char *option, *value, *err;
    } cases[] = {
        {"--shard", "3/2", "--shard 3/2: no part; allowed: K/N"},
        {"--shard", "1", "no part; allowed"},
        {"--shard", "25/25", "--shard 25/25: is empty, as there are only 24 runs"},
        {"--jobs", "0", "--jobs 0: allowed: auto, 1 to 256"},
        {"--jobs", "many", "--jobs many: allowed: auto, 1 to 256"},
        {"--keep", "some", "--keep some: unknown; allowed: summary, records, all"},
    };
    const struct fixture *x = need(state);
    char out[CMD_PATH_MAX];

    place(x, "refused", out);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *const more[] = {cases[i].option, cases[i].value, NULL};
        struct outcome o = run_sweep(x, out, more);

        if (!strstr(o.err, cases[i].err))
            print_error("case %zu: %s", i, o.err);
        assert_int_equal(o.status, CMD_EXIT_USAGE);
        assert_non_null(strstr(o.err, cases[i].err));
        assert_false(cmd_exists(x->base, "refused"));
    }
    /* more than any disk has */
    {
        const char *const more[] = {
            "--set", "duration=86400s", "--set", "path.rate=1gbit", "--keep", "all", NULL};
        struct outcome o = run_sweep(x, out, more);

        assert_int_equal(o.status, CMD_EXIT_HOST);
        assert_non_null(strstr(o.err, "are needed (--keep all)"));
        /* and it left nothing in the way of another try */
        assert_true(access(out, F_OK) && errno == ENOENT);
    }
    /* a folder of somebody else's */
    {
        const char *const more[] = {"--resume", NULL};

        assert_int_equal(run_sweep(x, x->base, more).status, CMD_EXIT_USAGE);
    }
}

/* ---- names and streams of a careless user ---- */

struct elsewhere {
    const char *dir, *output; /* NULL: as the test's; "": a pipe that nobody reads */
    struct command command;
};

static int run_elsewhere(void *ctx)
{
    struct elsewhere *e = ctx;
    int fds[2], fd;

    if (chdir(e->dir))
        return 125;
    if (e->output && *e->output) {
        fd = open(e->output, O_WRONLY | O_CLOEXEC);
        dup2(fd, STDOUT_FILENO);
    } else if (e->output && !pipe2(fds, O_CLOEXEC)) {
        close(fds[0]);
        dup2(fds[1], STDOUT_FILENO);
    }
    return run_program(&e->command);
}

/* A folder whose name looks like an option is one of results all the same. */
static void test_names_like_options(void **state)
{
    const struct fixture *x = need(state);
    const struct command commands[] = {
        {{x->program, x->file, "--link", "sim", "--out=-x", "--only", "*quic*5ms", "--json",
          "--keep", "all"}},
        {{x->program, "report", "--json", "--", "-x"}},
        {{x->program, "rtplog", "--", "-x"}},
        {{x->program, "merge", "--json", "--out=--y", "--", "-x"}},
        {{x->program, "report", "--json", "--beside", "--y", "--", "-x"}},
        {{x->program, "clean", "--", "-x"}},
    };

    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        struct elsewhere e = {.dir = x->base, .command = commands[i]};
        struct outcome o = in_child(run_elsewhere, &e);

        if (o.status)
            print_error("command %zu: %s", i, o.err);
        assert_int_equal(o.status, 0);
    }
    assert_true(cmd_exists(x->base, "-x/summary.json"));
    assert_true(cmd_exists(x->base, "--y/summary.json"));
}

/* What stands in a run's folder in place of a file may be a pipe that nobody writes to, or a device
 * without an end: it is named, and nothing waits for it. */
static void test_no_files(void **state)
{
    static const char *const more[] = {"--only", "*quic*5ms", "--runs", "1", "--keep", "all", NULL};
    static const char *const names[] = {"sender.pcap", "sender.rtp_sent.csv", "certificate.json",
                                        "manifest.json", "metrics.json"};
    const struct fixture *x = need(state);
    char out[CMD_PATH_MAX], dir[CMD_PATH_MAX], path[CMD_PATH_MAX];

    assert_int_equal(run_sweep(x, place(x, "no files", out), more).status, 0);
    assert_int_equal(cmd_join(dir, out, "stack=quic,path.delay=5ms-1"), 0);
    for (size_t i = 0; i < 2 * sizeof(names) / sizeof(names[0]); i++) {
        const char *name = names[i / 2];
        char aside[CMD_PATH_MAX];
        struct outcome o;

        assert_int_equal(cmd_join(path, dir, name), 0);
        assert_int_equal(cmd_join(aside, dir, "aside"), 0);
        assert_int_equal(rename(path, aside), 0);
        assert_int_equal(i % 2 ? mkfifo(path, 0600) : symlink("/dev/zero", path), 0);
        alarm(60);
        o = in_child(run_program, &(struct command){{x->program, "report", out}});
        alarm(0);
        /* metrics are reckoned anew, and take the place of what was there */
        if (strcmp(name, "metrics.json")) {
            assert_int_equal(o.status, CMD_EXIT_RUNS);
            assert_non_null(strstr(o.err, name));
        } else {
            assert_int_equal(o.status, 0);
        }
        assert_int_equal(rename(aside, path), 0);
    }
}

/* Where the output could not be written nothing is wrong with the runs: whoever made the plan is
 * told which of the two it was, and has the report. */
static void test_output_lost(void **state)
{
    static const struct {
        const char *output, *err;
    } cases[] = {
        {"/dev/full", "standard output: No space left on device\n"},
        {"", "standard output: whoever read it has gone\n"},
    };
    const struct fixture *x = need(state);
    char whole[CMD_PATH_MAX];

    place(x, "whole", whole);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct command commands[] = {
            {{x->program, x->file, "--link", "sim", "--out", i ? "lost" : "full", "--only",
              "*quic*5ms", "--json"}},
            {{x->program, "report", "--json", whole}},
            {{x->program, "merge", "--json", "--out", i ? "m-lost" : "m-full", whole}},
        };

        for (size_t k = 0; k < sizeof(commands) / sizeof(commands[0]); k++) {
            struct elsewhere e = {x->base, cases[i].output, commands[k]};
            struct outcome o = in_child(run_elsewhere, &e);

            if (!strstr(o.err, cases[i].err))
                print_error("case %zu, command %zu: %s", i, k, o.err);
            assert_int_equal(o.status, CMD_EXIT_HOST);
            assert_non_null(strstr(o.err, cases[i].err));
        }
        assert_true(cmd_exists(x->base, i ? "lost/report.html" : "full/report.html"));
        assert_true(cmd_exists(x->base, i ? "m-lost/report.html" : "m-full/report.html"));
    }
    same_summary(x, whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default),     cmocka_unit_test(test_keep),
        cmocka_unit_test(test_kill),        cmocka_unit_test(test_interrupt),
        cmocka_unit_test(test_parts),       cmocka_unit_test(test_parts_of_others),
        cmocka_unit_test(test_refusals),    cmocka_unit_test(test_names_like_options),
        cmocka_unit_test(test_output_lost), cmocka_unit_test(test_no_files),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
