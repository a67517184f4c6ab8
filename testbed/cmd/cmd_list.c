/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/cmd/cmd.h"

#include "testbed/scenario/plan.h"

#include <argp.h>
#include <errno.h>
#include <fts.h>
#include <string.h>

static int compare_names(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static bool is_scenario(const FTSENT *e)
{
    const char *dot = strrchr(e->fts_name, '.');

    return e->fts_info == FTS_F && dot && !strcmp(dot, ".yaml");
}

/* Prints one scenario; path is shown as it lies below the root. */
static int print_scenario(const char *path, size_t root_len)
{
    const struct plan_options opt = {.runs = -1, .seed = -1};
    struct plan *plan;

    if (plan_load(&plan, path, &opt, stderr))
        return CMD_EXIT_USAGE;
    printf("%-40s %4zu run%s  %s\n", path + root_len + 1, plan->run_count,
           plan->run_count == 1 ? " " : "s", plan->base.description);
    plan_free(plan);
    return CMD_EXIT_OK;
}

int cmd_list(int argc, char **argv)
{
    const struct argp argp = {
        .doc = "Lists the scenarios that come with muxbed, with their descriptions.\v"
               "  run-scenario list\n"
               "  run-scenario list | grep music"};
    char root[CMD_PATH_MAX], dir[CMD_PATH_MAX];
    char *const dirs[] = {dir, NULL};
    int status = CMD_EXIT_OK;
    FTSENT *e;
    FTS *fts;

    argp_parse(&argp, argc, argv, 0, NULL, NULL);
    if (cmd_join(dir, cmd_root(root), "scenarios") || !cmd_exists(root, "scenarios")) {
        fprintf(stderr, "muxbed: %s has no folder scenarios\n", root);
        return CMD_EXIT_HOST;
    }
    fts = fts_open(dirs, FTS_PHYSICAL | FTS_NOCHDIR, compare_names);
    if (!fts) {
        fprintf(stderr, "muxbed: %s: %s\n", dir, strerror(errno));
        return CMD_EXIT_HOST;
    }
    while ((e = fts_read(fts))) {
        if (is_scenario(e) && print_scenario(e->fts_path, strlen(root)))
            status = CMD_EXIT_USAGE;
    }
    fts_close(fts);
    return status;
}
