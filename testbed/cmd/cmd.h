/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the subcommands of muxbed share: their table's row, exit codes and the places things are
 * found at. */
#ifndef TESTBED_CMD_CMD_H
#define TESTBED_CMD_CMD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* When several apply, the first of USAGE, HOST, RUNS, EXPECT counts. */
enum cmd_exit {
    CMD_EXIT_OK = 0,
    CMD_EXIT_EXPECT = 1, /* an expectation of the scenario failed */
    CMD_EXIT_USAGE = 2,  /* usage, or a bad scenario */
    CMD_EXIT_HOST = 3,   /* the host lacks something, which the message names */
    CMD_EXIT_RUNS = 4,   /* runs are invalid or failed */
    CMD_EXIT_INTERRUPTED = 130,
};

#define CMD_PATH_MAX 4096

/* One subcommand. argv[0] is "muxbed NAME"; returns an exit code. */
struct cmd {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
};

int cmd_run(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_plan(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_report(int argc, char **argv);
/* The exit code for how `analyze report` ended (process_spawn), of which it says what analyze
 * itself could not. */
int cmd_report_end(int status);
int cmd_merge(int argc, char **argv);
int cmd_rtplog(int argc, char **argv);
int cmd_keys(int argc, char **argv);
int cmd_clean(int argc, char **argv);
int cmd_selfcheck(int argc, char **argv);

/* The installation's root: $MUXBED_ROOT, else the folder above the executable's. Writes an absolute
 * path to path[CMD_PATH_MAX] and returns it; exits with CMD_EXIT_HOST when there is none. */
char *cmd_root(char *path);
/* Joins dir and name into path[CMD_PATH_MAX]. Returns 0, or ERR_LIMIT when it does not fit. */
int cmd_join(char *path, const char *dir, const char *name);
/* The program `analyze` beside this executable. Returns 0, or ERR_OS with the path looked at. */
int cmd_analyze_path(char *path);
/* mkdir -p. Returns 0 or ERR_OS (errno). */
int cmd_make_dirs(const char *path);
/* Removes a folder and all that is in it, never following a link. Returns 0 or ERR_OS. */
int cmd_remove_tree(const char *path);
/* Gives the folder `to`, which must not exist, all that is in the folder `from`, by links where the
 * disk allows, else by copies; it appears in one step. Returns 0 or ERR_OS (errno). */
int cmd_copy_tree(const char *to, const char *from);
bool cmd_exists(const char *dir, const char *name);

#endif
