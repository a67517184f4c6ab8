/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/cmd/out_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MARK ".running"
#define TRIES 100

static int refuse(const char *path, const char *why, int code)
{
    fprintf(stderr, "muxbed: %s: %s\n", path, why);
    return code;
}

/* 1: empty, 0: not, < 0: cannot tell (errno). */
static int is_empty(const char *path)
{
    DIR *dir = opendir(path);
    const struct dirent *e;
    int empty = 1;

    if (!dir)
        return -1;
    while (empty && (e = readdir(dir)))
        empty = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..");
    closedir(dir);
    return empty;
}

static int make_wanted(struct out_dir *d, const char *wanted)
{
    int empty;

    if (snprintf(d->path, sizeof(d->path), "%s", wanted) >= (int)sizeof(d->path))
        return refuse("--out", "the path is too long", CMD_EXIT_USAGE);
    if (cmd_make_dirs(d->path))
        return refuse(d->path, strerror(errno), CMD_EXIT_USAGE);
    empty = is_empty(d->path);
    if (empty < 0)
        return refuse(d->path, strerror(errno), CMD_EXIT_USAGE);
    if (!empty)
        return refuse(d->path, "is not empty; allowed: a new or an empty folder", CMD_EXIT_USAGE);
    return 0;
}

static int make_named(struct out_dir *d, const char *name)
{
    char root[CMD_PATH_MAX], results[CMD_PATH_MAX], stamp[32], leaf[160];
    time_t now = time(NULL);
    struct tm tm;

    localtime_r(&now, &tm);
    strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &tm);
    if (cmd_join(results, cmd_root(root), "results") || access(results, W_OK))
        snprintf(results, sizeof(results), "results");
    if (cmd_make_dirs(results))
        return refuse(results, strerror(errno), CMD_EXIT_HOST);
    for (int i = 1; i <= TRIES; i++) {
        if (i == 1)
            snprintf(leaf, sizeof(leaf), "%s-%s", name, stamp);
        else
            snprintf(leaf, sizeof(leaf), "%s-%s-%d", name, stamp, i);
        if (cmd_join(d->path, results, leaf))
            return refuse(results, "the path is too long", CMD_EXIT_HOST);
        if (!mkdir(d->path, 0777))
            return 0;
        if (errno != EEXIST)
            break;
    }
    return refuse(d->path, strerror(errno), CMD_EXIT_HOST);
}

int out_dir_open(struct out_dir *d, const char *wanted, const char *name)
{
    char mark[CMD_PATH_MAX];
    int rv = wanted ? make_wanted(d, wanted) : make_named(d, name);

    if (rv)
        return rv;
    d->lock = cmd_join(mark, d->path, MARK) ? -1 : open(mark, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (d->lock < 0)
        return refuse(d->path, strerror(errno), CMD_EXIT_HOST);
    if (flock(d->lock, LOCK_EX | LOCK_NB)) {
        close(d->lock);
        return refuse(d->path, "somebody else is working there", CMD_EXIT_USAGE);
    }
    return 0;
}

void out_dir_close(struct out_dir *d)
{
    char mark[CMD_PATH_MAX];

    if (!cmd_join(mark, d->path, MARK))
        unlink(mark);
    close(d->lock);
}

bool out_dir_busy(const char *path)
{
    char mark[CMD_PATH_MAX];
    int fd = cmd_join(mark, path, MARK) ? -1 : open(mark, O_RDONLY | O_CLOEXEC);
    bool busy;

    if (fd < 0)
        return false;
    busy = flock(fd, LOCK_SH | LOCK_NB) != 0;
    close(fd);
    return busy;
}
