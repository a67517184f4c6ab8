/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/io/run_start.h"

#include "agents/base/err.h"
#include "agents/io/clock.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define FD_MAX (1 << 20)

int run_start_signals(void)
{
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    if (sigprocmask(SIG_BLOCK, &signals, NULL)) {
        return -1;
    }
    return signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
}

int run_start_fd(const char *text)
{
    char *end;
    long v = strtol(text, &end, 10);

    return *text < '0' || *text > '9' || *end || v > FD_MAX ? -1 : (int)v;
}

int run_start_await(const struct run_start *s, int stop_fd, ns_t *start, struct message *m)
{
    struct pollfd stop = {.fd = stop_fd, .events = POLLIN};
    ns_t now;

    if (s->ready_fd >= 0 && write(s->ready_fd, "r", 1) != 1) {
        return message_set(m, ERR_OS, "--ready-fd: %s", strerror(errno));
    }
    *start = clock_mono();
    if (s->start_fd < 0) {
        return 0;
    }
    if (read(s->start_fd, start, sizeof *start) != sizeof *start) {
        return message_set(m, ERR_OS, "--start-fd: no start time came");
    }
    while ((now = clock_mono()) < *start) {
        struct timespec left = clock_to_timespec(*start - now);

        if (ppoll(&stop, 1, &left, NULL) > 0) {
            return message_set(m, ERR_LIMIT, "stopped before the start");
        }
    }
    return 0;
}
