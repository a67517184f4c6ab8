/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/cmd/cmd.h"

#include "testbed/cmd/cmd_select.h"
#include "testbed/cmd/executor.h"
#include "testbed/cmd/expect_file.h"
#include "testbed/cmd/junit.h"
#include "testbed/cmd/link_choice.h"
#include "testbed/cmd/out_dir.h"
#include "testbed/cmd/plan_index.h"
#include "testbed/cmd/process.h"
#include "testbed/cmd/resume.h"
#include "testbed/cmd/sweep_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    OPT_LINK = 0x100,
    OPT_OUT,
    OPT_KEYLOG,
    OPT_QUIET,
    OPT_JSON,
    OPT_JUNIT,
    OPT_NO_EXPECT,
    OPT_NO_CERTIFICATE
};

struct options {
    struct cmd_select select;
    struct sweep_options sweep;
    const char *link, *out, *junit;
    bool keylog, quiet, json, no_expect, no_certificate;
    char again[CMD_PATH_MAX]; /* the command that goes on with this one's folder */
    char begun[CMD_PATH_MAX];
};

static const struct argp_option options[] = {
    {.name = "link",
     .key = OPT_LINK,
     .arg = "KIND",
     .doc = "auto (default: the first that works here), netem, wire or sim (virtual time, no "
            "privileges)"},
    {.name = "out",
     .key = OPT_OUT,
     .arg = "DIR",
     .doc =
         "Folder of the results, new or empty (default: results/NAME-TIME), or with --resume one "
         "to go on with"},
    {.name = "keylog", .key = OPT_KEYLOG, .doc = "Keep TLS secrets, to decrypt the captures"},
    {.name = "quiet", .key = OPT_QUIET, .doc = "Say nothing unless something is wrong"},
    {.name = "json", .key = OPT_JSON, .doc = "The summary as JSON on standard output"},
    {.name = "junit", .key = OPT_JUNIT, .arg = "FILE", .doc = "Runs and expectations as JUnit XML"},
    {.name = "no-expect",
     .key = OPT_NO_EXPECT,
     .doc = "Do not judge what the scenario expects: its own values may hold no more with --set"},
    {.name = "no-certificate",
     .key = OPT_NO_CERTIFICATE,
     .doc = "Do not measure the link before each run: saves some seconds, proves nothing"},
    {0},
};

static void set_link(struct options *o, const char *arg, const struct argp_state *state)
{
    if (!link_choice_is_kind(arg))
        argp_error(state, "--link %s: unknown; allowed: auto, netem, wire, sim", arg);
    o->link = arg;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->select;
        state->child_inputs[1] = &o->sweep;
        return 0;
    case ARGP_KEY_ARG: cmd_select_file(&o->select, arg, state); return 0;
    case OPT_LINK: set_link(o, arg, state); return 0;
    case OPT_OUT: o->out = arg; return 0;
    case OPT_KEYLOG: o->keylog = true; return 0;
    case OPT_QUIET: o->quiet = true; return 0;
    case OPT_JSON: o->json = true; return 0;
    case OPT_JUNIT: o->junit = arg; return 0;
    case OPT_NO_EXPECT: o->no_expect = true; return 0;
    case OPT_NO_CERTIFICATE: o->no_certificate = true; return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static void parse_options(struct options *o, int argc, char **argv)
{
    static const struct argp_child children[] = {
        {.argp = &cmd_select_argp}, {.argp = &sweep_options_argp}, {0}};
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "[SCENARIO.yaml]",
        .children = children,
        .doc = "Makes every run of a scenario, then prints a table and where the report is.\v"
               "Without a file: scenarios/delayed-file.yaml.\n\n"
               "  run-scenario --link sim\n"
               "  run-scenario scenarios/paper/grid.yaml --runs 10 --link sim\n"
               "  run-scenario --link sim --set path.rate=1mbit --set share=30%\n"
               "  run-scenario scenarios/paper/grid.yaml --runs 10 --jobs 8 --out results/grid\n"
               "  run-scenario scenarios/paper/grid.yaml --runs 10 --resume --out results/grid\n"
               "  run-scenario scenarios/paper/grid.yaml --only '*rate=5mbit*' --shard 1/2\n\n"
               "A folder keeps index.sqlite, a row per run, and sweep.log, what happened when. "
               "After an interrupt, a crash or a kill, --resume goes on.\n\n"
               "Exit status: 0 all well, 1 an expectation of the scenario failed, 2 usage or bad "
               "scenario, 3 the host lacks something, 4 runs invalid or failed, 130 interrupted. "
               "When several apply: 2, 3, 4, 1.",
    };

    *o = (struct options){.link = "auto"};
    cmd_select_init(&o->select);
    argp_parse(&argp, argc, argv, 0, NULL, o);
}

