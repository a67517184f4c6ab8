/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests of runs of stack play-http: finds the web server's processes among the run's, and reads
 * what the run left. */
#ifndef TESTBED_RUN_RUN_HTTP_TEST_H
#define TESTBED_RUN_RUN_HTTP_TEST_H

#include "testbed/run/csv_look.h"
#include "testbed/run/exec_port.h"
#include "testbed/run/run_process_test.h"

#include <dirent.h>

#define RUN_HTTP_PATIENCE (30 * NS_PER_S)

/* Parent of a process, 0 when it has gone. */
static inline pid_t run_http_parent(pid_t pid)
{
    char path[64], text[600] = "", *name_end;
    int parent = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    f = fopen(path, "re");
    if (f) {
        (void)!fread(text, 1, sizeof text - 1, f);
        fclose(f);
    }
    name_end = strrchr(text, ')');
    return name_end && sscanf(name_end, ") %*c %d", &parent) == 1 ? parent : 0;
}

static inline bool run_http_descends(pid_t pid, pid_t from)
{
    while (pid > 1 && pid != from) {
        pid = run_http_parent(pid);
    }
    return pid == from;
}

/* Whether a process calls itself so: the first bytes of its command line. */
static inline bool run_http_is_called(pid_t pid, const char *title)
{
    char path[64], text[64] = "";
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    f = fopen(path, "re");
    if (f) {
        (void)!fread(text, 1, sizeof text - 1, f);
        fclose(f);
    }
    return strncmp(text, title, strlen(title)) == 0;
}

/* A process of the run that muxbed (run) makes, which calls itself so; 0: none. */
static inline pid_t run_http_find(pid_t run, const char *title)
{
    DIR *proc = opendir("/proc");
    pid_t found = 0;

    for (struct dirent *e; proc && !found && (e = readdir(proc));) {
        pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);

        if (pid > 0 && run_http_is_called(pid, title) && run_http_descends(pid, run)) {
            found = pid;
        }
    }
    if (proc) {
        closedir(proc);
    }
    return found;
}

/* The same of a program by its name. */
static inline pid_t run_http_find_program(pid_t run, const char *name)
{
    DIR *proc = opendir("/proc");
    pid_t found = 0;

    for (struct dirent *e; proc && !found && (e = readdir(proc));) {
        pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
        char path[300], program[RUN_PROCESS_PATH_MAX] = "", *slash;

        snprintf(path, sizeof path, "/proc/%s/exe", e->d_name);
        if (pid <= 0 || readlink(path, program, sizeof program - 1) <= 0) {
            continue;
        }
        slash = strrchr(program, '/');
        if (slash && !strcmp(slash + 1, name) && run_http_descends(pid, run)) {
            found = pid;
        }
    }
    if (proc) {
        closedir(proc);
    }
    return found;
}

/* Waits for one other than that; 0 when none came in time. */
static inline pid_t run_http_await(pid_t run, const char *title, pid_t other)
{
    ns_t until = run_process_now() + RUN_HTTP_PATIENCE;
    pid_t pid;

    while (((pid = run_http_find(run, title)) == 0 || pid == other) && run_process_now() < until) {
        run_process_sleep_until(run_process_now() + 10 * NS_PER_MS);
    }
    return pid == other ? 0 : pid;
}

/* Waits until the network namespace of a process has a TCP connection; whether it came to that. */
static inline bool run_http_await_connection(pid_t pid, uint16_t port)
{
    ns_t until = run_process_now() + RUN_HTTP_PATIENCE;
    char path[64], line[256];
    bool found = false;

    snprintf(path, sizeof path, "/proc/%d/net/tcp", (int)pid);
    while (!found && run_process_now() < until) {
        FILE *f = fopen(path, "re");
        unsigned local, state;

        while (f && !found && fgets(line, sizeof line, f)) {
            found = sscanf(line, " %*u: %*[0-9A-Fa-f]:%4x %*[0-9A-Fa-f]:%*4x %2x", &local,
                           &state) == 2 &&
                    local == port && state == 1;
        }
        if (f) {
            fclose(f);
        }
        if (!found) {
            run_process_sleep_until(run_process_now() + 10 * NS_PER_MS);
        }
    }
    return found;
}

/* How many rows of <dir>/out/<file> have that value in a column; all of them without a column. */
static inline int64_t run_http_rows(const char *dir, const char *file, const char *column,
                                    int64_t value)
{
    const struct csv_query q = {.where = column, .value = value};
    char path[RUN_PROCESS_PATH_MAX];

    snprintf(path, sizeof path, "%s/out/all-1/%s", dir, file);
    return csv_look(path, &q, NULL);
}

#endif
