/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/run/netns_run.h"

#include "agents/base/err.h"
#include "testbed/wire/realtime.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READY_TIMEOUT (20 * NS_PER_S)
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

/* Agent and player lie beside this program, or in a folder above when this is a test
 * (build/plain/testbed/run/x_nstest). Anything else of that name is none of ours. */
static int find_program(struct netns_run *r, const char *name, char *path)
{
    ssize_t n = readlink("/proc/self/exe", path, NETNS_RUN_PATH_MAX - strlen(name) - 2);
    int above = n > 4 && !strncmp(path + n - 4, "test", 4) ? TEST_DEPTH : 0;
    char *slash;

    path[n > 0 ? n : 0] = '\0';
    for (int up = 0; up <= above && (slash = strrchr(path, '/')); up++) {
        slash[0] = '/';
        strcpy(slash + 1, name);
        if (is_program(path)) {
            return 0;
        }
        *slash = '\0';
    }
    return message_set(r->m, ERR_OS, "there is no program \"%s\" beside this one; run make all",
                       name);
}

/* The arguments of one agent, and room for their texts. */
struct arguments {
    char conf[NETNS_RUN_PATH_MAX], qlog[NETNS_RUN_PATH_MAX], keys[NETNS_RUN_PATH_MAX],
        trace[NETNS_RUN_PATH_MAX], folder[NETNS_RUN_PATH_MAX];
    char ready_text[12], start_text[12];
    const char *argv[20];
    size_t count;
};

static void add(struct arguments *a, const char *option, const char *value)
{
    a->argv[a->count++] = option;
    a->argv[a->count++] = value;
}

/* Cross traffic leaves no records: it is in the captures. */
static int set_arguments(struct netns_run *r, struct netns_side *s, struct arguments *a)
{
    size_t side = (size_t)(s - r->sides);
    const struct plan_run *call = netns_pair_run(r, side / NETNS_SIDES);

    if (netns_side_path(r, s, a->conf, "", ".conf") ||
        netns_side_path(r, s, a->qlog, "", ".sqlog") ||
        netns_run_path(r, a->folder, s->folder, "") ||
        netns_run_path(r, a->keys, s->folder, "keys.log") ||
        netns_run_path(r, a->trace, MANIFEST_TRACE_FILE, "")) {
        return ERR_LIMIT;
    }
    add(a, "--config", a->conf);
    add(a, "--ready-fd", a->ready_text);
    add(a, "--start-fd", a->start_text);
    if (!call) {
        return 0;
    }
    add(a, "--records", a->folder);
    if (!r->opt->lean &&
        call->scenario.stack == AGENT_STACK_QUIC) { /* others have nothing to say in it */
        add(a, "--qlog", a->qlog);
    }
    if (r->opt->keylog &&
        side % NETNS_SIDES == NETNS_SENDER) { /* both ends have the same secrets */
        add(a, "--keylog", a->keys);
    }
    if (r->run->trace) {
        add(a, "--trace", a->trace);
    }
    return 0;
}

int netns_launch(struct netns_run *r, struct netns_side *s, const char *program,
                 const char *const *arguments)
{
    char path[NETNS_RUN_PATH_MAX];
    struct arguments a = {.argv = {path}, .count = 1};
    char log[NETNS_RUN_PATH_MAX];
    int ready[2] = {-1, -1}, start[2] = {-1, -1}, rc;
    struct launch l = {.argv = a.argv};
    struct child_options o = {.name = s->name,
                              .log_path = log,
                              .ns_fd = chain_ns(r->chain, s->node),
                              .priority = REALTIME_AGENT,
                              .run = become_agent,
                              .arg = &l};

    rc = find_program(r, program, path);
    if (rc) {
        return rc;
    }
    while (arguments && *arguments) {
        a.argv[a.count++] = *arguments++;
    }
    if (set_arguments(r, s, &a) || netns_side_path(r, s, log, "log/", ".log")) {
        return ERR_LIMIT;
    }
    if (pipe2(ready, O_CLOEXEC) || pipe2(start, O_CLOEXEC)) {
        rc = message_set(r->m, ERR_OS, "pipe: %s", strerror(errno));
    } else {
        l.ready_fd = ready[1];
        l.start_fd = start[0];
        snprintf(a.ready_text, sizeof a.ready_text, "%d", l.ready_fd);
        snprintf(a.start_text, sizeof a.start_text, "%d", l.start_fd);
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

void netns_last_words(struct netns_run *r, const struct netns_side *s, char *out, size_t len)
{
    char path[NETNS_RUN_PATH_MAX], line[512];
    FILE *f;

    out[0] = '\0';
    f = netns_side_path(r, s, path, "log/", ".log") ? NULL : fopen(path, "re");
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
        return message_set(r->m, ERR_OS, "the %s%s does not get ready", s->folder, s->name);
    }
    netns_last_words(r, s, words, sizeof words);
    child_describe(&s->agent, how, sizeof how);
    return message_set(r->m, ERR_OS, "the %s%s did not start: %s", s->folder, s->name,
                       words[0] ? words : how);
}

int netns_await_ready(struct netns_run *r, struct netns_side *s)
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

int netns_agents_start_from(struct netns_run *r, size_t first)
{
    int rc = 0;

    for (size_t i = NETNS_SIDES * r->pair_count; i-- > NETNS_SIDES * first && !rc;) {
        rc = netns_launch(r, &r->sides[i], "agent", NULL);
    }
    for (size_t i = NETNS_SIDES * r->pair_count; i-- > NETNS_SIDES * first && !rc;) {
        rc = netns_await_ready(r, &r->sides[i]);
    }
    return rc;
}

int netns_agents_start(struct netns_run *r)
{
    return netns_agents_start_from(r, 0);
}

int netns_agents_release_from(struct netns_run *r, size_t first)
{
    for (size_t i = NETNS_SIDES * first; i < NETNS_SIDES * r->pair_count; i++) {
        if (write(r->sides[i].start_fd, &r->start, sizeof r->start) != sizeof r->start) {
            return netns_agents_not_ready(r, &r->sides[i]);
        }
    }
    return 0;
}

int netns_agents_release(struct netns_run *r)
{
    r->start = realtime_mono() + NETNS_START_AHEAD;
    r->wall_offset_start = netns_clock_look(r);
    return netns_agents_release_from(r, 0);
}