/* The table or JSON from the analysis, which also writes the report. */
static int make_report(const struct options *o, const struct executor *e)
{
    const char *const report[] = {e->analyze, "report", o->json ? "--json" : "--figures=few",
                                  "--",       e->out,   NULL};
    int status = cmd_report_end(process_spawn(report, o->quiet && !o->json ? -1 : STDOUT_FILENO));

    if (status == CMD_EXIT_EXPECT)
        fprintf(stderr, "muxbed: the runs are not as the scenario expects%s\n",
                o->select.set_count > 0 ? ", which --set may have overtaken (--no-expect)" : "");
    return status;
}

static void say_outcome(const struct options *o, const struct executor *e)
{
    if (!o->quiet)
        fprintf(stderr, "results: %s\n", e->out);
    if (e->failed + e->invalid > 0)
        fprintf(stderr, "muxbed: %zu complete, of these %zu invalid; %zu failed\n", e->complete,
                e->invalid, e->failed);
    /* --resume makes again what was cut off, failed, or was spoilt by a busy host. */
    if (!o->quiet && (process_interrupted() || e->disk_full || e->failed + e->spoilt > 0))
        fprintf(stderr, "go on with: %s\n", o->again);
}

static int finish(const struct options *o, struct executor *e)
{
    int status = e->complete + e->unreduced > 0 && !e->interrupted ? make_report(o, e) : 0;

    say_outcome(o, e);
    if (process_interrupted())
        return CMD_EXIT_INTERRUPTED;
    if (status == CMD_EXIT_USAGE)
        return status;
    if (e->disk_full)
        return CMD_EXIT_HOST;
    return status <= CMD_EXIT_EXPECT && e->failed + e->invalid > 0 ? CMD_EXIT_RUNS : status;
}

static int write_junit(const struct options *o, const struct executor *e)
{
    if (!o->junit || !junit_write(e->junit, e->out, o->junit))
        return 0;
    fprintf(stderr, "muxbed: --junit %s: %s\n", o->junit, strerror(errno));
    return CMD_EXIT_HOST;
}

/* Makes the runs and the report in the folder e->out, whose index is open. */
static int run_in(const struct options *o, const struct plan *plan, struct executor *e)
{
    int rv, junit_rv;

    if (!o->no_expect && expect_file_write(e->out, plan)) {
        fprintf(stderr, "muxbed: %s/expect.json: %s\n", e->out, strerror(errno));
        return CMD_EXIT_HOST;
    }
    /* A file that cannot be written is better known now than after the runs. */
    rv = write_junit(o, e);
    if (rv)
        return rv;
    process_catch_signals();
    rv = executor_run(e, plan) ? CMD_EXIT_HOST : finish(o, e);
    junit_rv = write_junit(o, e);
    return junit_rv ? junit_rv : rv;
}

/* As asked for, else as the folder was begun, else by the number of runs. */
static enum keep choose_keep(const struct options *o, const struct plan *plan, struct plan_index *x)
{
    enum keep keep = plan->run_count > KEEP_ALL_RUNS_MAX ? KEEP_SUMMARY : KEEP_ALL;
    char word[16];

    if (o->sweep.keep_given)
        return o->sweep.keep;
    if (o->sweep.resume && plan_index_text(x, "keep", word, sizeof(word)))
        keep_parse(&keep, word);
    return keep;
}

/* The index may lack runs that are there, though they are not of the part that is made now. */
static int complete_index(const struct options *o, const struct executor *e)
{
    struct cmd_select whole = o->select;
    struct plan *plan;
    int rv;

    whole.only_count = 0;
    whole.shard = whole.shards = 0;
    rv = cmd_select_load(&whole, &plan);
    if (rv)
        return rv;
    rv = resume_complete_index(e->index, e->out, plan) ? CMD_EXIT_HOST : 0;
    plan_free(plan);
    return rv;
}

