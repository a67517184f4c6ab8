/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/netns_run.h"

#include "agents/base/err.h"
#include "testbed/run/run_bounds.h"
#include "testbed/wire/realtime.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define READY_TIMEOUT (20 * NS_PER_S)
#define START_AHEAD (100 * NS_PER_MS)
#define PROGRESS_EVERY (200 * NS_PER_MS)
/* After one agent has ended the other one gets this long beyond what the path may still hold, for
 * what was sent last counts too; and after being told to stop, this long. */
#define OTHER_GRACE (2 * NS_PER_S)
#define STOP_GRACE (2 * NS_PER_S)
/* A run that has not ended this long after its latest proper end, and the path's, is ended. */
#define LIMIT_MARGIN (10 * NS_PER_S)
#define EXIT_NO_PROGRAM 127
#define TEST_DEPTH 3 /* folders below the programs */

/* What a forked process needs to become an agent. */
struct launch {
    const char *const *argv;
    int ready_fd, start_fd;
};

static int keep_open(int fd)
{
    return fcntl(fd, F_SETFD, 0);
}

static int become_agent(void *arg)
{
    const struct launch *l = arg;

    if (!keep_open(l->ready_fd) && !keep_open(l->start_fd)) {
        execv(l->argv[0], (char *const *)(uintptr_t)l->argv);
    }
    dprintf(STDERR_FILENO, "%s: %s\n", l->argv[0], strerror(errno));
    return EXIT_NO_PROGRAM;
}

static bool is_program(const char *path)
{
    struct stat s;

    return !stat(path, &s) && S_ISREG(s.st_mode) && !access(path, X_OK);
}

/* The agent lies beside this program, or in a folder above when this is a test
 * (build/plain/testbed/run/x_nstest). Anything else of that name is none of ours. */
static int find_agent(struct netns_run *r, char *path)
{
    ssize_t n = readlink("/proc/self/exe", path, NETNS_RUN_PATH_MAX - sizeof "/agent");
    int above = n > 4 && !strncmp(path + n - 4, "test", 4) ? TEST_DEPTH : 0;
    char *slash;

    path[n > 0 ? n : 0] = '\0';
    for (int up = 0; up <= above && (slash = strrchr(path, '/')); up++) {
        strcpy(slash, "/agent");
        if (is_program(path)) {
            return 0;
        }
        *slash = '\0';
    }
    return message_set(r->m, ERR_OS, "there is no program \"agent\" beside this one; run make all");
}

static int launch(struct netns_run *r, struct netns_side *s, const char *program)
{
    char conf[NETNS_RUN_PATH_MAX], qlog[NETNS_RUN_PATH_MAX], log[NETNS_RUN_PATH_MAX];
    char keys[NETNS_RUN_PATH_MAX], trace[NETNS_RUN_PATH_MAX], name[32], ready_text[12],
        start_text[12];
    int ready[2] = {-1, -1}, start[2] = {-1, -1}, rc;
    /* Both ends would log the same secrets. */
    bool keylog = r->opt->keylog && s == &r->sides[NETNS_SENDER];
    const char *argv[16] = {program,      "--config", conf,        "--ready-fd", ready_text,
                            "--start-fd", start_text, "--records", r->opt->dir};
    int argc = 9;
    struct launch l = {.argv = argv};
    struct child_options o = {.name = s->name,
                              .log_path = log,
                              .ns_fd = chain_ns(r->chain, s->node),
                              .priority = REALTIME_AGENT,
                              .run = become_agent,
                              .arg = &l};

    snprintf(name, sizeof name, "log/%s", s->name);
    if (netns_run_path(r, conf, s->name, ".conf") || netns_run_path(r, qlog, s->name, ".sqlog") ||
        netns_run_path(r, keys, "keys", ".log") || netns_run_path(r, log, name, ".log") ||
        netns_run_path(r, trace, MANIFEST_TRACE_FILE, "")) {
        return ERR_LIMIT;
    }
    if (!r->opt->lean &&
        r->run->scenario.stack == AGENT_STACK_QUIC) { /* others have nothing to say in it */
        argv[argc++] = "--qlog";
        argv[argc++] = qlog;
    }
    if (keylog) {
        argv[argc++] = "--keylog";
        argv[argc++] = keys;
    }
    if (r->run->trace) {
        argv[argc++] = "--trace";
        argv[argc++] = trace;
    }
    if (pipe2(ready, O_CLOEXEC) || pipe2(start, O_CLOEXEC)) {
        rc = message_set(r->m, ERR_OS, "pipe: %s", strerror(errno));
    } else {
        l.ready_fd = ready[1];
        l.start_fd = start[0];
        snprintf(ready_text, sizeof ready_text, "%d", l.ready_fd);
        snprintf(start_text, sizeof start_text, "%d", l.start_fd);
        rc = child_start(&s->agent, &o, r->m);
    }
    if (ready[1] >= 0) {
        close(ready[1]);
    }
    if (start[0] >= 0) {
        close(start[0]);
    }
    s->ready_fd = ready[0];
    s->start_fd = start[1];
    return rc;
}

