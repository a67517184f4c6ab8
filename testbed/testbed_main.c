/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program muxbed: a table of subcommands. Without one it runs a scenario. */
#include "testbed/cmd/cmd.h"

#include <argp.h>
#include <stdio.h>
#include <string.h>

static const struct cmd commands[] = {
    {"run", cmd_run, "make every run of a scenario and report (the default)"},
    {"check", cmd_check, "check scenario files"},
    {"plan", cmd_plan, "show which runs a scenario would make"},
    {"list", cmd_list, "list the scenarios that come with muxbed"},
    {"keys", cmd_keys, "list every key of a scenario"},
    {"report", cmd_report, "reduce and plot results again, without running"},
    {"clean", cmd_clean, "remove incomplete runs from a folder of results"},
    {"selfcheck", cmd_selfcheck, "tell which kinds of link work on this host"},
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static const struct cmd *find(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        if (!strcmp(commands[i].name, name))
            return &commands[i];
    }
    return NULL;
}

static void print_commands(FILE *out)
{
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].help);
}

static int help(void)
{
    printf("Usage: muxbed [COMMAND] [OPTION...] [SCENARIO.yaml]\n\n"
           "What happens to a call when a file shares its path? Runs real protocol agents over an\n"
           "emulated bottleneck, in network namespaces or in virtual time, and reports.\n\n"
           "Commands (`muxbed COMMAND --help` says more):\n");
    print_commands(stdout);
    printf("\nExamples:\n"
           "  muxbed --link sim                        the default scenario, in virtual time\n"
           "  muxbed scenarios/paper/grid.yaml --runs 5\n"
           "  muxbed plan scenarios/paper/grid.yaml\n"
           "  muxbed --set path.rate=1mbit --set media.min-rate=30kbit\n\n"
           "Exit status: 0 all well, 1 an expectation failed, 2 usage or bad scenario, 3 the host\n"
           "lacks something, 4 runs invalid or failed, 130 interrupted.\n");
    return CMD_EXIT_OK;
}

/* A first word that can only be meant as a command. */
static bool looks_like_command(const char *word)
{
    return word[0] != '-' && !strchr(word, '/') && !strchr(word, '.');
}

/* argp names the program by argv[0], which therefore carries the command's name too. */
static int start(const struct cmd *c, int argc, char **argv)
{
    char name[32];

    snprintf(name, sizeof(name), "muxbed %s", c->name);
    argv[0] = name;
    argp_err_exit_status = CMD_EXIT_USAGE;
    return c->run(argc, argv);
}

int main(int argc, char **argv)
{
    const struct cmd *c = argc > 1 ? find(argv[1]) : NULL;

    if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-?") ||
                     !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")))
        return help();
    if (c)
        return start(c, argc - 1, argv + 1);
    if (argc > 1 && looks_like_command(argv[1])) {
        fprintf(stderr, "muxbed: unknown command \"%s\"; allowed: a scenario file, or\n", argv[1]);
        print_commands(stderr);
        return CMD_EXIT_USAGE;
    }
    return start(find("run"), argc, argv);
}
