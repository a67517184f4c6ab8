/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/io/text_file.h"

#include "agents/base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_AGAIN_MS 20
#define PATH_BYTES_MAX 4096

static int stopped(struct message *message)
{
    return message_set(message, ERR_LIMIT, "stopped before it came");
}

/* Opens what may come later. Does not block on a named pipe that nobody writes into yet. */
static int open_late(const char *path, int stop_fd, struct message *message)
{
    struct pollfd stop = {.fd = stop_fd, .events = POLLIN};
    int fd;

    while ((fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)) < 0) {
        if (errno != ENOENT) {
            return message_set(message, ERR_OS, "%s", strerror(errno));
        }
        if (poll(&stop, 1, LOOK_AGAIN_MS) > 0) {
            return stopped(message);
        }
    }
    return fd;
}

static int read_all(int fd, char *out, size_t cap, int stop_fd, struct message *message)
{
    struct pollfd wait[] = {{.fd = fd, .events = POLLIN}, {.fd = stop_fd, .events = POLLIN}};
    size_t len = 0;
    ssize_t n;

    for (;;) {
        if (poll(wait, 2, -1) < 0 && errno != EINTR) {
            return message_set(message, ERR_OS, "%s", strerror(errno));
        }
        if (wait[1].revents) {
            return stopped(message);
        }
        n = read(fd, out + len, cap - len);
        if (n == 0) {
            break;
        }
        if (n < 0 && errno != EAGAIN && errno != EINTR) {
            return message_set(message, ERR_OS, "%s", strerror(errno));
        }
        len += n > 0 ? (size_t)n : 0;
        if (len == cap) {
            return message_set(message, ERR_SPACE, "larger than %zu bytes", cap - 1);
        }
    }
    out[len] = '\0';
    return (int)len;
}

int text_file_wait(const char *path, char *out, size_t cap, int stop_fd, struct message *message)
{
    bool standard = strcmp(path, "-") == 0;
    int fd = standard ? STDIN_FILENO : open_late(path, stop_fd, message);
    int rv;

    if (fd < 0) {
        return fd;
    }
    rv = read_all(fd, out, cap, stop_fd, message);
    if (!standard) {
        close(fd);
    }
    return rv;
}

static int write_all(int fd, const char *text, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, text, len);

        if (n < 0 && errno != EINTR) {
            return ERR_OS;
        }
        text += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int write_to(const char *path, int flags, const char *text, size_t len)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0644);
    int rv = fd < 0 ? ERR_OS : write_all(fd, text, len);
    int error = errno;

    if (fd >= 0 && close(fd) && rv == 0) {
        return ERR_OS;
    }
    errno = error;
    return rv;
}

static int replace(const char *path, const char *text, size_t len)
{
    char part[PATH_BYTES_MAX];
    int rv, error;

    if ((size_t)snprintf(part, sizeof part, "%s.part", path) >= sizeof part) {
        errno = ENAMETOOLONG;
        return ERR_OS;
    }
    rv = write_to(part, O_CREAT | O_TRUNC, text, len);
    if (rv == 0 && rename(part, path)) {
        rv = ERR_OS;
    }
    if (rv) {
        error = errno;
        unlink(part);
        errno = error;
    }
    return rv;
}

int text_file_put(const char *path, const char *text, size_t len, struct message *message)
{
    struct stat st;
    int rv;

    if (strcmp(path, "-") == 0) {
        rv = write_all(STDOUT_FILENO, text, len);
    } else if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        rv = write_to(path, 0, text, len); /* a pipe or terminal */
    } else {
        rv = replace(path, text, len);
    }
    return rv ? message_set(message, rv, "%s", strerror(errno)) : 0;
}