/* Skips a word and the colon and space after it, if text begins so. */
static const char *without(const char *text, const char *word)
{
    size_t len = strlen(word);

    return !strncmp(text, word, len) && !strncmp(text + len, ": ", 2) ? text + len + 2 : text;
}

/* The last line an agent wrote to its log, without its own name; empty if there is none. */
static void last_words(struct netns_run *r, const struct netns_side *s, char *out, size_t len)
{
    char path[NETNS_RUN_PATH_MAX], name[32], line[512];
    FILE *f;

    out[0] = '\0';
    snprintf(name, sizeof name, "log/%s", s->name);
    f = netns_run_path(r, path, name, ".log") ? NULL : fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        snprintf(out, len, "%.*s", (int)len - 1, without(without(line, "agent"), s->name));
    }
    if (f) {
        fclose(f);
    }
}

int netns_agents_not_ready(struct netns_run *r, struct netns_side *s)
{
    char words[160], how[80];

    if (!child_wait(&s->agent, realtime_mono() + NS_PER_S)) {
        return message_set(r->m, ERR_OS, "the %s does not get ready", s->name);
    }
    last_words(r, s, words, sizeof words);
    child_describe(&s->agent, how, sizeof how);
    return message_set(r->m, ERR_OS, "the %s did not start: %s", s->name, words[0] ? words : how);
}

static int await_ready(struct netns_run *r, struct netns_side *s)
{
    struct pollfd p = {.fd = s->ready_fd, .events = POLLIN};
    ns_t deadline = realtime_mono() + READY_TIMEOUT;
    char byte;
    int n;

    do {
        struct timespec left = realtime_timespec(ns_max(deadline - realtime_mono(), 0));

        n = ppoll(&p, 1, &left, NULL);
    } while (n < 0 && errno == EINTR);
    return n > 0 && read(s->ready_fd, &byte, 1) == 1 ? 0 : netns_agents_not_ready(r, s);
}

int netns_agents_start(struct netns_run *r)
{
    char program[NETNS_RUN_PATH_MAX];
    int rc = find_agent(r, program);

    for (int i = NETNS_SIDES - 1; i >= 0 && !rc; i--) {
        rc = launch(r, &r->sides[i], program);
    }
    for (int i = NETNS_SIDES - 1; i >= 0 && !rc; i--) {
        rc = await_ready(r, &r->sides[i]);
    }
    return rc;
}

int netns_agents_release(struct netns_run *r)
{
    r->start = realtime_mono() + START_AHEAD;
    r->wall_offset_start = netns_clock_look(r);
    for (int i = 0; i < NETNS_SIDES; i++) {
        if (write(r->sides[i].start_fd, &r->start, sizeof r->start) != sizeof r->start) {
            return netns_agents_not_ready(r, &r->sides[i]);
        }
    }
    return 0;
}

/* Run time at which a run that is still going on is ended. */
static ns_t limit_of(const struct scenario *s)
{
    return ns_add(run_bounds_end(s), run_bounds_path(s) + LIMIT_MARGIN);
}

/* Escalation: what to do with agents that still run, and when. */
struct ending {
    ns_t next;  /* CLOCK_MONOTONIC of the next step */
    int signal; /* SIGTERM or SIGKILL is what comes then */
};

