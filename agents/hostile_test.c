/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Real agents against every attack that build/hostile knows, over loopback: they end as documented,
 * count it, and neither crash nor hang nor grow. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define PATH_BYTES 4096
#define KINDS 4

static const char *const kinds[KINDS][2] = {
    {"quic", "receiver"}, {"quic", "sender"}, {"webrtc", "receiver"}, {"webrtc", "sender"}};

/* build/<flavour>/agents/hostile_test -> build/<flavour>/hostile or build/hostile. */
static void find_program(char path[PATH_BYTES])
{
    char self[PATH_BYTES];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    assert_true(n > 0);
    self[n] = '\0';
    for (int up = 0; up < 4; up++) {
        *strrchr(self, '/') = '\0';
        snprintf(path, PATH_BYTES, "%.4000s/hostile", self);
        if (access(path, X_OK) == 0) {
            return;
        }
    }
    fail_msg("no hostile above %s", self);
}

/* Runs it with these arguments (NULL at the end), its output into the file. */
static pid_t start(const char *program, const char *const args[], const char *log)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        const char *argv[8] = {program};
        int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        for (int i = 0; args[i]; i++) {
            argv[i + 1] = args[i];
        }
        if (fd >= 0 && dup2(fd, 1) >= 0 && dup2(fd, 2) >= 0) {
            execv(program, (char *const *)(uintptr_t)argv);
        }
        _exit(127);
    }
    return pid;
}

static int finish(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void show(const char *log)
{
    char line[512];
    FILE *f = fopen(log, "re");

    while (f && fgets(line, sizeof line, f)) {
        if (strncmp(line, "ok ", 3)) {
            print_message("%s", line);
        }
    }
    if (f) {
        fclose(f);
    }
}

/* Most of it is waiting: side by side. */
static void test_every_attack(void **state)
{
    char program[PATH_BYTES], dir[] = "/tmp/hostile_test-XXXXXX", log[KINDS][64];
    pid_t pids[KINDS];
    int failed = 0;

    (void)state;
    find_program(program);
    assert_non_null(mkdtemp(dir));
    for (int i = 0; i < KINDS; i++) {
        const char *const args[] = {"--stack",   kinds[i][0], "--victim",
                                    kinds[i][1], "--quick",   NULL};
        snprintf(log[i], sizeof log[i], "%s/%d", dir, i);
        pids[i] = start(program, args, log[i]);
    }
    for (int i = 0; i < KINDS; i++) {
        failed += finish(pids[i]) != 0;
        show(log[i]);
        unlink(log[i]);
    }
    rmdir(dir);
    assert_int_equal(failed, 0);
}

/* What it is told wrongly it refuses, and it finds what an agent that is none does wrong. */
static void test_itself(void **state)
{
    static const struct {
        const char *args[6];
        int status;
        const char *says;
    } cases[] = {
        {{NULL}, 2, "--help"},
        {{"--stack", "tcp"}, 2, "tcp: allowed are quic and webrtc"},
        {{"no such thing"}, 2, "no such thing: no such attack"},
        {{"--local", "127.0.0.1:1"}, 2, "go together"},
        {{"--remote", "here"}, 2, "here: not ADDR:PORT"},
        {{"--stack", "quic", "--victim", "sender", "--list"}, 0, "NEW_TOKEN"},
        {{"--agent", "/bin/true", "channel"}, 1, "does not start"},
    };
    char program[PATH_BYTES], log[] = "/tmp/hostile_test-XXXXXX", said[16384];

    (void)state;
    find_program(program);
    close(mkstemp(log));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t n;
        FILE *f;
        assert_int_equal(finish(start(program, cases[i].args, log)), cases[i].status);
        f = fopen(log, "re");
        assert_non_null(f);
        n = fread(said, 1, sizeof said - 1, f);
        said[n] = '\0';
        fclose(f);
        assert_non_null(strstr(said, cases[i].says));
    }
    unlink(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_itself),
        cmocka_unit_test(test_every_attack),
    };

    return cmocka_run_group_tests_name("hostile peers", tests, NULL, NULL);
}
