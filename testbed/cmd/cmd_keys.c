/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/cmd/cmd.h"

#include "testbed/scenario/scenario.h"

#include <argp.h>

enum { OPT_MARKDOWN = 0x200 };

static error_t parse(int key, char *arg, struct argp_state *state)
{
    bool *markdown = state->input;

    (void)arg;
    if (key != OPT_MARKDOWN)
        return ARGP_ERR_UNKNOWN;
    *markdown = true;
    return 0;
}

int cmd_keys(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {.name = "markdown", .key = OPT_MARKDOWN, .doc = "As the page scenarios/KEYS.md"},
        {0},
    };
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc = "Lists every key of a scenario: what it may be, its default, what it means.\v"
               "  run-scenario keys | grep aqm",
    };
    bool markdown = false;

    argp_parse(&argp, argc, argv, 0, NULL, &markdown);
    scenario_keys_help(stdout, markdown);
    return CMD_EXIT_OK;
}
