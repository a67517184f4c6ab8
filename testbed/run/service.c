/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/service.h"

#include "agents/base/err.h"
#include "testbed/wire/realtime.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

struct head {
    int code;
    struct message message;
};

struct serving {
    const struct service_options *o;
    int fds[2]; /* the starter's end, the service's end */
};

static int serve(void *arg)
{
    const struct serving *s = arg;

    close(s->fds[0]);
    return s->o->serve(s->fds[1], s->o->arg);
}

int service_start(struct service *s, const struct service_options *o, struct message *m)
{
    struct serving serving = {.o = o};
    struct child_options child = o->child;
    int rc;

    *s = SERVICE_NONE;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, serving.fds)) {
        return message_set(m, ERR_OS, "socketpair: %s", strerror(errno));
    }
    child.run = serve;
    child.arg = &serving;
    rc = child_start(&s->child, &child, m);
    close(serving.fds[1]);
    s->fd = serving.fds[0];
    if (rc) {
        service_kill(s);
    }
    return rc;
}

int service_tell(struct service *s, const void *packet, size_t len, struct message *m)
{
    if (send(s->fd, packet, len, MSG_NOSIGNAL) != (ssize_t)len) {
        return message_set(m, ERR_OS, "%s does not listen: %s", s->child.name, strerror(errno));
    }
    return 0;
}

int service_command(struct service *s, char command, struct message *m)
{
    return service_tell(s, &command, 1, m);
}

static int ended(struct service *s, struct message *m)
{
    char how[80];

    if (!child_wait(&s->child, realtime_mono() + NS_PER_S)) {
        return message_set(m, ERR_OS, "%s closed its socket", s->child.name);
    }
    child_describe(&s->child, how, sizeof how);
    return message_set(m, ERR_OS, "%s ended: %s", s->child.name, how);
}

int service_expect(struct service *s, void *payload, size_t len, ns_t deadline, struct message *m)
{
    struct pollfd p = {.fd = s->fd, .events = POLLIN};
    struct head head;
    struct iovec iov[] = {{&head, sizeof head}, {payload, len}};
    ssize_t got;
    int n;

    do {
        struct timespec left = realtime_timespec(ns_max(deadline - realtime_mono(), 0));

        n = ppoll(&p, 1, &left, NULL);
    } while (n < 0 && errno == EINTR);
    if (n <= 0) {
        return message_set(m, ERR_OS, "%s does not answer", s->child.name);
    }
    got = readv(s->fd, iov, 2);
    if (got <= 0) {
        return ended(s, m);
    }
    if (got >= (ssize_t)sizeof head && head.code) {
        *m = head.message;
        return head.code;
    }
    if (got != (ssize_t)(sizeof head + len)) {
        return message_set(m, ERR_OS, "%s answers out of turn", s->child.name);
    }
    return 0;
}

static void say(int fd, struct head *head, const void *payload, size_t len, int flags)
{
    struct iovec iov[] = {{head, sizeof *head}, {(void *)(uintptr_t)payload, len}};
    struct msghdr h = {.msg_iov = iov, .msg_iovlen = 2};

    /* Whoever does not hear this has ended, and so will the service. */
    (void)!sendmsg(fd, &h, MSG_NOSIGNAL | flags);
}

void service_answer(int fd, int code, const struct message *m, const void *payload, size_t len)
{
    struct head head = {.code = code};

    if (code) {
        head.message = *m;
    }
    say(fd, &head, payload, len, 0);
}

void service_notify(int fd, const void *payload, size_t len)
{
    struct head head = {0};

    say(fd, &head, payload, len, MSG_DONTWAIT);
}

void service_kill(struct service *s)
{
    child_kill(&s->child);
    if (s->fd >= 0) {
        close(s->fd);
        s->fd = -1;
    }
}
