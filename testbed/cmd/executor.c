/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/cmd/executor.h"

#include "agents/base/err.h"
#include "testbed/cmd/cmd.h"
#include "testbed/cmd/plan_index.h"
#include "testbed/cmd/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long an ended process group may take before it is killed. */
#define GRACE_MS 3000

static volatile sig_atomic_t interrupts;

static void on_signal(int number)
{
    (void)number;
    interrupts = 1;
}

void executor_catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

bool executor_interrupted(void)
{
    return interrupts != 0;
}

static void signals_to_interrupt(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGHUP);
}

/* What a child does before its work: out of our process group, so that the terminal's Ctrl-C
 * reaches only us, and not longer alive than we are. */
static void become_child(pid_t parent, const sigset_t *mask)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, mask, NULL);
    if (getppid() != parent)
        _exit(CMD_EXIT_INTERRUPTED);
}

/* One message from a run's process to ours; smaller than PIPE_BUF, so it arrives whole. */
struct note {
    ns_t run_time; /* progress, or NS_NEVER: text says what went wrong */
    char text[400];
};

/* Reads notes until the child closes its end or an interrupt arrives. */
static void follow(int fd, struct progress *progress, char *error, size_t len, const sigset_t *mask)
{
    while (!executor_interrupted()) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        struct note note;
        ssize_t n;

        if (ppoll(&p, 1, NULL, mask) < 0 && errno != EINTR)
            return;
        if (!p.revents)
            continue;
        n = read(fd, &note, sizeof(note));
        if (n != (ssize_t)sizeof(note))
            return;
        if (note.run_time == NS_NEVER)
            snprintf(error, len, "%.399s", note.text);
        else
            progress_time(progress, note.run_time);
    }
}

/* Waits for a child, ending its process group first if we were interrupted. Returns its exit
 * status, or 128 + the signal that ended it. */
static int reap(pid_t pid, const sigset_t *mask)
{
    int status = 0, waited_ms = 0;
    bool told = false;
    pid_t got;

    while ((got = waitpid(pid, &status, WNOHANG)) == 0) {
        if (executor_interrupted() && !told) {
            kill(-pid, SIGTERM);
            told = true;
        } else if (told && waited_ms > GRACE_MS) {
            kill(-pid, SIGKILL);
        }
        ppoll(NULL, 0, &(struct timespec){.tv_nsec = 10 * NS_PER_MS}, mask);
        waited_ms += told ? 10 : 0;
    }
    /* What the child has left of its own children goes too. */
    kill(-pid, SIGKILL);
    if (got < 0)
        return ERR_OS;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

struct child_context {
    int fd;
};

static void child_progress(void *ctx, ns_t run_time)
{
    const struct child_context *c = ctx;
    const struct note note = {.run_time = run_time};

    if (write(c->fd, &note, sizeof(note)) < 0)
        return; /* nobody listens any more: we are about to be ended */
}

/* Makes one run in this process, which is the child's. */
static int child_run(const struct executor *e, const struct plan *plan, const struct plan_run *run,
                     const char *dir, int fd)
{
    struct child_context context = {.fd = fd};
    struct note note = {.run_time = NS_NEVER};
    const struct run_options opt = {
        .link = e->link,
        .link_why = e->link_why,
        .dir = dir,
        .plan = plan->base.name,
        .keylog = e->keylog,
        .no_certificate = e->no_certificate,
        .progress = child_progress,
        .ctx = &context,
    };
    int rv = e->link == RUN_LINK_SIM ? run_sim(run, &opt, note.text, sizeof(note.text))
                                     : run_netns(run, &opt, note.text, sizeof(note.text));

    if (rv && write(fd, &note, sizeof(note)) < 0)
        return 2;
    return rv ? 1 : 0;
}

/* Returns 0 when the run is complete, else an exit status with a reason in error. */
static int run_in_child(const struct executor *e, const struct plan *plan,
                        const struct plan_run *run, const char *dir, struct progress *progress,
                        char *error, size_t len)
{
    sigset_t blocked, mask;
    int fds[2], status;
    pid_t parent = getpid(), pid;

    if (pipe2(fds, O_CLOEXEC)) {
        snprintf(error, len, "pipe: %s", strerror(errno));
        return ERR_OS;
    }
    signals_to_interrupt(&blocked);
    sigprocmask(SIG_BLOCK, &blocked, &mask);
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        close(fds[0]);
        become_child(parent, &mask);
        _exit(child_run(e, plan, run, dir, fds[1]));
    }
    close(fds[1]);
    if (pid < 0) {
        snprintf(error, len, "fork: %s", strerror(errno));
        status = ERR_OS;
    } else {
        setpgid(pid, pid);
        follow(fds[0], progress, error, len, &mask);
        status = reap(pid, &mask);
        if (status && !*error)
            snprintf(error, len, "its process ended with status %d", status);
    }
    close(fds[0]);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    return status;
}

