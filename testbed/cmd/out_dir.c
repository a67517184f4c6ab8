/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/cmd/out_dir.h"

#include "testbed/cmd/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MARK ".running"
#define TRIES 100
/* How long those whom a killed muxbed leaves may hold its mark. */
#define PATIENCE (2 * NS_PER_S)

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
    if (snprintf(d->path, sizeof(d->path), "%s", wanted) >= (int)sizeof(d->path))
        return refuse("--out", "the path is too long", CMD_EXIT_USAGE);
    return cmd_make_dirs(d->path) ? refuse(d->path, strerror(errno), CMD_EXIT_USAGE) : 0;
}

/* goes_on: whether the command knows --resume. */
static int make_empty(struct out_dir *d, const char *wanted, bool goes_on)
{
    int rv = make_wanted(d, wanted), empty = rv ? 0 : is_empty(d->path);

    if (rv)
        return rv;
    if (empty < 0)
        return refuse(d->path, strerror(errno), CMD_EXIT_USAGE);
    if (!empty)
        return refuse(
            d->path,
            goes_on
                ? "is not empty; allowed: a new or an empty folder, or --resume to go on with it"
                : "is not empty; allowed: a new or an empty folder",
            CMD_EXIT_USAGE);
    return 0;
}

static int refuse_results(const char *path)
{
    fprintf(stderr, "muxbed: %s: %s; allowed: --out DIR, a folder that may be written\n", path,
            strerror(errno));
    return CMD_EXIT_HOST;
}

/* Where folders without --out lie. */
static int find_results(char *results)
{
    char root[CMD_PATH_MAX];

    if (cmd_join(results, cmd_root(root), "results") || access(results, W_OK))
        snprintf(results, CMD_PATH_MAX, "results");
    return cmd_make_dirs(results) ? refuse_results(results) : 0;
}

static int make_named(struct out_dir *d, const char *name)
{
    char results[CMD_PATH_MAX], stamp[32], leaf[160];
    time_t now = time(NULL);
    int rv = find_results(results);
    struct tm tm;

    if (rv)
        return rv;

    localtime_r(&now, &tm);
    strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &tm);
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
    return refuse_results(d->path);
}

/* Whether leaf is <name>-<date>-<time>, with what makes it unique. */
static bool is_of(const char *leaf, const char *name)
{
    size_t n = strlen(name), digits;

    if (strncmp(leaf, name, n) || leaf[n] != '-')
        return false;
    leaf += n + 1;
    digits = strspn(leaf, "0123456789");
    return digits == 8 && leaf[8] == '-' && strspn(leaf + 9, "0123456789") == 6;
}

/* Sets d->path to the latest folder of that name, or to an empty text. */
static int find_latest(struct out_dir *d, const char *name)
{
    char results[CMD_PATH_MAX];
    struct dirent **entries = NULL;
    int rv = find_results(results), n = rv ? 0 : scandir(results, &entries, NULL, versionsort);

    d->path[0] = '\0';
    for (int i = 0; i < n; i++) {
        if (is_of(entries[i]->d_name, name) && cmd_join(d->path, results, entries[i]->d_name))
            d->path[0] = '\0';
        free(entries[i]);
    }
    free(entries);
    return rv;
}

/* Whether a folder is of ours, or empty: whatever else is there besides runs, we have made. */
static bool is_ours(const char *path)
{
    static const char *const names[] = {"index.sqlite", "expect.json", "sweep.log", MARK};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (cmd_exists(path, names[i]))
            return true;
    }
    return is_empty(path) == 1;
}

static int lock(struct out_dir *d, ns_t patience)
{
    char mark[CMD_PATH_MAX];
    ns_t start = process_now();

    d->lock = cmd_join(mark, d->path, MARK) ? -1 : open(mark, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (d->lock < 0)
        return refuse(d->path, strerror(errno), CMD_EXIT_HOST);
    while (flock(d->lock, LOCK_EX | LOCK_NB)) {
        if (process_now() - start > patience) {
            close(d->lock);
            return refuse(d->path, "somebody else is working there", CMD_EXIT_USAGE);
        }
        poll(NULL, 0, 20);
    }
    return 0;
}

int out_dir_open(struct out_dir *d, const char *wanted, const char *name)
{
    int rv = wanted ? make_empty(d, wanted, name != NULL) : make_named(d, name);

    return rv ? rv : lock(d, 0);
}

int out_dir_resume(struct out_dir *d, const char *wanted, const char *name)
{
    int rv = wanted ? make_wanted(d, wanted) : find_latest(d, name);

    if (!rv && !d->path[0]) {
        fprintf(stderr, "muxbed: --resume: no results of \"%s\" yet, so all runs are made\n", name);
        rv = make_named(d, name);
    }
    if (!rv && !is_ours(d->path))
        rv = refuse(d->path, "is no folder of results", CMD_EXIT_USAGE);
    return rv ? rv : lock(d, PATIENCE);
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