static void escalate(struct netns_run *r, struct ending *e, ns_t now)
{
    for (int i = 0; i < NETNS_SIDES; i++) {
        struct netns_side *s = &r->sides[i];

        s->timed_out |= e->signal == SIGKILL && child_running(&s->agent);
        child_signal(&s->agent, e->signal);
    }
    e->signal = SIGKILL;
    e->next = now + STOP_GRACE;
}

/* A helper that ends while agents run takes the run with it. */
static int check_helper(struct netns_run *r, struct service *s, const struct pollfd *p)
{
    struct message cause;

    if (!p->revents) {
        return 0;
    }
    if (!service_expect(s, NULL, 0, realtime_mono(), &cause)) {
        message_set(&cause, ERR_OS, "%s ended", s->child.name);
    }
    return message_set(r->m, ERR_OS, "in the middle of the run: %.200s", cause.text);
}

int netns_agents_poll(struct netns_run *r, ns_t until)
{
    struct service *helpers[] = {&r->wire, &r->capture};
    struct pollfd p[NETNS_SIDES + 2];
    ns_t wake = ns_min(until, netns_rates_next(&r->rates));
    struct timespec left = realtime_timespec(ns_max(wake - realtime_mono(), 0));
    int rc = 0, events;

    for (int i = 0; i < NETNS_SIDES; i++) {
        p[i] = (struct pollfd){.fd = r->sides[i].agent.pidfd, .events = POLLIN};
    }
    for (int i = 0; i < 2; i++) { /* poll ignores the -1 of one that does not exist */
        p[NETNS_SIDES + i] = (struct pollfd){.fd = helpers[i]->child.pidfd, .events = POLLIN};
    }
    events = ppoll(p, NETNS_SIDES + 2, &left, NULL);
    netns_rates_apply(&r->rates, r->chain);
    for (int i = 0; i < 2 && !rc && events > 0; i++) {
        rc = check_helper(r, helpers[i], &p[NETNS_SIDES + i]);
    }
    return rc;
}

static void note_exit(struct netns_run *r, struct netns_side *s, struct manifest_agent *a)
{
    int status = s->agent.status;
    char words[sizeof a->error], how[80];

    a->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (a->exit_status) {
        last_words(r, s, words, sizeof words);
        child_describe(&s->agent, how, sizeof how);
        snprintf(a->error, sizeof a->error, "%s", words[0] ? words : how);
    }
}

void netns_agents_progress(struct netns_run *r, ns_t now, ns_t *next)
{
    if (now >= *next) {
        (void)netns_clock_look(r);
        r->progress(r->progress_ctx, now - r->start);
        *next = now + PROGRESS_EVERY;
    }
}

int netns_agents_ended(struct netns_run *r, ns_t now)
{
    r->manifest.duration = now - r->start;
    for (int i = 0; i < NETNS_SIDES; i++) {
        note_exit(r, &r->sides[i], i == NETNS_SENDER ? &r->manifest.sender : &r->manifest.receiver);
    }
    return 0;
}

int netns_agents_wait(struct netns_run *r)
{
    struct ending e = {.next = ns_add(r->start, limit_of(&r->run->scenario)), .signal = SIGTERM};
    ns_t other_grace = run_bounds_path(&r->run->scenario) + OTHER_GRACE;
    ns_t now = realtime_mono(), progress = r->start;
    int running = NETNS_SIDES, rc = 0;

    while (running && !rc) {
        int before = running;

        rc = netns_agents_poll(r, ns_min(progress, e.next));
        now = realtime_mono();
        running = 0;
        for (int i = 0; i < NETNS_SIDES; i++) {
            running += !child_wait(&r->sides[i].agent, 0);
        }
        if (running == 1 && before == 2 && e.signal == SIGTERM) {
            e.next = ns_min(e.next, now + other_grace);
        }
        if (running && now >= e.next) {
            escalate(r, &e, now);
        }
        netns_agents_progress(r, now, &progress);
    }
    return rc ? rc : netns_agents_ended(r, now);
}
