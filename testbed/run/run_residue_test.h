/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests of whole runs: what they leave on the host. cmocka.h comes before. */
#ifndef TESTBED_RUN_RUN_RESIDUE_TEST_H
#define TESTBED_RUN_RUN_RESIDUE_TEST_H

#include "testbed/run/run_process_test.h"

#include <dirent.h>
#include <net/if.h>

/* Network namespaces by their names, "net:[4026531840]". */
struct run_residue_set {
    char links[4096][32];
    size_t count;
};

/* What a run could leave behind: processes that carry the mark, namespaces that any process lives
 * in or holds open, interfaces of our own namespace, mounts. */
struct run_residue {
    size_t processes, namespaces, interfaces, mounts;
};

/* Whether process pid carries our mark. */
static inline bool run_residue_is_ours(const char *pid)
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

static inline size_t run_residue_count_lines(const char *path)
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
static inline void run_residue_each(void (*see)(void *ctx, const char *pid, bool ours), void *ctx)
{
    DIR *proc = opendir("/proc");

    assert(proc);
    for (struct dirent *e; (e = readdir(proc));) {
        if (e->d_name[0] >= '0' && e->d_name[0] <= '9') {
            see(ctx, e->d_name, run_residue_is_ours(e->d_name));
        }
    }
    closedir(proc);
}

static inline void run_residue_add_link(struct run_residue_set *set, const char *path)
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
static inline void run_residue_add_namespaces(struct run_residue_set *set, const char *pid)
{
    char path[600];
    DIR *d;

    snprintf(path, sizeof path, "/proc/%s/ns/net", pid);
    run_residue_add_link(set, path);
    snprintf(path, sizeof path, "/proc/%s/fd", pid);
    d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        snprintf(path, sizeof path, "/proc/%s/fd/%s", pid, e->d_name);
        run_residue_add_link(set, path);
    }
    if (d) {
        closedir(d);
    }
}

static inline void run_residue_see_ours(void *ctx, const char *pid, bool ours)
{
    if (ours) {
        run_residue_add_namespaces(ctx, pid);
    }
}

/* Adds the namespaces of our processes to set, but for the one we live in. */
static inline void run_residue_namespaces(struct run_residue_set *set)
{
    char own[32] = "";

    assert(readlink("/proc/self/ns/net", own, sizeof own - 1) > 0);
    run_residue_each(run_residue_see_ours, set);
    for (size_t i = 0; i < set->count; i++) {
        if (strcmp(set->links[i], own) == 0) {
            memmove(set->links[i], set->links[--set->count], sizeof set->links[i]);
            break;
        }
    }
}

struct run_residue_look {
    struct run_residue_set now;
    size_t processes;
};

static inline void run_residue_see_all(void *ctx, const char *pid, bool ours)
{
    struct run_residue_look *look = ctx;

    look->processes += ours;
    run_residue_add_namespaces(&look->now, pid);
}

/* Counts what is on the host now; of namespaces those of set alone, since other programs may make
 * their own meanwhile. */
static inline void run_residue_count(struct run_residue *r, const struct run_residue_set *set)
{
    static struct run_residue_look look;
    struct if_nameindex *names = if_nameindex();

    assert(names);
    *r = (struct run_residue){0};
    look.processes = look.now.count = 0;
    run_residue_each(run_residue_see_all, &look);
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
    r->mounts = run_residue_count_lines("/proc/self/mountinfo");
}

/* Waits until nothing of a run is left, of whose namespaces seen are known, beyond what was there
 * before. Returns how long that took, NS_NEVER beyond the limit. */
static inline ns_t run_residue_wait(const struct run_residue *before,
                                    const struct run_residue_set *seen, ns_t limit)
{
    ns_t start = run_process_now(), t = start;
    struct run_residue now;

    for (;;) {
        run_residue_count(&now, seen);
        if (now.processes <= before->processes && now.namespaces == 0 &&
            now.interfaces <= before->interfaces && now.mounts <= before->mounts) {
            return run_process_now() - start;
        }
        if (run_process_now() - start > limit) {
            print_message("left: %zu processes, were %zu; %zu namespaces; interfaces %zu, were "
                          "%zu; mounts %zu, were %zu\n",
                          now.processes, before->processes, now.namespaces, now.interfaces,
                          before->interfaces, now.mounts, before->mounts);
            return NS_NEVER;
        }
        t += 10 * NS_PER_MS;
        run_process_sleep_until(t);
    }
}

#endif
