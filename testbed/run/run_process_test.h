/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests of whole runs: starts build/muxbed as a child and looks at what it leaves on the host.
 * Every process it starts carries a mark in its environment, so that stray ones are found whoever
 * their parent is by then. */
#ifndef TESTBED_RUN_RUN_PROCESS_TEST_H
#define TESTBED_RUN_RUN_PROCESS_TEST_H

#include "agents/base/ns.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
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

/* Network namespaces by their names, "net:[4026531840]". */
struct run_process_set {
    char links[4096][32];
    size_t count;
};

/* What a run could leave behind: processes that carry the mark, namespaces that any process lives
 * in or holds open, interfaces of our own namespace, mounts. */
struct run_process_residue {
    size_t processes, namespaces, interfaces, mounts;
};

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

/* Whether process pid carries our mark. */
static inline bool run_process_is_ours(const char *pid)
{
    char path[300], mark[48], env[65536];
    FILE *f;
    size_t n;

    run_process_mark(mark, sizeof mark);
    snprintf(path, sizeof path, "/proc/%s/environ", pid);
    f = fopen(path, "re");
    if (!f) {
        return false;
    }
    n = fread(env, 1, sizeof env, f);
    fclose(f);
    return memmem(env, n, mark, strlen(mark) + 1) != NULL;
}

static inline void run_process_add_link(struct run_process_set *set, const char *path)
{
    char link[sizeof set->links[0]];
    ssize_t n = readlink(path, link, sizeof link - 1);

    if (n <= 0) {
        return;
    }
    link[n] = '\0';
    if (strncmp(link, "net:[", 5) != 0) {
        return;
    }
    for (size_t i = 0; i < set->count; i++) {
        if (strcmp(set->links[i], link) == 0) {
            return;
        }
    }
    assert(set->count < sizeof set->links / sizeof set->links[0]);
    memcpy(set->links[set->count++], link, sizeof link);
}

/* Network namespaces that a process lives in or holds open. */
static inline void run_process_add_namespaces(struct run_process_set *set, const char *pid)
{
    char path[600];
    DIR *d;

    snprintf(path, sizeof path, "/proc/%s/ns/net", pid);
    run_process_add_link(set, path);
    snprintf(path, sizeof path, "/proc/%s/fd", pid);
    d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        snprintf(path, sizeof path, "/proc/%s/fd/%s", pid, e->d_name);
        run_process_add_link(set, path);
    }
    if (d) {
        closedir(d);
    }
}

static inline size_t run_process_count_lines(const char *path)
{
    FILE *f = fopen(path, "re");
    size_t n = 0;

    assert(f);
    for (int c; (c = getc(f)) != EOF;) {
        n += c == '\n';
    }
    fclose(f);
    return n;
}

/* Calls see for every process; ours tells whether it carries the mark. */
static inline void run_process_each(void (*see)(void *ctx, const char *pid, bool ours), void *ctx)
{
    DIR *proc = opendir("/proc");

    assert(proc);
    for (struct dirent *e; (e = readdir(proc));) {
        if (e->d_name[0] >= '0' && e->d_name[0] <= '9') {
            see(ctx, e->d_name, run_process_is_ours(e->d_name));
        }
    }
    closedir(proc);
}

static inline void run_process_see_ours(void *ctx, const char *pid, bool ours)
{
    if (ours) {
        run_process_add_namespaces(ctx, pid);
    }
}

/* Adds the namespaces of our processes to set, but for the one we live in. */
static inline void run_process_namespaces(struct run_process_set *set)
{
    char own[32] = "";

    assert(readlink("/proc/self/ns/net", own, sizeof own - 1) > 0);
    run_process_each(run_process_see_ours, set);
    for (size_t i = 0; i < set->count; i++) {
        if (strcmp(set->links[i], own) == 0) {
            memmove(set->links[i], set->links[--set->count], sizeof set->links[i]);
            break;
        }
    }
}

struct run_process_look {
    struct run_process_set now;
    size_t processes;
};

static inline void run_process_see_all(void *ctx, const char *pid, bool ours)
{
    struct run_process_look *look = ctx;

    look->processes += ours;
    run_process_add_namespaces(&look->now, pid);
}

/* Counts what is on the host now; of namespaces those of set alone, since other programs may make
 * their own meanwhile. */
static inline void run_process_residue(struct run_process_residue *r,
                                       const struct run_process_set *set)
{
    static struct run_process_look look;
    struct if_nameindex *names = if_nameindex();

    assert(names);
    *r = (struct run_process_residue){0};
    look.processes = look.now.count = 0;
    run_process_each(run_process_see_all, &look);
    r->processes = look.processes;
    for (size_t i = 0; i < set->count; i++) {
        for (size_t k = 0; k < look.now.count; k++) {
            r->namespaces += strcmp(set->links[i], look.now.links[k]) == 0;
        }
    }
    for (size_t i = 0; names[i].if_index; i++) {
        r->interfaces++;
    }
    if_freenameindex(names);
    r->mounts = run_process_count_lines("/proc/self/mountinfo");
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
