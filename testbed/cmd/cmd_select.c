/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/cmd/cmd_select.h"

#include "agents/base/err.h"
#include "testbed/cmd/cmd.h"
#include "testbed/cmd/run_order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_SCENARIO "scenarios/delayed-file.yaml"

enum { OPT_SET = 0x200, OPT_RUNS, OPT_SEED, OPT_ONLY, OPT_SHARD };

static const struct argp_option options[] = {
    {.name = "set",
     .key = OPT_SET,
     .arg = "KEY=VALUE",
     .doc = "Override a key of the scenario (repeatable; `run-scenario keys` lists them)"},
    {.name = "runs", .key = OPT_RUNS, .arg = "N", .doc = "Repetitions of every cell"},
    {.name = "seed", .key = OPT_SEED, .arg = "N", .doc = "Seed of the first repetition"},
    {.name = "only",
     .key = OPT_ONLY,
     .arg = "CELL",
     .doc =
         "Only this cell of the grid (`run-scenario plan` names them), or all that fit a pattern "
         "such as '*delay=10ms*' (repeatable: all of them)"},
    {.name = "shard",
     .key = OPT_SHARD,
     .arg = "K/N",
     .doc = "Only the K-th of N parts of the runs, always the same ones, to make the parts on "
            "several hosts (`run-scenario merge` joins them)"},
    {0},
};

void cmd_select_init(struct cmd_select *s)
{
    *s = (struct cmd_select){.runs = -1, .seed = -1};
}

void cmd_select_file(struct cmd_select *s, const char *file, const struct argp_state *state)
{
    if (s->file)
        argp_error(state, "%s, %s: one scenario file is enough; a command comes before all options",
                   s->file, file);
    s->file = file;
}

/* A whole number given to an option, which takes them from least on; ends the program with a usage
 * error where there is none. */
static int64_t number_of(const struct argp_state *state, const char *option, int least,
                         const char *text)
{
    char *end;
    long long v;

    errno = 0;
    v = strtoll(text, &end, 10);
    if (errno || end == text || *end || v < 0)
        argp_error(state, "--%s %s: not a whole number; allowed: %d, %d, %d, ...", option, text,
                   least, least + 1, least + 2);
    return v;
}

static void set_shard(struct cmd_select *s, const char *arg, const struct argp_state *state)
{
    long long number = 0, count = 0;
    int used = 0;

    if (sscanf(arg, "%5lld/%5lld%n", &number, &count, &used) != 2 || arg[used] || number < 1 ||
        count < number)
        argp_error(state, "--shard %s: no part; allowed: K/N with K from 1 to N, such as 1/4", arg);
    s->shard = number;
    s->shards = count;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct cmd_select *s = state->input;

    switch (key) {
    case OPT_SET:
        if (s->set_count == CMD_SETS_MAX)
            argp_error(state, "more than %d times --set", CMD_SETS_MAX);
        s->sets[s->set_count++] = arg;
        return 0;
    case OPT_RUNS: s->runs = number_of(state, "runs", 1, arg); return 0;
    case OPT_SEED: s->seed = number_of(state, "seed", 0, arg); return 0;
    case OPT_ONLY:
        if (s->only_count == CMD_ONLY_MAX)
            argp_error(state, "more than %d times --only", CMD_ONLY_MAX);
        s->only[s->only_count++] = arg;
        return 0;
    case OPT_SHARD: set_shard(s, arg, state); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

const struct argp cmd_select_argp = {.options = options, .parser = parse};

static int take_shard(const struct cmd_select *s, struct plan *plan)
{
    size_t all = plan->run_count;
    int rv = run_order_shard(plan, s->shard, s->shards);

    if (rv)
        fprintf(stderr, "muxbed: %s\n", err_text(rv));
    else if (plan->run_count == 0)
        fprintf(stderr, "muxbed: --shard %d/%d: is empty, as there are only %zu runs\n",
                (int)s->shard, (int)s->shards, all);
    if (!rv && plan->run_count > 0)
        return 0;
    plan_free(plan);
    return rv ? rv : ERR_CONFIG;
}

int cmd_select_load(const struct cmd_select *s, struct plan **out)
{
    struct plan_options opt = {
        .sets = s->sets, .runs = s->runs, .seed = s->seed, .only = s->only_count ? s->only : NULL};
    char root[CMD_PATH_MAX], path[CMD_PATH_MAX];
    const char *file = s->file;
    int rv;

    if (!file) {
        if (cmd_join(path, cmd_root(root), DEFAULT_SCENARIO))
            return CMD_EXIT_HOST;
        file = path;
    }
    rv = plan_load(out, file, &opt, stderr);
    if (!rv && s->shards > 0)
        rv = take_shard(s, *out);
    return !rv ? 0 : rv == ERR_CONFIG ? CMD_EXIT_USAGE : CMD_EXIT_HOST;
}