/* Checks and notes in the index what is going to be made. */
static int prepare(const struct options *o, const struct plan *plan, struct executor *e)
{
    const char *link = link_choice_name(e->link);
    bool part = o->select.only_count > 0 || o->select.shards > 0;
    char before[2];
    int rv = 0;

    if (o->sweep.resume)
        rv = resume_check(e->index, e->out, plan, link, part);
    if (!rv && o->sweep.resume)
        rv = complete_index(o, e);
    if (rv)
        return rv;
    e->keep = choose_keep(o, plan, e->index);
    rv = sweep_options_check_room(
        plan,
        &(struct sweep_room){.keep = e->keep, .link = e->link, .jobs = e->jobs, .dir = e->out},
        o->quiet);
    if (rv)
        return rv;
    plan_index_put_text(e->index, "link", link);
    if (!plan_index_text(e->index, "command", before, sizeof(before)))
        plan_index_put_text(e->index, "command", o->begun);
    plan_index_put_text(e->index, "keep", keep_name(e->keep));
    return plan_index_add(e->index, plan) ? CMD_EXIT_HOST : 0;
}

static int run_indexed(const struct options *o, const struct plan *plan, struct executor *e)
{
    char message[CMD_PATH_MAX] = "";
    struct plan_index *index;
    int rv;

    if (plan_index_open(&index, e->out, message, sizeof(message))) {
        fprintf(stderr, "muxbed: %s\n", message);
        return CMD_EXIT_HOST;
    }
    e->index = index;
    rv = prepare(o, plan, e);
    if (rv) {
        plan_index_close(index, message, sizeof(message));
        if (!o->sweep.resume)
            plan_index_remove(e->out);
        return rv;
    }
    rv = run_in(o, plan, e);
    if (plan_index_close(index, message, sizeof(message))) {
        fprintf(stderr, "muxbed: %s\n", message);
        rv = CMD_EXIT_HOST;
    }
    return rv;
}

static void say_start(const struct options *o, const struct plan *plan,
                      const struct link_choice *choice)
{
    if (!o->quiet)
        fprintf(stderr, "%s: %zu run%s on link %s (%s)\n", plan->base.name, plan->run_count,
                plan->run_count == 1 ? "" : "s", link_choice_name(choice->link), choice->why);
}

static int run_plan(struct options *o, const struct plan *plan, int argc, char **argv)
{
    struct link_choice choice;
    struct out_dir out;
    struct junit junit;
    char analyze[CMD_PATH_MAX];
    struct executor e = {
        .keylog = o->keylog, .quiet = o->quiet, .analyze = analyze, .junit = &junit};
    int rv;

    if (cmd_analyze_path(analyze)) {
        fprintf(stderr, "muxbed: %s is missing; `make` builds it\n", analyze);
        return CMD_EXIT_HOST;
    }
    rv = link_choice_make(&choice, o->link, plan);
    if (!rv)
        rv = (o->sweep.resume ? out_dir_resume : out_dir_open)(&out, o->out, plan->base.name);
    if (rv)
        return rv;
    e.link = choice.link;
    e.link_why = choice.why;
    e.no_certificate = o->no_certificate;
    e.out = out.path;
    e.resume = o->sweep.resume;
    e.jobs = sweep_options_jobs(&o->sweep, choice.link);
    resume_command_begun(o->begun, sizeof(o->begun), argc, argv);
    resume_command(o->again, sizeof(o->again), argc, argv, out.path);
    say_start(o, plan, &choice);
    rv = junit_init(&junit, plan) ? CMD_EXIT_HOST : run_indexed(o, plan, &e);
    junit_fini(&junit);
    out_dir_close(&out);
    rmdir(out.path); /* if nothing came of it */
    return rv;
}

int cmd_run(int argc, char **argv)
{
    struct options o;
    struct plan *plan;
    char **given = calloc((size_t)argc + 1, sizeof(*given)); /* argp may change their order */
    int rv;

    if (!given)
        return CMD_EXIT_HOST;
    memcpy(given, argv, (size_t)argc * sizeof(*given));
    parse_options(&o, argc, argv);
    rv = cmd_select_load(&o.select, &plan);
    if (!rv) {
        rv = run_plan(&o, plan, argc, given);
        plan_free(plan);
    }
    free(given);
    return rv;
}
