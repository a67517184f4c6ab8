/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/cmd/cmd.h"

#include "agents/base/err.h"
#include "testbed/cmd/out_dir.h"
#include "testbed/cmd/plan_index.h"
#include "testbed/cmd/process.h"
#include "testbed/cmd/run_state.h"

#include <argp.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIRS_MAX 256

enum { OPT_OUT = 0x100, OPT_JSON };

struct options {
    const char *out, *dirs[DIRS_MAX];
    size_t dir_count;
    bool json;
};

struct merging {
    const char *out;
    size_t taken, known;
    char error[CMD_PATH_MAX + 100];
};

static const struct argp_option options[] = {
    {.name = "out", .key = OPT_OUT, .arg = "DIR", .doc = "The folder to make, new or empty"},
    {.name = "json", .key = OPT_JSON, .doc = "The summary as JSON on standard output"},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;

    switch (key) {
    case OPT_OUT: o->out = arg; return 0;
    case OPT_JSON: o->json = true; return 0;
    case ARGP_KEY_ARG:
        if (o->dir_count == DIRS_MAX)
            argp_error(state, "more than %d folders", DIRS_MAX);
        o->dirs[o->dir_count++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (o->dir_count == 0)
            argp_error(state, "folders of results are needed");
        if (!o->out)
            argp_error(state, "--out DIR is needed: the folder to make");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* One complete run of a part; the first of two is taken, as equal scenarios are equal runs. */
static int take_run(void *ctx, const char *run_dir)
{
    struct merging *m = ctx;
    char to[CMD_PATH_MAX];

    if (cmd_join(to, m->out, strrchr(run_dir, '/') + 1))
        return ERR_LIMIT;
    if (run_state_of(to) != RUN_STATE_ABSENT) {
        m->known++;
        return 0;
    }
    if (cmd_copy_tree(to, run_dir)) {
        snprintf(m->error, sizeof(m->error), "%s: %s", to, strerror(errno));
        return ERR_OS;
    }
    m->taken++;
    return 0;
}

static void take_expectations(const char *out, const char *dir)
{
    char to[CMD_PATH_MAX], from[CMD_PATH_MAX];

    if (cmd_exists(dir, "expect.json") && !cmd_exists(out, "expect.json") &&
        !cmd_join(to, out, "expect.json") && !cmd_join(from, dir, "expect.json") && link(from, to))
        fprintf(stderr, "muxbed: %s: %s; expectations are not judged\n", to, strerror(errno));
}

static int take_part(struct plan_index *x, struct merging *m, const char *dir)
{
    char message[400] = "";
    int rc;

    if (out_dir_busy(dir)) {
        fprintf(stderr, "muxbed: %s: runs are being made there\n", dir);
        return CMD_EXIT_USAGE;
    }
    rc = plan_index_merge(x, dir, message, sizeof(message));
    if (rc) {
        fprintf(stderr, "muxbed: %s: %s; allowed: folders of parts of one plan\n", dir, message);
        return CMD_EXIT_USAGE;
    }
    rc = plan_index_each(dir, take_run, m, m->error, sizeof(m->error));
    if (rc) {
        fprintf(stderr, "muxbed: %s\n", m->error);
        return rc == ERR_MALFORMED ? 0 : CMD_EXIT_HOST; /* a part may have no run yet */
    }
    take_expectations(m->out, dir);
    return 0;
}

static int take_parts(const struct options *o, const char *out)
{
    struct merging m = {.out = out};
    char message[CMD_PATH_MAX] = "";
    struct plan_index *x;
    int rc = 0;

    if (plan_index_open(&x, out, message, sizeof(message))) {
        fprintf(stderr, "muxbed: %s\n", message);
        return CMD_EXIT_HOST;
    }
    for (size_t i = 0; i < o->dir_count && !rc; i++)
        rc = take_part(x, &m, o->dirs[i]);
    if (plan_index_close(x, message, sizeof(message)) && !rc) {
        fprintf(stderr, "muxbed: %s\n", message);
        rc = CMD_EXIT_HOST;
    }
    if (!rc)
        fprintf(stderr, "%s: %zu run%s from %zu folder%s%s\n", out, m.taken,
                m.taken == 1 ? "" : "s", o->dir_count, o->dir_count == 1 ? "" : "s",
                m.known ? "; some were in several" : "");
    return rc;
}

static int report(const struct options *o, const char *analyze, const char *out)
{
    const char *const argv[] = {analyze, "report", o->json ? "--json" : "--figures=few",
                                "--",    out,      NULL};

    return cmd_report_end(process_spawn(argv, STDOUT_FILENO));
}

/* What was taken before something went wrong: the folder was empty, or not there. */
static void undo(const char *out, bool there)
{
    if (cmd_remove_tree(out) || (there && mkdir(out, 0777)))
        fprintf(stderr, "muxbed: %s: %s\n", out, strerror(errno));
}

int cmd_merge(int argc, char **argv)
{
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "DIR...",
        .doc = "Makes one folder of results from those that parts of a plan (--shard, --only) have "
               "left, and its report. The parts stay as they are; on the same disk their files are "
               "shared, not copied.\v"
               "  run-scenario grid.yaml --shard 1/2 --out results/one    (on one host)\n"
               "  run-scenario grid.yaml --shard 2/2 --out results/two    (on another)\n"
               "  run-scenario merge --out results/grid results/one results/two",
    };
    struct options o = {0};
    struct out_dir out;
    char analyze[CMD_PATH_MAX];
    int rv, refused;
    bool there;

    argp_parse(&argp, argc, argv, 0, NULL, &o);
    if (cmd_analyze_path(analyze)) {
        fprintf(stderr, "muxbed: %s is missing; `make` builds it\n", analyze);
        return CMD_EXIT_HOST;
    }
    there = access(o.out, F_OK) == 0;
    rv = out_dir_open(&out, o.out, NULL);
    if (rv)
        return rv;
    process_catch_signals();
    refused = take_parts(&o, out.path);
    rv = refused ? refused : report(&o, analyze, out.path);
    out_dir_close(&out);
    if (refused)
        undo(out.path, there);
    return rv;
}
