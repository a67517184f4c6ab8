/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/cmd/cmd.h"

#include "testbed/run/run.h"

#include <argp.h>

int cmd_selfcheck(int argc, char **argv)
{
    static const struct {
        enum run_link link;
        const char *name;
    } kinds[] = {{RUN_LINK_NETEM, "netem"}, {RUN_LINK_WIRE, "wire"}};
    const struct argp argp = {
        .doc = "Tells which kinds of link work on this host, and what the others lack.\v"
               "Exit status: 0 when a real link works, 3 when only the simulator does."};
    bool real = false;

    argp_parse(&argp, argc, argv, 0, NULL, NULL);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        char message[256] = "";
        bool works = run_netns_probe(kinds[i].link, message, sizeof(message)) >= 0;

        real |= works;
        printf("%-6s %s%s%s\n", kinds[i].name, works ? "works" : "does not work",
               message[0] ? ": " : "", message);
    }
    printf("%-6s works: in virtual time\n", "sim");
    return real ? CMD_EXIT_OK : CMD_EXIT_HOST;
}
