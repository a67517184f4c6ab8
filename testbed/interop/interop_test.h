/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Programs that talk to each other, started and watched; what the tests against foreign peers
 * share. Include it after cmocka.h. */
#ifndef TESTBED_INTEROP_INTEROP_TEST_H
#define TESTBED_INTEROP_INTEROP_TEST_H

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define INTEROP_UNUSED __attribute__((unused))
#define PATH_MAX_BYTES 4096
#define ARGS_MAX 32
#define READY_FD 9
#define STEP_MS 20
#define LIMIT_MS 120000

static char work[] = "/tmp/interop_test-XXXXXX"; /* logs and records of the test under way */
static char agent[PATH_MAX_BYTES];

/* build/<flavour>/testbed/interop/interop_test -> build/<flavour>/NAME or build/NAME. */
INTEROP_UNUSED static void find_program(char *path, size_t len, const char *name)
{
    char self[PATH_MAX_BYTES];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    assert_true(n > 0);
    self[n] = '\0';
    for (int up = 0; up < 5; up++) {
        *strrchr(self, '/') = '\0';
        if ((size_t)snprintf(path, len, "%s/%s", self, name) < len && access(path, X_OK) == 0) {
            return;
        }
    }
    path[0] = '\0';
}

/* Finds the agent and makes the folder. */
INTEROP_UNUSED static int open_work(void)
{
    find_program(agent, sizeof agent, "agent");
    memcpy(strrchr(work, '-') + 1, "XXXXXX", 6);
    return agent[0] && mkdtemp(work) ? 0 : -1;
}

INTEROP_UNUSED static int tear_down(void **state)
{
    char command[PATH_MAX_BYTES];

    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", work);
    return system(command) == 0 ? 0 : -1;
}

INTEROP_UNUSED static void pause_ms(long ms)
{
    struct timespec ts = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&ts, NULL);
}

INTEROP_UNUSED static void log_path(char *path, size_t len, const char *name)
{
    assert_true((size_t)snprintf(path, len, "%s/%s", work, name) < len);
}

/* Starts a program, its output in work/NAME.log. ready: the write end of a pipe, or -1. */
INTEROP_UNUSED static pid_t start(const char *name, const char *program, int ready,
                                  const char *const *args)
{
    char path[PATH_MAX_BYTES], file[64];
    const char *argv[ARGS_MAX + 2] = {program};
    pid_t pid;

    snprintf(file, sizeof file, "%s.log", name);
    log_path(path, sizeof path, file);
    for (size_t i = 0; args[i]; i++) {
        assert_true(i < ARGS_MAX);
        argv[i + 1] = args[i];
    }
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
        if (fd < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0 ||
            (ready >= 0 && dup2(ready, READY_FD) < 0)) {
            _exit(126);
        }
        execv(program, (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    return pid;
}

INTEROP_UNUSED static void show(const char *name)
{
    char path[PATH_MAX_BYTES], file[64], line[400];
    FILE *f;

    snprintf(file, sizeof file, "%s.log", name);
    log_path(path, sizeof path, file);
    f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) {
        print_message("    %s | %s", name, line);
    }
    if (f) {
        fclose(f);
    }
}

/* Waits for the end of a program. Returns its status, 128 + signal, or -1 after the limit. */
INTEROP_UNUSED static int finish(const char *name, pid_t pid, int expected)
{
    int status = 0, result = -1;

    for (int ms = 0; ms < LIMIT_MS; ms += STEP_MS) {
        if (waitpid(pid, &status, WNOHANG) == pid) {
            result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            break;
        }
        pause_ms(STEP_MS);
    }
    if (result < 0) {
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
    }
    if (result != expected) {
        show(name);
    }
    return result;
}

/* Finds the line of a file in work that begins with key and a separator; its rest goes to value.
 */
INTEROP_UNUSED static bool look_up(const char *file, const char *key, char *value, size_t len)
{
    char path[PATH_MAX_BYTES], line[400];
    bool found = false;
    FILE *f;

    log_path(path, sizeof path, file);
    f = fopen(path, "re");
    while (f && !found && fgets(line, sizeof line, f)) {
        size_t n = strlen(key);
        found = strncmp(line, key, n) == 0 && (line[n] == ' ' || line[n] == ',');
        if (found) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(value, len, "%s", line + n + 1);
        }
    }
    if (f) {
        fclose(f);
    }
    return found;
}

INTEROP_UNUSED static long number(const char *file, const char *key)
{
    char value[400];

    if (!look_up(file, key, value, sizeof value)) {
        print_message("%s has no %s\n", file, key);
        return -1;
    }
    return strtol(value, NULL, 0);
}

INTEROP_UNUSED static bool log_contains(const char *file, const char *text)
{
    char path[PATH_MAX_BYTES], line[2000];
    bool found = false;
    FILE *f;

    log_path(path, sizeof path, file);
    f = fopen(path, "re");
    while (f && !found && fgets(line, sizeof line, f)) {
        found = strstr(line, text);
    }
    if (f) {
        fclose(f);
    }
    return found;
}

#endif
