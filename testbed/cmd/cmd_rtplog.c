/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/cmd/cmd.h"

#include "testbed/cmd/plan_index.h"
#include "testbed/cmd/process.h"

#include <argp.h>
#include <stdio.h>

struct options {
    const char *dir;
    char analyze[CMD_PATH_MAX];
    size_t bad;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;

    switch (key) {
    case ARGP_KEY_ARG:
        if (o->dir)
            argp_error(state, "%s: one folder at a time", arg);
        o->dir = arg;
        return 0;
    case ARGP_KEY_NO_ARGS: argp_error(state, "a folder of results is needed"); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

/* analyze tells by itself what is wrong with a run. */
static int write_logs(void *ctx, const char *run_dir)
{
    struct options *o = ctx;
    const char *const argv[] = {o->analyze, "rtplog", "--", run_dir, NULL};

    o->bad += process_spawn(argv, -1) != 0;
    return process_interrupted() ? CMD_EXIT_INTERRUPTED : 0;
}

int cmd_rtplog(int argc, char **argv)
{
    const struct argp argp = {
        .parser = parse,
        .args_doc = "DIR",
        .doc = "Writes the log of RTP packets of RFC 8868 section 3.1 of each run in a folder of "
               "results, or of one run: sender.rtplog and receiver.rtplog in the run's folder and "
               "in that of each further call. Needs its captures and records (--keep all).\v"
               "  run-scenario rtplog results/delayed-file-20250101-120000/stack=quic-1",
    };
    struct options o = {0};
    char message[CMD_PATH_MAX + 200] = "";
    int rv;

    argp_parse(&argp, argc, argv, 0, NULL, &o);
    if (cmd_analyze_path(o.analyze)) {
        fprintf(stderr, "muxbed: %s is missing; `make` builds it\n", o.analyze);
        return CMD_EXIT_HOST;
    }
    process_catch_signals();
    if (cmd_exists(o.dir, "manifest.json"))
        rv = write_logs(&o, o.dir);
    else
        rv = plan_index_each(o.dir, write_logs, &o, message, sizeof(message));
    if (rv < 0) {
        fprintf(stderr, "muxbed: %s\n", message);
        return CMD_EXIT_USAGE;
    }
    return rv ? rv : o.bad ? CMD_EXIT_RUNS : CMD_EXIT_OK;
}
