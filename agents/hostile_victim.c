/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/hostile_victim.h"

#include "agents/base/err.h"
#include "agents/quic/quic_attack.h"
#include "agents/webrtc/webrtc_attack.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define READY_FD 9
#define ARGS_MAX 40
#define TEXT_BYTES 8192
#define START_LIMIT_MS 20000
#define END_LIMIT_MS 20000 /* for an agent that has nobody to talk to, or was told to stop */
#define STEP_MS 10

volatile bool hostile_victim_ended;

static void on_child(int number)
{
    (void)number;
    hostile_victim_ended = true;
}

static const char *role_of(const struct hostile_attack *a)
{
    return a->on_sender ? "sender" : "receiver";
}

/* Becomes the agent. */
static void become(const struct hostile_victim *v, const char *program,
                   const struct hostile_attack *a, const struct addr *local,
                   const struct addr *remote)
{
    char from[ADDR_TEXT_MAX], to[ADDR_TEXT_MAX], log[96], ack[64], exponent[64];
    const char *argv[ARGS_MAX] = {program,
                                  a->stack == AGENT_STACK_QUIC ? "quic" : "webrtc",
                                  role_of(a),
                                  "--local",
                                  addr_print(local, from),
                                  "--remote",
                                  addr_print(remote, to),
                                  "--records",
                                  v->dir,
                                  "--ready-fd",
                                  "9",
                                  "--set",
                                  "media=1",
                                  "--set",
                                  a->deed == HOSTILE_VANISH ? "duration=3s" : "duration=30s",
                                  "--set",
                                  "quic.feedback-timeout=500ms"};
    int n = 17, fd;

    if (a->on_sender) {
        argv[n++] = "--set";
        argv[n++] = "data=file";
    }
    if (a->quic && a->quic->max_per_ack) {
        snprintf(ack, sizeof ack, "quic.timestamps-per-ack=%lld", (long long)a->quic->max_per_ack);
        argv[n++] = "--set";
        argv[n++] = ack;
    }
    if (a->quic && a->quic->exponent) {
        snprintf(exponent, sizeof exponent, "quic.timestamp-exponent=%lld",
                 (long long)a->quic->exponent);
        argv[n++] = "--set";
        argv[n++] = exponent;
    }
    snprintf(log, sizeof log, "%s/log", v->dir);
    fd = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (fd >= 0 && dup2(fd, STDOUT_FILENO) >= 0 && dup2(fd, STDERR_FILENO) >= 0) {
        execv(program, (char *const *)(uintptr_t)argv);
    }
    _exit(127);
}

int hostile_victim_start(struct hostile_victim *v, const char *program,
                         const struct hostile_attack *a, const struct addr *local,
                         const struct addr *remote)
{
    const struct sigaction end = {.sa_handler = on_child, .sa_flags = SA_RESTART | SA_NOCLDSTOP};
    struct pollfd ready = {.events = POLLIN};
    int pipes[2];
    char byte;

    *v = (struct hostile_victim){.dir = "/tmp/hostile-XXXXXX"};
    hostile_victim_ended = false;
    if (!mkdtemp(v->dir) || sigaction(SIGCHLD, &end, NULL) || pipe2(pipes, O_CLOEXEC)) {
        return ERR_OS;
    }
    v->pid = fork();
    if (v->pid == 0) {
        if (dup2(pipes[1], READY_FD) < 0) {
            _exit(126);
        }
        become(v, program, a, local, remote);
    }
    close(pipes[1]);
    ready.fd = pipes[0];
    while (v->pid > 0 && poll(&ready, 1, START_LIMIT_MS) < 0 && errno == EINTR) {
        continue;
    }
    if (v->pid < 0 || read(pipes[0], &byte, 1) != 1) {
        errno = errno ? errno : ENOEXEC;
        close(pipes[0]);
        return ERR_OS;
    }
    close(pipes[0]);
    return 0;
}

/* ---- afterwards ---- */

