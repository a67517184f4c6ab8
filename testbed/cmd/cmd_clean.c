/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/cmd/cmd.h"

#include "testbed/cmd/out_dir.h"

#include <argp.h>
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static error_t parse(int key, char *arg, struct argp_state *state)
{
    const char **dir = state->input;

    switch (key) {
    case ARGP_KEY_ARG:
        if (*dir)
            argp_error(state, "%s: one folder at a time", arg);
        *dir = arg;
        return 0;
    case ARGP_KEY_NO_ARGS: argp_error(state, "a folder of results is needed"); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static bool is_folder(const char *path)
{
    struct stat st;

    return !lstat(path, &st) && S_ISDIR(st.st_mode);
}

/* A run's folder that never became complete. Its first files are the run's inputs, so a folder
 * without them is somebody else's, and not touched. */
static bool is_incomplete_run(const char *path)
{
    return is_folder(path) && !cmd_exists(path, "DONE") && cmd_exists(path, "scenario.yaml") &&
           cmd_exists(path, "sender.conf");
}

static int clean_runs(const char *plan_dir, DIR *dir)
{
    const struct dirent *e;
    char path[CMD_PATH_MAX];
    size_t removed = 0;
    int status = CMD_EXIT_OK;

    while ((e = readdir(dir))) {
        if (e->d_name[0] == '.' || cmd_join(path, plan_dir, e->d_name) || !is_incomplete_run(path))
            continue;
        if (cmd_remove_tree(path)) {
            fprintf(stderr, "muxbed: %s: %s\n", path, strerror(errno));
            status = CMD_EXIT_HOST;
        } else {
            printf("removed %s\n", path);
            removed++;
        }
    }
    printf("%s: %zu incomplete run%s removed\n", plan_dir, removed, removed == 1 ? "" : "s");
    return status;
}

int cmd_clean(int argc, char **argv)
{
    const struct argp argp = {
        .parser = parse,
        .args_doc = "DIR",
        .doc = "Removes the folders of runs that never became complete from a folder of results.\v"
               "Namespaces and links need no cleaning: they belong to the processes of a run and "
               "end with them.\n\n"
               "  run-scenario clean results/delayed-file-20250101-120000",
    };
    const char *plan_dir = NULL;
    DIR *dir;
    int status;

    argp_parse(&argp, argc, argv, 0, NULL, &plan_dir);
    if (out_dir_busy(plan_dir)) {
        fprintf(stderr, "muxbed: %s: runs are being made there\n", plan_dir);
        return CMD_EXIT_USAGE;
    }
    dir = opendir(plan_dir);
    if (!dir) {
        fprintf(stderr, "muxbed: %s: %s\n", plan_dir, strerror(errno));
        return CMD_EXIT_USAGE;
    }
    status = clean_runs(plan_dir, dir);
    closedir(dir);
    return status;
}
