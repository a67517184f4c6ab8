/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests named *_oom_test.c: runs a body again and again, and each time another allocation of it
 * fails, until none does. The linker puts these functions around malloc and its relatives in our
 * objects and in the libraries linked as archives (wolfSSL, ngtcp2), not in shared ones.
 *
 * A body makes, uses and frees something; it returns 0, or a negative code when it could not. In
 * each run either one allocation fails or all from there on. A failure must come out as an error,
 * and what was allocated must be freed whatever happened. */
#ifndef AGENTS_BASE_OOM_TEST_H
#define AGENTS_BASE_OOM_TEST_H

#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define OOM_BLOCKS (1u << 18)

/* The wrapped functions and what --wrap names the originals; the prefixes are the linker's. */
void *__real_malloc(size_t n);
void *__real_calloc(size_t count, size_t n);
void *__real_realloc(void *p, size_t n);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
void __real_free(void *p);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t count, size_t n);
void *__wrap_realloc(void *p, size_t n);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);
void __wrap_free(void *p);

/* Volatile since compilers know that the true malloc changes no variable of ours. */
static struct {
    volatile bool armed, lasting;           /* lasting: all allocations from fail_at on fail */
    volatile size_t seen, fail_at, refused; /* since armed; the first allocation is number 1 */
    volatile size_t live;
    volatile size_t bytes, most;    /* that live blocks take; at once since armed, at most */
    const void *blocks[OOM_BLOCKS]; /* allocated since armed: open addressing */
} oom;

static inline size_t oom_home(const void *p)
{
    return (size_t)((uintptr_t)p >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 46;
}

static inline bool oom_refuse(void)
{
    bool fail;

    if (!oom.armed) {
        return false;
    }
    oom.seen++;
    fail = oom.fail_at && (oom.lasting ? oom.seen >= oom.fail_at : oom.seen == oom.fail_at);
    oom.refused += fail;
    return fail;
}

static inline void *oom_note(void *p)
{
    size_t i = oom_home(p);

    if (p && oom.armed && oom.live < OOM_BLOCKS / 2) {
        while (oom.blocks[i]) {
            i = (i + 1) % OOM_BLOCKS;
        }
        oom.blocks[i] = p;
        oom.live++;
        oom.bytes += malloc_usable_size(p);
        oom.most = oom.bytes > oom.most ? oom.bytes : oom.most;
    }
    return p;
}

static inline void oom_forget(const void *p)
{
    size_t i = oom_home(p), hole;

    while (p && oom.blocks[i] && oom.blocks[i] != p) {
        i = (i + 1) % OOM_BLOCKS;
    }
    if (!p || !oom.blocks[i]) {
        return; /* allocated before, or by a shared library */
    }
    oom.live--;
    oom.bytes -= malloc_usable_size((void *)(uintptr_t)p);
    for (hole = i; oom.blocks[i]; i = (i + 1) % OOM_BLOCKS) {
        /* whoever could not be found any more across the hole moves into it */
        size_t home = oom_home(oom.blocks[i]);
        if (i == hole ||
            (i + OOM_BLOCKS - home) % OOM_BLOCKS >= (i + OOM_BLOCKS - hole) % OOM_BLOCKS) {
            oom.blocks[hole] = i == hole ? NULL : oom.blocks[i];
            oom.blocks[i] = NULL;
            hole = i;
        }
    }
}

void *__wrap_malloc(size_t n)
{
    return oom_refuse() ? NULL : oom_note(__real_malloc(n));
}

void *__wrap_calloc(size_t count, size_t n)
{
    return oom_refuse() ? NULL : oom_note(__real_calloc(count, n));
}

void *__wrap_realloc(void *p, size_t n)
{
    void *q;

    if (oom_refuse()) {
        return NULL;
    }
    oom_forget(p);
    q = __real_realloc(p, n);
    return oom_note(q);
}

char *__wrap_strdup(const char *s)
{
    return oom_refuse() ? NULL : oom_note(__real_strdup(s));
}

char *__wrap_strndup(const char *s, size_t n)
{
    return oom_refuse() ? NULL : oom_note(__real_strndup(s, n));
}

void __wrap_free(void *p)
{
    oom_forget(p);
    __real_free(p);
}

/* Runs the body with allocation fail_at failing (0: none). Returns its result. */
static inline int oom_run(int (*body)(void *ctx), void *ctx, size_t fail_at, bool lasting)
{
    int rv;

    memset(oom.blocks, 0, oom.live ? sizeof oom.blocks : 0);
    oom.seen = oom.refused = oom.live = oom.bytes = oom.most = 0;
    oom.fail_at = fail_at;
    oom.lasting = lasting;
    oom.armed = true;
    rv = body(ctx);
    oom.armed = false;
    return rv;
}

/* What oom_each found. */
struct oom_report {
    size_t allocations; /* of a run in which none fails */
    size_t refusals;    /* runs in which one failed */
    size_t unnoticed;   /* of those, runs in which the body nevertheless returned 0 */
    size_t leaks;       /* runs that left something allocated */
    bool ran;           /* without refusals the body works and frees everything */
};

/* Tries every step-th allocation of the body, in both ways. What is wrong is also printed; that a
 * failure went unnoticed only unless tolerant: libraries can do without some memory. */
static inline struct oom_report oom_each(const char *name, int (*body)(void *ctx), void *ctx,
                                         size_t step, bool tolerant)
{
    struct oom_report r = {0};

    body(ctx); /* whatever libraries make once and keep */
    r.ran = oom_run(body, ctx, 0, false) == 0 && oom.live == 0;
    r.allocations = oom.seen;
    for (int lasting = 0; r.ran && lasting < 2; lasting++) {
        for (size_t n = 1;; n += step) {
            int rv = oom_run(body, ctx, n, lasting);
            if (!oom.refused) {
                break;
            }
            r.refusals++;
            r.unnoticed += rv == 0;
            r.leaks += oom.live > 0;
            if ((rv == 0 && !tolerant) || oom.live) {
                printf("%s: allocation %zu of %zu refused%s: %s, %zu blocks left\n", name, n,
                       r.allocations, lasting ? " and all after it" : "",
                       rv == 0 ? "unnoticed" : "an error", oom.live);
            }
        }
    }
    if (!r.ran) {
        printf("%s: fails, or leaves %zu blocks, also when nothing is refused\n", name, oom.live);
    }
    return r;
}

#endif
