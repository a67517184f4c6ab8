/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/cmd/cmd.h"
#include "testbed/cmd/link_choice.h"

#include "testbed/scenario/plan.h"

#include <argp.h>

/* Which kinds of links cannot do what it asks, whatever the host. */
static void print_refusals(const struct plan *plan)
{
    static const enum run_link kinds[] = {RUN_LINK_NETEM, RUN_LINK_WIRE, RUN_LINK_SIM};
    struct message m;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (!link_choice_can(kinds[i], plan, &m))
            printf("  not on link %s: %s\n", link_choice_name(kinds[i]), m.text);
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    int *status = state->input;
    const struct plan_options opt = {.runs = -1, .seed = -1};
    struct plan *plan;

    switch (key) {
    case ARGP_KEY_ARG:
        if (plan_load(&plan, arg, &opt, stderr)) {
            *status = CMD_EXIT_USAGE;
            return 0;
        }
        printf("%s: good, %zu run%s", arg, plan->run_count, plan->run_count == 1 ? "" : "s");
        if (plan->expect_count > 0)
            printf(", %zu expectation%s", plan->expect_count, plan->expect_count == 1 ? "" : "s");
        putchar('\n');
        print_refusals(plan);
        plan_free(plan);
        return 0;
    case ARGP_KEY_NO_ARGS: argp_error(state, "a scenario file is needed"); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

int cmd_check(int argc, char **argv)
{
    const struct argp argp = {
        .parser = parse,
        .args_doc = "FILE...",
        .doc = "Checks scenario files and reports everything wrong with them, and which kinds of "
               "links cannot do what they ask.\v"
               "Exit status: 0 all good, 2 at least one is not.\n\n"
               "  run-scenario check scenarios/*.yaml",
    };
    int status = CMD_EXIT_OK;

    argp_parse(&argp, argc, argv, 0, NULL, &status);
    return status;
}