int executor_spawn(const char *const *argv, int out_fd)
{
    sigset_t blocked, mask;
    int status;
    pid_t parent = getpid(), pid;

    signals_to_interrupt(&blocked);
    sigprocmask(SIG_BLOCK, &blocked, &mask);
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        become_child(parent, &mask);
        if (out_fd < 0)
            out_fd = open("/dev/null", O_WRONLY);
        dup2(out_fd, STDOUT_FILENO);
        execv(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    if (pid > 0)
        setpgid(pid, pid);
    status = pid < 0 ? ERR_OS : reap(pid, &mask);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    return status;
}

/* Why a complete run is invalid goes to text; returns whether it is. */
static bool judge(const char *dir, char *text, size_t len)
{
    text[0] = '\0';
    return plan_index_invalid(dir, text, len);
}

/* Tells everybody how a run ended; text may be empty. */
static void ended(const struct executor *e, struct progress *progress, enum junit_outcome outcome,
                  const char *text)
{
    static const char *const words[] = {[JUNIT_NOT_RUN] = "interrupted",
                                        [JUNIT_DONE] = "done",
                                        [JUNIT_INVALID] = "invalid",
                                        [JUNIT_FAILED] = "failed"};

    junit_run(e->junit, progress->run, outcome, progress_seconds(progress), text);
    progress_end(progress, words[outcome], text);
}

static void run_one(struct executor *e, const struct plan *plan, const struct plan_run *run,
                    struct progress *progress)
{
    char dir[CMD_PATH_MAX], text[400] = "";
    const char *const reduce[] = {e->analyze, "reduce", dir, NULL};
    int status;

    progress_begin(progress, run);
    if (cmd_join(dir, e->out, run->name) || mkdir(dir, 0777)) {
        snprintf(text, sizeof(text), "%.250s: %s", dir, strerror(errno));
        status = ERR_OS;
    } else {
        status = run_in_child(e, plan, run, dir, progress, text, sizeof(text));
        if (!status && !executor_interrupted()) {
            status = executor_spawn(reduce, -1);
            if (status)
                snprintf(text, sizeof(text), "analyze reduce ended with status %d", status);
        }
    }
    if (executor_interrupted() && !cmd_exists(dir, "DONE")) {
        cmd_remove_tree(dir);
        ended(e, progress, JUNIT_NOT_RUN, "");
        return;
    }
    if (cmd_exists(dir, "DONE")) {
        e->complete++;
        plan_index_write(e->out, plan);
    }
    if (status) {
        e->failed++;
        ended(e, progress, JUNIT_FAILED, text);
    } else if (judge(dir, text, sizeof(text))) {
        e->invalid++;
        ended(e, progress, JUNIT_INVALID, text);
    } else {
        ended(e, progress, JUNIT_DONE, "");
    }
}

int executor_run(struct executor *e, const struct plan *plan)
{
    struct progress progress;
    int rv;

    progress_init(&progress, plan, e->quiet);
    for (size_t i = 0; i < plan->run_count && !executor_interrupted(); i++)
        run_one(e, plan, &plan->runs[i], &progress);
    e->interrupted = executor_interrupted();
    rv = plan_index_write(e->out, plan);
    if (rv)
        fprintf(stderr, "muxbed: %s/index.json: %s\n", e->out, strerror(errno));
    return rv;
}
