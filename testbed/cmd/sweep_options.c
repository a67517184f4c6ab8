/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/cmd/sweep_options.h"

#include "testbed/cmd/cmd.h"
#include "testbed/cmd/cmd_select.h"
#include "testbed/cmd/executor.h"
#include "testbed/cmd/run_state.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* `--jobs auto` in real time: admission control finds out how many of these there may be. */
#define AUTO_JOBS_PER_CORE 16
/* Less than that is not worth a word. */
#define WORTH_SAYING_BYTES INT64_C(1000000000)

enum { OPT_RESUME = 0x300, OPT_JOBS, OPT_KEEP };

static const struct argp_option options[] = {
    {.name = "resume",
     .key = OPT_RESUME,
     .doc = "Go on with a folder (--out DIR, or the plan's latest): complete runs are kept, those "
            "cut off are made again"},
    {.name = "jobs",
     .key = OPT_JOBS,
     .arg = "N|auto",
     .doc = "Runs at once, at most. Virtual time: as many as processors. Real time: 1; more are "
            "begun as long as those that run stay on time, auto as many as that allows"},
    {.name = "keep",
     .key = OPT_KEEP,
     .arg = "WHAT",
     .doc = "What stays of a reduced run: all, records (no captures), or summary (metrics and "
            "series of the figures; the default for plans of more than 20 runs)"},
    {0},
};

static size_t parse_jobs(const struct argp_state *state, const char *text)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);

    if (*text < '0' || *text > '9' || *end || n == 0 || n > EXECUTOR_JOBS_MAX)
        argp_error(state, "--jobs %s: allowed: auto, 1 to %d", text, EXECUTOR_JOBS_MAX);
    return n;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct sweep_options *o = state->input;

    switch (key) {
    case OPT_RESUME: o->resume = true; return 0;
    case OPT_JOBS:
        o->jobs_auto = !strcmp(arg, "auto");
        o->jobs = o->jobs_auto ? 0 : parse_jobs(state, arg);
        return 0;
    case OPT_KEEP:
        o->keep_given = true;
        if (keep_parse(&o->keep, arg))
            argp_error(state, "--keep %s: unknown; allowed: summary, records, all", arg);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

const struct argp sweep_options_argp = {.options = options, .parser = parse};

size_t sweep_options_jobs(const struct sweep_options *o, enum run_link link)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    size_t cores = n > 0 ? (size_t)n : 1, jobs = 1;

    if (o->jobs > 0)
        jobs = o->jobs;
    else if (link == RUN_LINK_SIM)
        jobs = cores;
    else if (o->jobs_auto)
        jobs = AUTO_JOBS_PER_CORE * cores;
    return jobs < EXECUTOR_JOBS_MAX ? jobs : EXECUTOR_JOBS_MAX;
}

static int64_t plus(int64_t a, int64_t b)
{
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

static void print_bytes(char *text, size_t len, int64_t bytes)
{
    if (bytes >= INT64_C(10000000000))
        snprintf(text, len, "%.0f GB", (double)bytes / 1e9);
    else if (bytes >= INT64_C(1000000000))
        snprintf(text, len, "%.1f GB", (double)bytes / 1e9);
    else
        snprintf(text, len, "%.0f MB", (double)bytes / 1e6);
}

/* What all runs that are still to be made leave, and those that are being made need meanwhile. */
static int64_t need(const struct plan *plan, const struct sweep_room *room)
{
    int64_t bytes = 0, largest = 0;
    char run_dir[CMD_PATH_MAX];

    for (size_t i = 0; i < plan->run_count; i++) {
        const struct scenario *s = &plan->runs[i].scenario;
        int64_t working = keep_working_bytes(s, room->keep, room->link == RUN_LINK_SIM);

        if (!cmd_join(run_dir, room->dir, plan->runs[i].name) &&
            run_state_of(run_dir) >= RUN_STATE_UNREDUCED)
            continue;
        bytes = plus(bytes, keep_final_bytes(s, room->keep));
        largest = working > largest ? working : largest;
    }
    for (size_t i = 0; i < room->jobs && room->keep < KEEP_ALL && i < plan->run_count; i++)
        bytes = plus(bytes, largest);
    return bytes;
}

int sweep_options_check_room(const struct plan *plan, const struct sweep_room *room, bool quiet)
{
    int64_t bytes = need(plan, room), there = keep_free_bytes(room->dir);
    char wanted[40], left[40];

    print_bytes(wanted, sizeof(wanted), bytes);
    print_bytes(left, sizeof(left), there);
    if (bytes >= there) {
        fprintf(stderr,
                "muxbed: %s: about %s are needed (--keep %s), %s free; allowed: %s, fewer runs, or "
                "--out on another disk\n",
                room->dir, wanted, keep_name(room->keep), left,
                room->keep == KEEP_SUMMARY ? "fewer --jobs" : "--keep summary");
        return CMD_EXIT_HOST;
    }
    if (!quiet && (bytes >= WORTH_SAYING_BYTES || plan->run_count > KEEP_ALL_RUNS_MAX))
        fprintf(stderr, "%s: up to about %s on disk (--keep %s), %s free\n", plan->base.name,
                wanted, keep_name(room->keep), left);
    return 0;
}
