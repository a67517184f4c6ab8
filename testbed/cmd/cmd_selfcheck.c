/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/cmd/cmd.h"

#include "testbed/cmd/cmd_select.h"
#include "testbed/cmd/selfcheck.h"

#include <errno.h>
#include <string.h>

#define CMD_EXIT_UNFAITHFUL 1 /* the scenario cannot be run faithfully */

enum { OPT_LINK = 0x100, OPT_JSON, OPT_QUIET };

struct options {
    struct cmd_select select;
    const char *link, *json;
    bool quiet;
};

static const struct argp_option options[] = {
    {.name = "link", .key = OPT_LINK, .arg = "KIND", .doc = "auto (default), netem, wire or sim"},
    {.name = "json", .key = OPT_JSON, .arg = "FILE", .doc = "What was found as JSON"},
    {.name = "quiet", .key = OPT_QUIET, .doc = "No table, only the exit status"},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->select; return 0;
    case ARGP_KEY_ARG: cmd_select_file(&o->select, arg, state); return 0;
    case OPT_LINK:
        if (strcmp(arg, "auto") && strcmp(arg, "netem") && strcmp(arg, "wire") &&
            strcmp(arg, "sim"))
            argp_error(state, "--link %s: unknown; allowed: auto, netem, wire, sim", arg);
        o->link = arg;
        return 0;
    case OPT_JSON: o->json = arg; return 0;
    case OPT_QUIET: o->quiet = true; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static int write_json(const struct selfcheck *s, const char *path)
{
    json_t *doc = selfcheck_json(s);
    int rv = doc ? json_dump_file(doc, path, JSON_INDENT(2)) : -1;

    json_decref(doc);
    if (!rv)
        return 0;
    fprintf(stderr, "muxbed: --json %s: %s\n", path, doc ? strerror(errno) : "out of memory");
    return CMD_EXIT_HOST;
}

static int check(const struct options *o, const struct plan *plan)
{
    struct selfcheck s;
    int rv = selfcheck_make(&s, plan, o->link, o->quiet);

    if (!rv && !o->quiet)
        selfcheck_print(&s, stdout);
    if (!rv && o->json)
        rv = write_json(&s, o->json);
    rv = rv ? rv : selfcheck_holds(&s) ? CMD_EXIT_OK : CMD_EXIT_UNFAITHFUL;
    selfcheck_fini(&s);
    return rv;
}

int cmd_selfcheck(int argc, char **argv)
{
    static const struct argp_child children[] = {{.argp = &cmd_select_argp}, {0}};
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "[SCENARIO.yaml]",
        .children = children,
        .doc = "Certifies this host for a scenario: which kinds of link work and what the others "
               "lack, whether the link of every cell is what it should be, and how many at once "
               "still are.\v"
               "Without a file: scenarios/delayed-file.yaml.\n\n"
               "  run-scenario selfcheck\n"
               "  run-scenario selfcheck scenarios/paper/grid.yaml --link wire\n\n"
               "Exit status: 0 when every run can be made faithfully, 1 when not, 2 usage or bad "
               "scenario, 3 the host lacks what --link asks for."};
    struct options o = {.link = "auto"};
    struct plan *plan;
    int rv;

    cmd_select_init(&o.select);
    argp_parse(&argp, argc, argv, 0, NULL, &o);
    rv = cmd_select_load(&o.select, &plan);
    if (rv)
        return rv;
    rv = check(&o, plan);
    plan_free(plan);
    return rv;
}
