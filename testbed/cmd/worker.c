/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/cmd/worker.h"

#include "agents/base/err.h"
#include "testbed/cmd/cmd.h"
#include "testbed/cmd/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* One message from a worker to us; smaller than PIPE_BUF, so it arrives whole. */
struct note {
    enum { NOTE_TIME, NOTE_ERROR } kind;
    ns_t run_time;
    char text[400];
};

/* ---- in the worker ---- */

static void say(int fd, const struct note *note)
{
    if (write(fd, note, sizeof(*note)) < 0)
        return; /* nobody listens any more: we are about to be ended */
}

static void say_time(void *ctx, ns_t run_time)
{
    say(*(const int *)ctx, &(struct note){.kind = NOTE_TIME, .run_time = run_time});
}

/* In our own process group, so that who ends us ends it. */
static int reduce(const struct worker_job *job)
{
    const char *const argv[] = {job->analyze, "reduce", "--", job->dir, NULL};
    pid_t parent = getpid(), pid;
    int status = 0;

    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        int out = open("/dev/null", O_WRONLY | O_CLOEXEC);

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent || out < 0 || dup2(out, STDOUT_FILENO) < 0)
            _exit(126);
        execv(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    if (pid < 0)
        return ERR_OS;
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return ERR_OS;
    }
    return process_status(status);
}

static int make(const struct worker_job *job, int fd, struct note *error)
{
    const struct run_options opt = {.link = job->link,
                                    .link_why = job->link_why,
                                    .dir = job->dir,
                                    .plan = job->plan,
                                    .keylog = job->keylog,
                                    .no_certificate = job->no_certificate,
                                    .lean = job->keep < KEEP_ALL,
                                    .progress = say_time,
                                    .ctx = &fd};

    return job->link == RUN_LINK_SIM ? run_sim(job->run, &opt, error->text, sizeof(error->text))
                                     : run_netns(job->run, &opt, error->text, sizeof(error->text));
}

/* Returns the worker's exit status. */
static int work(const struct worker_job *job, int fd)
{
    struct note error = {.kind = NOTE_ERROR};
    char end[PROCESS_END_MAX];
    int status;

    if (!job->reduce_only && make(job, fd, &error)) {
        say(fd, &error);
        return 1;
    }
    status = reduce(job);
    if (status) {
        process_end_text(end, sizeof(end), status);
        snprintf(error.text, sizeof(error.text), "analyze reduce %s", end);
    } else if (keep_trim(job->dir, job->keep)) {
        status = 1;
        snprintf(error.text, sizeof(error.text), "%.300s: cannot be trimmed: %s", job->dir,
                 strerror(errno));
    }
    if (status)
        say(fd, &error);
    return status ? 2 : 0;
}

/* ---- outside ---- */

int worker_start(struct worker *w, const struct worker_job *job, const sigset_t *mask)
{
    pid_t parent = getpid();
    int fds[2];

    *w = (struct worker){.fd = -1};
    if (pipe2(fds, O_CLOEXEC)) {
        snprintf(w->error, sizeof(w->error), "pipe: %s", strerror(errno));
        return ERR_OS;
    }
    fflush(NULL);
    w->pid = fork();
    if (w->pid == 0) {
        close(fds[0]);
        process_become_child(parent, mask);
        _exit(work(job, fds[1]));
    }
    close(fds[1]);
    if (w->pid < 0) {
        snprintf(w->error, sizeof(w->error), "fork: %s", strerror(errno));
        close(fds[0]);
        w->pid = 0;
        return ERR_OS;
    }
    setpgid(w->pid, w->pid);
    w->fd = fds[0];
    return 0;
}

void worker_read(struct worker *w)
{
    struct note note;

    if (read(w->fd, &note, sizeof(note)) != (ssize_t)sizeof(note)) {
        close(w->fd);
        w->fd = -1;
    } else if (note.kind == NOTE_TIME) {
        w->run_time = note.run_time;
    } else {
        snprintf(w->error, sizeof(w->error), "%.399s", note.text);
    }
}

void worker_stop(struct worker *w, ns_t now)
{
    if (!w->told) {
        kill(-w->pid, SIGTERM);
        w->told = now;
    } else if (now - w->told > PROCESS_GRACE) {
        kill(-w->pid, SIGKILL);
    }
}

static double seconds(const struct timeval *t)
{
    return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

bool worker_ended(struct worker *w)
{
    char end[PROCESS_END_MAX];
    struct rusage use;
    int status;
    pid_t got = wait4(w->pid, &status, WNOHANG, &use);

    if (got == 0)
        return false;
    /* What it has left of its own children goes too. */
    kill(-w->pid, SIGKILL);
    w->status = got < 0 ? ERR_OS : process_status(status);
    if (got > 0)
        w->cpu_s = seconds(&use.ru_utime) + seconds(&use.ru_stime);
    /* It may have spoken last of all, but a child that outlived it may hold the pipe open. */
    if (w->fd >= 0) {
        fcntl(w->fd, F_SETFL, O_NONBLOCK);
        while (w->fd >= 0)
            worker_read(w);
    }
    if (w->status && !w->error[0]) {
        process_end_text(end, sizeof(end), w->status);
        snprintf(w->error, sizeof(w->error), "its process %s", end);
    }
    w->pid = 0;
    return true;
}