/* Waits for the end. Returns whether it came. */
static bool await(struct hostile_victim *v, int limit_ms)
{
    struct rusage used;
    pid_t got = 0;

    for (int ms = 0; ms < limit_ms && got == 0; ms += STEP_MS) {
        got = wait4(v->pid, &v->status, WNOHANG, &used);
        if (got == 0) {
            poll(NULL, 0, STEP_MS);
        }
    }
    if (got > 0) {
        v->rss_max_kb = used.ru_maxrss;
    }
    return got > 0;
}

static void read_text(const struct hostile_victim *v, const char *name, char text[TEXT_BYTES])
{
    char path[128];
    FILE *f;
    size_t n;

    snprintf(path, sizeof path, "%s/%s", v->dir, name);
    f = fopen(path, "re");
    n = f ? fread(text, 1, TEXT_BYTES - 1, f) : 0;
    text[n] = '\0';
    if (f) {
        fclose(f);
    }
}

/* -1: there is none of that name. */
static long long counter(const struct hostile_victim *v, const struct hostile_attack *a,
                         const char *name)
{
    char text[TEXT_BYTES], file[64], line[96];
    const char *at;

    snprintf(file, sizeof file, "%s.counter.csv", role_of(a));
    read_text(v, file, text);
    snprintf(line, sizeof line, "\n%s,", name);
    at = strstr(text, line);
    return at ? atoll(at + strlen(line)) : -1;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *at)
{
    (void)st, (void)flag, (void)at;
    return remove(path);
}

static int unlike(char *message, const char *what, long long is)
{
    snprintf(message, HOSTILE_MESSAGE_BYTES, "%s %lld", what, is);
    return 1;
}

static int check_end(const struct hostile_victim *v, const struct hostile_attack *a, char *message)
{
    bool must_fail =
        (a->quic && a->quic->victim != QUIC_ATTACK_HARMLESS) || (a->webrtc && a->webrtc->error);
    bool may_fail = must_fail || a->deed != HOSTILE_TABLE || a->on_sender;
    int code = WIFEXITED(v->status) ? WEXITSTATUS(v->status) : -1;

    if (WIFSIGNALED(v->status)) {
        return unlike(message, "the agent was killed by signal", WTERMSIG(v->status));
    }
    if (code < 0 || code > 1 || (must_fail && code != 1) || (!may_fail && code != 0)) {
        return unlike(message, "the agent ended with status", code);
    }
    if (v->rss_max_kb > HOSTILE_RSS_MAX_KB) {
        return unlike(message, "the agent's memory grew to kB", v->rss_max_kb);
    }
    return 0;
}

static int check_words(const struct hostile_victim *v, const struct hostile_attack *a,
                       char *message)
{
    const char *name = a->quic ? a->quic->counter : a->webrtc ? a->webrtc->counter : NULL;
    long long at_least = a->webrtc ? a->webrtc->at_least : 1, is;
    char said[TEXT_BYTES];

    read_text(v, "log", said);
    if (a->webrtc && a->webrtc->error && !strstr(said, a->webrtc->error)) {
        snprintf(message, HOSTILE_MESSAGE_BYTES, "it said: %.150s", said);
        return 1;
    }
    is = name ? counter(v, a, name) : at_least;
    if (is < at_least) {
        snprintf(message, HOSTILE_MESSAGE_BYTES, "its counter %s is %lld", name, is);
        return 1;
    }
    return 0;
}

int hostile_victim_judge(struct hostile_victim *v, const struct hostile_attack *a,
                         char message[HOSTILE_MESSAGE_BYTES])
{
    int rv = 0;

    if (!await(v, END_LIMIT_MS)) {
        kill(v->pid, SIGTERM);
        if (!await(v, END_LIMIT_MS)) {
            kill(v->pid, SIGKILL);
            await(v, END_LIMIT_MS);
            rv = unlike(message, "the agent did not end though told to, seconds",
                        2 * END_LIMIT_MS / 1000);
        }
    }
    rv = rv ? rv : check_end(v, a, message);
    rv = rv ? rv : check_words(v, a, message);
    nftw(v->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return rv;
}
