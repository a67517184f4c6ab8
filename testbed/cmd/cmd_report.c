/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/cmd/cmd.h"

#include "testbed/cmd/keep.h"
#include "testbed/cmd/plan_index.h"
#include "testbed/cmd/process.h"
#include "testbed/cmd/run_state.h"

#include <argp.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPT_JSON = 0x100, OPT_FIGURES, OPT_BESIDE };

struct options {
    const char *dir, *beside;
    bool json, all_figures;
};

struct reducing {
    char analyze[CMD_PATH_MAX];
    size_t runs, bad;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;

    switch (key) {
    case OPT_JSON: o->json = true; return 0;
    case OPT_BESIDE: o->beside = arg; return 0;
    case OPT_FIGURES:
        o->all_figures = strcmp(arg, "all") == 0;
        if (!o->all_figures && strcmp(arg, "few"))
            argp_error(state, "--figures %s: allowed: all, few", arg);
        return 0;
    case ARGP_KEY_ARG:
        if (o->dir)
            argp_error(state, "%s: one folder at a time", arg);
        o->dir = arg;
        return 0;
    case ARGP_KEY_NO_ARGS: argp_error(state, "a folder of results is needed"); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static int reduce(void *ctx, const char *run_dir)
{
    struct reducing *r = ctx;
    const char *const argv[] = {r->analyze, "reduce", "--", run_dir, NULL};
    struct run_verdict v;
    char end[PROCESS_END_MAX];
    int status = 0;

    /* Of what is kept as a summary the metrics stand as they are. */
    if (keep_can_reduce(run_dir) || !cmd_exists(run_dir, "metrics.json"))
        status = process_spawn(argv, -1);
    if (process_interrupted())
        return CMD_EXIT_INTERRUPTED;
    r->runs++;
    run_state_judge(run_dir, &v);
    if (status) {
        r->bad++;
        process_end_text(end, sizeof(end), status);
        fprintf(stderr, "muxbed: %s: analyze reduce %s\n", run_dir, end);
    } else if (v.invalid) {
        r->bad++;
        fprintf(stderr, "muxbed: %s: invalid: %s\n", run_dir, v.text);
    }
    return 0;
}

static int one_is_enough(void *ctx, const char *run_dir)
{
    (void)ctx;
    (void)run_dir;
    return 1;
}

/* Whether there is something to compare with, before anything is written. */
static int check_beside(const struct options *o)
{
    char message[CMD_PATH_MAX + 200] = "", here[PATH_MAX], there[PATH_MAX];

    if (plan_index_each(o->beside, one_is_enough, NULL, message, sizeof(message)) < 0) {
        fprintf(stderr, "muxbed: --beside %s\n", message);
        return CMD_EXIT_USAGE;
    }
    if (realpath(o->dir, here) && realpath(o->beside, there) && !strcmp(here, there)) {
        fprintf(stderr, "muxbed: --beside %s: the folder itself; allowed: another one\n",
                o->beside);
        return CMD_EXIT_USAGE;
    }
    return 0;
}

int cmd_report_end(int status)
{
    char end[PROCESS_END_MAX];

    if (process_interrupted())
        return CMD_EXIT_INTERRUPTED;
    if (status == 128 + SIGPIPE) { /* it has written the folder first */
        fprintf(stderr, "muxbed: standard output: whoever read it has gone\n");
        return CMD_EXIT_HOST;
    }
    if (status >= 0 && status <= CMD_EXIT_RUNS) /* analyze has the same ones, and has said why */
        return status;
    process_end_text(end, sizeof(end), status);
    fprintf(stderr, "muxbed: analyze report %s\n", end);
    return CMD_EXIT_RUNS;
}

static int report(const struct options *o, const struct reducing *r)
{
    const char *argv[10] = {r->analyze, "report",
                            o->all_figures ? "--figures=all" : "--figures=few"};
    size_t n = 3;
    int status;

    if (o->json)
        argv[n++] = "--json";
    if (o->beside) {
        argv[n++] = "--beside";
        argv[n++] = o->beside;
    }
    argv[n++] = "--";
    argv[n++] = o->dir;
    status = cmd_report_end(process_spawn(argv, STDOUT_FILENO));
    return status <= CMD_EXIT_EXPECT && r->bad > 0 ? CMD_EXIT_RUNS : status;
}

int cmd_report(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {.name = "json", .key = OPT_JSON, .doc = "The summary as JSON on standard output"},
        {.name = "figures",
         .key = OPT_FIGURES,
         .arg = "all|few",
         .doc = "Draw every cell over time, or of many cells only an example (few, the default)"},
        {.name = "beside",
         .key = OPT_BESIDE,
         .arg = "DIR",
         .doc = "Compare with another folder of the same scenario, made on another kind of link"},
        {0},
    };
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "DIR",
        .doc = "Reduces every run in a folder of results again and plots again, without running.\v"
               "  run-scenario report results/delayed-file-20250101-120000\n"
               "  run-scenario report results/on-wire --beside results/in-sim",
    };
    struct options o = {0};
    struct reducing r = {0};
    char message[CMD_PATH_MAX + 200] = "";
    int rv;

    argp_parse(&argp, argc, argv, 0, NULL, &o);
    if (o.beside && check_beside(&o))
        return CMD_EXIT_USAGE;
    if (cmd_analyze_path(r.analyze)) {
        fprintf(stderr, "muxbed: %s is missing; `make` builds it\n", r.analyze);
        return CMD_EXIT_HOST;
    }
    process_catch_signals();
    rv = plan_index_each(o.dir, reduce, &r, message, sizeof(message));
    if (rv < 0) {
        fprintf(stderr, "muxbed: %s\n", message);
        return CMD_EXIT_USAGE;
    }
    return rv ? rv : report(&o, &r);
}
