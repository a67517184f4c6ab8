/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/cmd/cmd.h"

#include "agents/base/err.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define PART ".part"
#define DEPTH_MAX 8

static int copy_bytes(int to, int from)
{
    ssize_t n;

    while ((n = sendfile(to, from, NULL, 1 << 20)) > 0)
        ;
    return n < 0 ? ERR_OS : 0;
}

static int copy_file(const char *to, const char *from)
{
    int in, out, rc = ERR_OS;

    if (!link(from, to))
        return 0;
    in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    out = in < 0 ? -1 : open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (out >= 0)
        rc = copy_bytes(out, in);
    if (out >= 0 && close(out))
        rc = ERR_OS;
    if (in >= 0)
        close(in);
    return rc;
}

static int copy_folder(const char *to, const char *from, int depth);

static int copy_entry(const char *to_dir, const char *from_dir, const char *name, int depth)
{
    char to[CMD_PATH_MAX], from[CMD_PATH_MAX];
    struct stat st;

    if (cmd_join(to, to_dir, name) || cmd_join(from, from_dir, name)) {
        errno = ENAMETOOLONG;
        return ERR_OS;
    }
    if (lstat(from, &st))
        return ERR_OS;
    if (S_ISDIR(st.st_mode))
        return copy_folder(to, from, depth + 1);
    return S_ISREG(st.st_mode) ? copy_file(to, from) : 0;
}

static int copy_folder(const char *to, const char *from, int depth)
{
    DIR *dir = depth < DEPTH_MAX ? opendir(from) : NULL;
    const struct dirent *e;
    int rc = dir && !mkdir(to, 0777) ? 0 : ERR_OS;

    while (!rc && (e = readdir(dir))) {
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
            rc = copy_entry(to, from, e->d_name, depth);
    }
    if (dir)
        closedir(dir);
    return rc;
}

int cmd_copy_tree(const char *to, const char *from)
{
    char part[CMD_PATH_MAX + sizeof(PART)];
    int rc, error;

    snprintf(part, sizeof(part), "%s" PART, to);
    cmd_remove_tree(part);
    rc = copy_folder(part, from, 0);
    if (!rc && rename(part, to))
        rc = ERR_OS;
    if (rc) {
        error = errno;
        cmd_remove_tree(part);
        errno = error;
    }
    return rc;
}
