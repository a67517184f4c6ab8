/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/child.h"

#include "agents/base/err.h"
#include "testbed/netns/netns.h"
#include "testbed/wire/realtime.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXIT_SETUP 125

static void reset_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD, SIGALRM};
    sigset_t none;

    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        signal(signals[i], SIG_DFL);
    }
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Standard error to the file, standard input and output to nowhere. */
static int redirect(const char *path)
{
    int log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int rc = log < 0 || null < 0 || dup2(log, STDERR_FILENO) < 0 || dup2(null, STDIN_FILENO) < 0 ||
             dup2(null, STDOUT_FILENO) < 0;

    if (log > STDERR_FILENO) {
        close(log);
    }
    if (null > STDERR_FILENO) {
        close(null);
    }
    return rc ? ERR_OS : 0;
}

_Noreturn static void become(const struct child_options *o, pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent) {
        _exit(EXIT_SETUP); /* the parent has gone before the signal was set up */
    }
    reset_signals();
    if ((o->log_path && redirect(o->log_path)) || (o->ns_fd >= 0 && netns_enter(o->ns_fd))) {
        dprintf(STDERR_FILENO, "%s: %s\n", o->name, strerror(errno));
        _exit(EXIT_SETUP);
    }
    if (o->priority) {
        (void)realtime_schedule(o->priority);
    }
    _exit(o->run(o->arg));
}

int child_start(struct child *c, const struct child_options *o, struct message *m)
{
    pid_t parent = getpid(), pid;

    *c = CHILD_NONE;
    c->name = o->name;
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        become(o, parent);
    }
    if (pid < 0) {
        return message_set(m, ERR_OS, "cannot start %s: %s", o->name, strerror(errno));
    }
    c->pid = pid;
    c->pidfd = pidfd_open(pid, 0);
    if (c->pidfd < 0) {
        message_set(m, ERR_OS, "cannot watch %s: %s", o->name, strerror(errno));
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        return ERR_OS;
    }
    return 0;
}

static void reap(struct child *c)
{
    pid_t got;

    do {
        got = waitpid(c->pid, &c->status, 0);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        c->status = -1;
    }
    close(c->pidfd);
    c->pidfd = -1;
}

bool child_running(const struct child *c)
{
    return c->pidfd >= 0;
}

bool child_wait(struct child *c, ns_t deadline)
{
    struct pollfd p = {.fd = c->pidfd, .events = POLLIN};

    while (child_running(c)) {
        struct timespec left = realtime_timespec(ns_max(deadline - realtime_mono(), 0));
        int n = ppoll(&p, 1, deadline == NS_NEVER ? NULL : &left, NULL);

        if (n > 0) {
            reap(c);
        } else if (n == 0) {
            return false;
        }
    }
    return true;
}

ns_t child_waited(const struct child *c)
{
    unsigned long long ran, waited;
    char path[48];
    FILE *f;
    int n;

    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)c->pid);
    f = child_running(c) ? fopen(path, "re") : NULL;
    if (!f) {
        return NS_NEVER;
    }
    n = fscanf(f, "%llu %llu", &ran, &waited);
    fclose(f);
    return n == 2 ? (ns_t)waited : NS_NEVER;
}

void child_signal(const struct child *c, int signal)
{
    if (child_running(c)) {
        (void)pidfd_send_signal(c->pidfd, signal, NULL, 0);
    }
}

void child_kill(struct child *c)
{
    if (child_running(c)) {
        child_signal(c, SIGKILL);
        reap(c);
    }
}

void child_describe(const struct child *c, char *text, size_t len)
{
    if (WIFSIGNALED(c->status)) {
        snprintf(text, len, "killed by signal %d (%s)", WTERMSIG(c->status),
                 strsignal(WTERMSIG(c->status)));
    } else {
        snprintf(text, len, "exit status %d", WEXITSTATUS(c->status));
    }
}
