/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For the tests of the command line: does something in a process of its own and keeps its output;
 * temporary folders. */
#ifndef TESTBED_CMD_CMD_TEST_HELP_H
#define TESTBED_CMD_CMD_TEST_HELP_H

#include "testbed/cmd/cmd.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct outcome {
    int status; /* exit status, or 128 + signal */
    char out[262144], err[16384];
};

static inline void read_all(FILE *f, char *text, size_t size)
{
    size_t n;

    rewind(f);
    n = fread(text, 1, size - 1, f);
    text[n] = '\0';
    fclose(f);
}

/* Starts work(ctx) in a child; its result is the child's exit status. */
static inline pid_t start_child(int (*work)(void *ctx), void *ctx, FILE *out, FILE *err)
{
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        int status;

        dup2(fileno(out), STDOUT_FILENO);
        dup2(fileno(err), STDERR_FILENO);
        status = work(ctx);
        fflush(NULL);
        _exit(status);
    }
    return pid;
}

static inline struct outcome finish_child(pid_t pid, FILE *out, FILE *err)
{
    struct outcome o = {.status = -1};
    int status = 0;

    if (pid > 0 && waitpid(pid, &status, 0) == pid)
        o.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    read_all(out, o.out, sizeof(o.out));
    read_all(err, o.err, sizeof(o.err));
    return o;
}

static inline struct outcome in_child(int (*work)(void *ctx), void *ctx)
{
    FILE *out = tmpfile(), *err = tmpfile();

    if (!out || !err)
        abort();
    return finish_child(start_child(work, ctx, out, err), out, err);
}

/* build/<flavour>/NAME or build/NAME, seen from the test's own place; path[CMD_PATH_MAX]. Returns
 * whether it has been built. */
static inline bool find_program(const char *name, char *path)
{
    static const char *const up[] = {"../../", "../../../"};
    char self[CMD_PATH_MAX], below[CMD_PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

    if (n <= 0)
        return false;
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    for (size_t i = 0; i < 2; i++) {
        snprintf(below, sizeof(below), "%s%s", up[i], name);
        if (!cmd_join(path, self, below) && !access(path, X_OK))
            return true;
    }
    return false;
}

/* For start_child and in_child: becomes the program ctx[0] with those arguments, NULL terminated.
 */
static inline int run_program(void *ctx)
{
    char *const *argv = ctx;

    execv(argv[0], argv);
    return 127;
}

/* A new folder; path[CMD_PATH_MAX]. */
static inline char *make_temporary(char *path)
{
    const char *tmp = getenv("TMPDIR");

    snprintf(path, CMD_PATH_MAX, "%s/muxbed-test-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(path))
        abort();
    return path;
}

static inline void write_file(const char *dir, const char *name, const char *text)
{
    char path[CMD_PATH_MAX];
    FILE *f = cmd_join(path, dir, name) ? NULL : fopen(path, "we");

    if (!f)
        abort();
    fputs(text, f);
    fclose(f);
}

#endif
