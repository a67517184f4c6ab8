/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/cmd/cmd.h"

#include "agents/base/err.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int cmd_join(char *path, const char *dir, const char *name)
{
    int n = snprintf(path, CMD_PATH_MAX, "%s/%s", dir, name);

    return n > 0 && n < CMD_PATH_MAX ? 0 : ERR_LIMIT;
}

/* The folder the executable lies in. */
static int program_dir(char *path)
{
    ssize_t n = readlink("/proc/self/exe", path, CMD_PATH_MAX - 1);
    char *slash;

    if (n <= 0)
        return ERR_OS;
    path[n] = '\0';
    slash = strrchr(path, '/');
    if (!slash)
        return ERR_OS;
    *(slash == path ? slash + 1 : slash) = '\0';
    return 0;
}

char *cmd_root(char *path)
{
    const char *root = getenv("MUXBED_ROOT");
    char dir[CMD_PATH_MAX], up[CMD_PATH_MAX];

    if (root && *root) {
        if (realpath(root, path))
            return path;
        fprintf(stderr, "muxbed: MUXBED_ROOT=%s: %s\n", root, strerror(errno));
        exit(CMD_EXIT_HOST);
    }
    if (program_dir(dir) || cmd_join(up, dir, "..") || !realpath(up, path)) {
        fprintf(stderr, "muxbed: cannot tell where it is installed: %s\n", strerror(errno));
        exit(CMD_EXIT_HOST);
    }
    return path;
}

int cmd_analyze_path(char *path)
{
    char dir[CMD_PATH_MAX];

    if (program_dir(dir) || cmd_join(path, dir, "analyze"))
        return ERR_OS;
    return access(path, X_OK) ? ERR_OS : 0;
}

int cmd_make_dirs(const char *path)
{
    char copy[CMD_PATH_MAX];

    if (snprintf(copy, sizeof(copy), "%s", path) >= (int)sizeof(copy)) {
        errno = ENAMETOOLONG;
        return ERR_OS;
    }
    for (char *p = copy + 1; *p; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        if (mkdir(copy, 0777) && errno != EEXIST)
            return ERR_OS;
        *p = '/';
    }
    return mkdir(copy, 0777) && errno != EEXIST ? ERR_OS : 0;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

int cmd_remove_tree(const char *path)
{
    return nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS) ? ERR_OS : 0;
}

bool cmd_exists(const char *dir, const char *name)
{
    char path[CMD_PATH_MAX];

    return !cmd_join(path, dir, name) && !access(path, F_OK);
}
