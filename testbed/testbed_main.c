/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program muxbed: a table of subcommands. Without one it runs a scenario. */
#include "agents/base/std_streams.h"
#include "testbed/cmd/cmd.h"
#include "testbed/run/versions.h"
#include "testbed/scenario/nearest.h"

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
    {"merge", cmd_merge, "join the folders that parts of a plan have made"},
    {"rtplog", cmd_rtplog, "write the logs of RTP packets of RFC 8868 from what runs left"},
    {"clean", cmd_clean, "remove incomplete runs from a folder of results"},
    {"selfcheck", cmd_selfcheck, "certify this host for a scenario"},
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

/* What people call us: "run-scenario" through the launcher. */
static const char *called(const char *self)
{
    const char *slash = strrchr(self, '/');

    return slash ? slash + 1 : self;
}

static void print_commands(FILE *out)
{
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].help);
}

static int help(const char *name)
{
    printf("Usage: %s [COMMAND] [OPTION...] [SCENARIO.yaml]\n\n", name);
    printf("What happens to a call when a file shares its path? Runs real protocol\n"
           "agents over an emulated bottleneck, in network namespaces or in virtual time,\n"
           "and reports.\n\n"
           "Commands (with --help each says more):\n");
    print_commands(stdout);
    printf("  %-10s its version and commit, and the versions of its libraries\n", "--version");
    printf("\nExamples:\n"
           "  run-scenario --link sim          the default scenario, in virtual time\n"
           "  run-scenario scenarios/paper/grid.yaml --runs 5\n"
           "  run-scenario scenarios/paper/grid.yaml --runs 5 --jobs auto --resume\n"
           "  run-scenario plan scenarios/paper/grid.yaml\n"
           "  run-scenario --set path.rate=1mbit --set media.min-rate=30kbit\n"
           "  run-scenario run --help          all options\n\n"
           "Exit status: 0 all well, 1 an expectation failed, 2 usage or bad scenario,\n"
           "3 the host lacks something, 4 runs invalid or failed, 130 interrupted.\n");
    return CMD_EXIT_OK;
}

/* With the libraries it is made of, a line each. */
static int version(void)
{
    json_t *all = versions_json(), *one;
    const char *name;

    if (!all) {
        fputs("muxbed: out of memory\n", stderr);
        return CMD_EXIT_HOST;
    }
    json_object_foreach(all, name, one) printf("%s %s\n", name, json_string_value(one));
    json_decref(all);
    return CMD_EXIT_OK;
}

/* A first word that can only be meant as a command. */
static bool looks_like_command(const char *word)
{
    return word[0] != '-' && !strchr(word, '/') && !strchr(word, '.');
}

static int unknown(const char *word)
{
    const char *words[COMMANDS + 1] = {NULL}, *nearest;

    for (size_t i = 0; i < COMMANDS; i++)
        words[i] = commands[i].name;
    nearest = nearest_word(word, words);
    fprintf(stderr, "muxbed: unknown command \"%s\"%s%s%s; allowed: a scenario file, or\n", word,
            nearest ? ", did you mean \"" : "", nearest ? nearest : "", nearest ? "\"?" : "");
    print_commands(stderr);
    return CMD_EXIT_USAGE;
}

/* argp names the program by what is behind the last slash of argv[0], which therefore carries the
 * command's name too. */
static int start(const struct cmd *c, const char *self, int argc, char **argv)
{
    char name[CMD_PATH_MAX];

    snprintf(name, sizeof(name), "%s %s", self, c->name);
    argv[0] = name;
    argp_err_exit_status = CMD_EXIT_USAGE;
    return c->run(argc, argv);
}

int main(int argc, char **argv)
{
    const struct cmd *c = argc > 1 ? find(argv[1]) : NULL;
    const char *self = argc > 0 && argv[0] && *argv[0] ? argv[0] : "muxbed";

    std_streams_open();
    if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-?") ||
                     !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")))
        return help(called(self));
    if (argc > 1 && (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")))
        return version();
    if (c)
        return start(c, self, argc - 1, argv + 1);
    if (argc > 1 && looks_like_command(argv[1]))
        return unknown(argv[1]);
    return start(find("run"), self, argc, argv);
}
