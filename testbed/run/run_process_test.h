/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests of whole runs: starts build/muxbed as a child. Every process it starts carries a mark
 * in its environment, so that stray ones are found whoever their parent is by then. */
#ifndef TESTBED_RUN_RUN_PROCESS_TEST_H
#define TESTBED_RUN_RUN_PROCESS_TEST_H

#include "agents/base/ns.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RUN_PROCESS_ARGS_MAX 32
#define RUN_PROCESS_PATH_MAX 4096

static inline void run_process_mark(char *mark, size_t len)
{
    snprintf(mark, len, "MUXBED_TEST_MARK=%d", (int)getpid());
}

/* build/<flavour>/testbed/run/x_nstest -> build/muxbed or build/<flavour>/muxbed. */
static inline void run_process_program(char *path, size_t len)
{
    char self[RUN_PROCESS_PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    assert(n > 0);
    self[n] = '\0';
    for (int up = 0; up < 5; up++) {
        char *slash = strrchr(self, '/');
        assert(slash);
        *slash = '\0';
        if ((size_t)snprintf(path, len, "%s/muxbed", self) < len && access(path, X_OK) == 0) {
            return;
        }
    }
    assert(!"muxbed is built beside its tests");
}

/* Starts "muxbed ARGS..." (NULL terminated, without argv[0]), output to the file log. */
static inline pid_t run_process_start(const char *const *args, const char *log)
{
    char program[RUN_PROCESS_PATH_MAX], mark[48];
    const char *argv[RUN_PROCESS_ARGS_MAX + 2] = {"muxbed"};
    pid_t pid;

    run_process_program(program, sizeof program);
    run_process_mark(mark, sizeof mark);
    for (size_t i = 0; args[i]; i++) {
        assert(i < RUN_PROCESS_ARGS_MAX);
        argv[i + 1] = args[i];
    }
    pid = fork();
    assert(pid >= 0);
    if (pid == 0) {
        int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0644);
        int in = open("/dev/null", O_RDONLY);
        if (fd < 0 || in < 0 || dup2(in, 0) < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0 ||
            putenv(mark)) {
            _exit(126);
        }
        execv(program, (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    return pid;
}

/* Waits for the child. Returns its exit status, or 128 + signal. */
static inline int run_process_wait(pid_t pid)
{
    int status;

    while (waitpid(pid, &status, 0) < 0) {
        assert(errno == EINTR);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static inline ns_t run_process_now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (ns_t)ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

static inline void run_process_sleep_until(ns_t t)
{
    struct timespec ts = {.tv_sec = t / NS_PER_S, .tv_nsec = t % NS_PER_S};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR) {
    }
}

static inline void run_process_write(const char *dir, const char *name, const char *text)
{
    char path[RUN_PROCESS_PATH_MAX];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    f = fopen(path, "we");
    assert(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static inline void run_process_temp_dir(char *dir, size_t len)
{
    const char *tmp = getenv("TMPDIR");

    snprintf(dir, len, "%s/muxbed-test-XXXXXX", tmp ? tmp : "/tmp");
    assert(mkdtemp(dir));
}

static inline void run_process_remove_dir(const char *dir)
{
    char command[RUN_PROCESS_PATH_MAX];

    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    assert(system(command) == 0);
}

/* A folder of a test's own with one scenario in it. */
struct run_process_fixture {
    char dir[256], file[300], log[300];
};

static inline void run_process_set_up(struct run_process_fixture *f, const char *scenario)
{
    run_process_temp_dir(f->dir, sizeof f->dir);
    snprintf(f->file, sizeof f->file, "%s/scenario.yaml", f->dir);
    snprintf(f->log, sizeof f->log, "%s/log", f->dir);
    run_process_write(f->dir, "scenario.yaml", scenario);
}

/* Prints a log when something went wrong. */
static inline void run_process_show(const char *log)
{
    char line[512];
    FILE *f = fopen(log, "re");

    while (f && fgets(line, sizeof line, f)) {
        fprintf(stderr, "    | %s", line);
    }
    if (f) {
        fclose(f);
    }
}

#endif
