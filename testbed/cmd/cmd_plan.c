/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/cmd/cmd.h"
#include "testbed/cmd/cmd_select.h"
#include "testbed/cmd/link_choice.h"
#include "testbed/scenario/plan_expect.h"

#include <inttypes.h>
#include <string.h>

enum { OPT_LINK = 0x100 };

struct options {
    struct cmd_select select;
    const char *link;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->select; return 0;
    case ARGP_KEY_ARG: cmd_select_file(&o->select, arg, state); return 0;
    case OPT_LINK:
        if (!link_choice_is_kind(arg))
            argp_error(state, "--link %s: unknown; allowed: auto, netem, wire, sim", arg);
        o->link = arg;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static void print_expects(const struct plan *plan)
{
    for (size_t i = 0; i < plan->expect_count; i++) {
        const struct plan_expect *e = &plan->expects[i];

        printf("expects, in %zu cell%s: %s (%s, %s)\n", e->check_count,
               e->check_count == 1 ? "" : "s", e->name, e->metric, e->window);
    }
}

static void print_plan(const struct plan *plan, bool virtual_time)
{
    ns_t total = 0;
    size_t width = 4;

    for (size_t i = 0; i < plan->run_count; i++) {
        size_t len = (size_t)snprintf(NULL, 0, "%s", plan->runs[i].name);

        width = len > width ? len : width;
    }
    printf("%4s  %-*s  %10s  %9s\n", "", (int)width, "run", "seed", "about");
    for (size_t i = 0; i < plan->run_count; i++) {
        const struct plan_run *run = &plan->runs[i];
        ns_t duration = scenario_expected_duration(&run->scenario);

        total = ns_add(total, duration);
        printf("%4zu  %-*s  %10" PRId64 "  %7.1f s\n", i + 1, (int)width, run->name,
               run->scenario.seed, ns_to_s(duration));
    }
    printf("\n%s: %zu run%s, about %.0f s", plan->base.name, plan->run_count,
           plan->run_count == 1 ? "" : "s", ns_to_s(total));
    if (total > 3600 * NS_PER_S)
        printf(" (%.1f h)", ns_to_s(total) / 3600.0);
    puts(virtual_time ? " of virtual time" : " in real time");
    print_expects(plan);
}

int cmd_plan(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {.name = "link",
         .key = OPT_LINK,
         .arg = "KIND",
         .doc = "Whether the runs can be made on it, whatever this host can do: auto (default), "
                "netem, wire or sim"},
        {0},
    };
    static const struct argp_child children[] = {{.argp = &cmd_select_argp}, {0}};
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "[SCENARIO.yaml]",
        .children = children,
        .doc = "Prints the runs a scenario would make, and about how long they take.\v"
               "Without a file: scenarios/delayed-file.yaml.\n\n"
               "  run-scenario plan scenarios/paper/grid.yaml --runs 10",
    };
    struct options o = {.link = "auto"};
    struct plan *plan;
    int rv;

    cmd_select_init(&o.select);
    argp_parse(&argp, argc, argv, 0, NULL, &o);
    rv = cmd_select_load(&o.select, &plan);
    if (rv)
        return rv;
    rv = link_choice_check(o.link, plan);
    if (!rv)
        print_plan(plan, !strcmp(o.link, "sim"));
    plan_free(plan);
    return rv;
}
