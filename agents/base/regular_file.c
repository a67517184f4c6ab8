/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/base/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns 0, or an errno. */
static int look_at(int fd, const char **why)
{
    struct stat st;
    int flags;

    if (fstat(fd, &st)) {
        return errno;
    }
    if (S_ISDIR(st.st_mode)) {
        return EISDIR;
    }
    if (!S_ISREG(st.st_mode)) {
        *why = "is a pipe or a device; allowed: a regular file";
        return EINVAL;
    }
    flags = fcntl(fd, F_GETFL);
    return flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) ? errno : 0;
}

int regular_file_fd(const char *path, const char **why)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), error;

    *why = NULL;
    error = fd < 0 ? errno : look_at(fd, why);
    if (!error) {
        return fd;
    }
    if (fd >= 0) {
        close(fd);
    }
    if (!*why) {
        *why = strerror(error);
    }
    errno = error;
    return -1;
}

FILE *regular_file_open(const char *path, const char **why)
{
    int fd = regular_file_fd(path, why), error;
    FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

    if (!f && fd >= 0) {
        error = errno;
        *why = strerror(error);
        close(fd);
        errno = error;
    }
    return f;
}
