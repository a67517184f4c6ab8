/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/netns/netns.h"

#include "agents/base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct visit {
    int fd;      /* namespace to enter, or -1 for a new one */
    int made_fd; /* the new one */
    int (*fn)(void *arg);
    void *arg;
    int rc, saved_errno;
};

static int arrive(struct visit *v)
{
    if (v->fd >= 0) {
        return netns_enter(v->fd);
    }
    if (unshare(CLONE_NEWNET)) {
        return ERR_OS;
    }
    v->made_fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    return v->made_fd < 0 ? ERR_OS : 0;
}

static void *visit_thread(void *arg)
{
    struct visit *v = arg;

    v->rc = arrive(v);
    if (!v->rc && v->fn) {
        v->rc = v->fn(v->arg);
    }
    v->saved_errno = errno;
    return NULL;
}

/* A thread of its own, because there is not always a way back out of a namespace. */
static int visit_run(struct visit *v)
{
    pthread_t thread;
    int failed = pthread_create(&thread, NULL, visit_thread, v);

    if (failed) {
        errno = failed;
        return ERR_OS;
    }
    pthread_join(thread, NULL);
    errno = v->saved_errno;
    return v->rc;
}

int netns_new(int (*fn)(void *arg), void *arg)
{
    struct visit v = {.fd = -1, .made_fd = -1, .fn = fn, .arg = arg};
    int rc = visit_run(&v), saved = errno;

    if (rc < 0 && v.made_fd >= 0) {
        close(v.made_fd);
    }
    errno = saved;
    return rc < 0 ? rc : v.made_fd;
}

int netns_call(int fd, int (*fn)(void *arg), void *arg)
{
    struct visit v = {.fd = fd, .made_fd = -1, .fn = fn, .arg = arg};

    return visit_run(&v);
}

int netns_enter(int fd)
{
    return setns(fd, CLONE_NEWNET) ? ERR_OS : 0;
}

static int write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    ssize_t n, len = (ssize_t)strlen(text);

    if (fd < 0) {
        return ERR_OS;
    }
    n = write(fd, text, (size_t)len);
    close(fd);
    return n == len ? 0 : ERR_OS;
}

static int become_root(struct message *m)
{
    unsigned uid = geteuid(), gid = getegid();
    char uids[48], gids[48];

    snprintf(uids, sizeof uids, "0 %u 1", uid);
    snprintf(gids, sizeof gids, "0 %u 1", gid);
    if (unshare(CLONE_NEWUSER)) {
        /* "No space left on device" is what the limit of their number is called. */
        return message_set(m, ERR_OS, "needs root (CAP_SYS_ADMIN); a user namespace: %s",
                           errno == ENOSPC ? "no more are allowed (sysctl user.max_user_namespaces)"
                                           : strerror(errno));
    }
    /* A group map of one's own needs setgroups given up first (user_namespaces(7)); kernels
     * without that file do not ask for it. */
    if ((write_file("/proc/self/setgroups", "deny") && errno != ENOENT) ||
        write_file("/proc/self/uid_map", uids) || write_file("/proc/self/gid_map", gids)) {
        return message_set(m, ERR_OS, "cannot become root in a user namespace: %s",
                           strerror(errno));
    }
    return 0;
}

int netns_acquire(struct message *m)
{
    int fd = netns_new(NULL, NULL), rc;

    if (fd < 0 && errno == EPERM) {
        rc = become_root(m);
        if (rc) {
            return rc;
        }
        fd = netns_new(NULL, NULL);
    }
    if (fd < 0) {
        return message_set(m, ERR_OS, "cannot create a network namespace: %s", strerror(errno));
    }
    close(fd);
    return 0;
}
