/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/cmd/cmd.h"
#include "testbed/cmd/cmd_select.h"
#include "testbed/scenario/plan_expect.h"

#include <inttypes.h>

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct cmd_select *select = state->input;

    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = select; return 0;
    case ARGP_KEY_ARG: cmd_select_file(select, arg, state); return 0;
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

static void print_plan(const struct plan *plan)
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
    puts(" in real time");
    print_expects(plan);
}

int cmd_plan(int argc, char **argv)
{
    static const struct argp_child children[] = {{.argp = &cmd_select_argp}, {0}};
    const struct argp argp = {
        .parser = parse,
        .args_doc = "[SCENARIO.yaml]",
        .children = children,
        .doc = "Prints the runs a scenario would make, and about how long they take.\v"
               "Without a file: scenarios/delayed-file.yaml.\n\n"
               "  run-scenario plan scenarios/paper/grid.yaml --runs 10",
    };
    struct cmd_select select;
    struct plan *plan;
    int rv;

    cmd_select_init(&select);
    argp_parse(&argp, argc, argv, 0, NULL, &select);
    rv = cmd_select_load(&select, &plan);
    if (rv)
        return rv;
    print_plan(plan);
    plan_free(plan);
    return CMD_EXIT_OK;
}
