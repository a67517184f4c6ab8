/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/exec_program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXIT_SETUP 125
#define EXIT_NO_SHELL 127

static pid_t target; /* of signals that are handed on: a process, or -1 for all of the namespace */

static void hand_on(int signal)
{
    int saved = errno;

    if (target) {
        kill(target, signal);
    }
    errno = saved;
}

static void hand_on_to(pid_t pid)
{
    struct sigaction act = {.sa_handler = hand_on, .sa_flags = SA_RESTART};

    target = pid;
    sigaction(SIGTERM, &act, NULL);
}

static int status_of(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int await(pid_t pid)
{
    int status;
    pid_t got;

    do { /* as the namespace's first process it inherits every orphan */
        got = wait(&status);
    } while ((got < 0 && errno == EINTR) || (got > 0 && got != pid));
    return got == pid ? status_of(status) : EXIT_SETUP;
}

static int append_output(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    int rc = fd < 0 || dup2(fd, STDOUT_FILENO) < 0;

    if (fd >= 0) {
        close(fd);
    }
    return rc;
}

_Noreturn static void become_command(const struct exec_program *p)
{
    signal(SIGTERM, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    for (const char *const *e = p->environment; *e; e++) {
        char *pair = strdup(*e);

        if (!pair || putenv(pair)) {
            _exit(EXIT_SETUP);
        }
    }
    if (append_output(p->out_path)) {
        dprintf(STDERR_FILENO, "%s: %s\n", p->out_path, strerror(errno));
        _exit(EXIT_SETUP);
    }
    execl("/bin/sh", "sh", "-c", p->command, (char *)NULL);
    dprintf(STDERR_FILENO, "/bin/sh: %s\n", strerror(errno));
    _exit(EXIT_NO_SHELL);
}

/* Asks for the parent's death to be the caller's, and whether the parent, which alone has the
 * writing end of the pipe, was there by then: getppid says nothing across process namespaces. */
static bool die_with_parent(const int alive[2])
{
    struct pollfd p = {.fd = alive[0]};

    close(alive[1]);
    return !prctl(PR_SET_PDEATHSIG, SIGKILL) && poll(&p, 1, 0) == 0;
}

/* The first process of the namespace: when it ends, for whatever reason, the kernel ends the
 * others. */
_Noreturn static void lead_namespace(const struct exec_program *p, const int alive[2])
{
    bool private_mounts;
    pid_t command;

    if (!die_with_parent(alive)) {
        _exit(EXIT_SETUP);
    }
    /* So that programs find themselves in /proc. Not every container allows it, few programs look.
     */
    private_mounts = !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
    if (private_mounts) {
        (void)mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
    }
    if (p->prepare && p->prepare(p->arg, private_mounts)) {
        _exit(EXIT_SETUP);
    }
    hand_on_to(-1);
    command = fork();
    if (command == 0) {
        become_command(p);
    }
    _exit(command < 0 ? EXIT_SETUP : await(command));
}

int exec_program_run(void *arg)
{
    const struct exec_program *p = arg;
    int alive[2];
    pid_t leader;

    if (unshare(CLONE_NEWPID | CLONE_NEWNS) || pipe2(alive, O_CLOEXEC)) {
        dprintf(STDERR_FILENO, "cannot make a process namespace: %s\n", strerror(errno));
        return EXIT_SETUP;
    }
    leader = fork();
    if (leader == 0) {
        lead_namespace(p, alive);
    }
    if (leader < 0) {
        dprintf(STDERR_FILENO, "fork: %s\n", strerror(errno));
        return EXIT_SETUP;
    }
    hand_on_to(leader);
    return await(leader);
}
