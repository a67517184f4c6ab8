/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/cmd/process.h"

#include "agents/base/err.h"
#include "testbed/cmd/cmd.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t interrupts;

static void on_signal(int number)
{
    (void)number;
    interrupts = 1;
}

void process_catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

bool process_interrupted(void)
{
    return interrupts != 0;
}

void process_block_signals(sigset_t *before)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, before);
}

/* Out of our process group, so that the terminal's Ctrl-C reaches only us. */
void process_become_child(pid_t parent, const sigset_t *mask)
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

int process_status(int wait_status)
{
    return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

void process_end_text(char *text, size_t len, int status)
{
    if (status > 128 && status < 128 + NSIG)
        snprintf(text, len, "was killed by signal %d (%s)", status - 128, strsignal(status - 128));
    else
        snprintf(text, len, "ended with status %d", status);
}

ns_t process_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (ns_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* Waits for a child, ending its process group first if we were interrupted. */
static int reap(pid_t pid, const sigset_t *mask)
{
    int status = 0;
    ns_t told = 0;
    pid_t got;

    while ((got = waitpid(pid, &status, WNOHANG)) == 0) {
        if (process_interrupted() && !told) {
            kill(-pid, SIGTERM);
            told = process_now();
        } else if (told && process_now() - told > PROCESS_GRACE) {
            kill(-pid, SIGKILL);
        }
        ppoll(NULL, 0, &(struct timespec){.tv_nsec = 10 * NS_PER_MS}, mask);
    }
    /* What the child has left of its own children goes too. */
    kill(-pid, SIGKILL);
    return got < 0 ? ERR_OS : process_status(status);
}

int process_spawn(const char *const *argv, int out_fd)
{
    sigset_t mask;
    int status;
    pid_t parent = getpid(), pid;

    process_block_signals(&mask);
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        process_become_child(parent, &mask);
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
