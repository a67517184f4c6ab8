/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A library to be loaded before a test program (LD_PRELOAD) that lets every allocation site of
 * every test of it fail, one at a time; README.md says how and what is judged. It stands in front
 * of malloc and its relatives for the program and all libraries, and in front of cmocka's runner:
 * instead of running the tests once, that forks a process for every case.
 *
 * OOM_REPORT=FILE    where results go, one line per test (required; without it nothing happens)
 * OOM_BUDGET_MS=N    stop this program's cases after so long; 0: never (default)
 * OOM_ALL=1          every single allocation, not one per site, and both kinds of shortage
 * OOM_SEED=N         of the sample
 * OOM_KNOWN=FILE     faults of libraries that are none of ours
 * OOM_ONLY=TEST:N[+] one case, verbosely: allocation N of that test, + and all after it */
#include "testbed/faults/oom_preload.h"

#include "testbed/faults/oom_log.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FRAMES 7        /* of a call path; with more, loops and recursion make too many of them */
#define OWN_FRAMES 3    /* this file's, and the C function's */
#define DEPTH 24        /* to which known libraries are looked for */
#define KEYS (1u << 16) /* open addressing; per test process */

struct oom_shared *oom_shared;

static struct {
    atomic_bool armed;
    bool lasting, aloud;
    atomic_uint seen;
    unsigned fail_at; /* 0: none, sites are noted instead */
    uint64_t keys[KEYS];
} shim;

/* Per thread: what we do on our own behalf does not count. */
static __thread bool inside;

static void *(*real_malloc)(size_t);
static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static void *(*real_aligned_alloc)(size_t, size_t);
static int (*real_posix_memalign)(void **, size_t, size_t);

static void *next(const char *name)
{
    void *p = dlsym(RTLD_NEXT, name);

    if (!p) {
        abort();
    }
    return p;
}

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

/* Whether the key is new to this process; a full table knows everything. */
static bool new_key(uint64_t key)
{
    for (unsigned i = 0; i < 64; i++) {
        uint64_t *slot = &shim.keys[(key + i) % KEYS];
        if (*slot == key) {
            return false;
        }
        if (*slot == 0) {
            *slot = key;
            return true;
        }
    }
    return false;
}

/* Whether one of these frames lies in a library that is never refused memory: nor is whom it
 * calls. */
static bool is_spared(void *const *frames, int n)
{
    Dl_info in;

    for (int i = 0; i < n; i++) {
        if (dladdr(frames[i], &in) && in.dli_fname && oom_known_library(in.dli_fname)) {
            return true;
        }
    }
    return false;
}

/* A return address, the stack's depth and a size tell most call paths apart at no cost; only when
 * these three are new the path itself is looked at. */
__attribute__((noinline)) static void note_site(unsigned number, uint64_t quick)
{
    struct oom_shared *s = oom_shared;
    void *frames[DEPTH];
    uint64_t path = 1;
    unsigned at;
    int n;

    if (!new_key(quick | 1)) {
        return;
    }
    n = backtrace(frames, DEPTH);
    if (is_spared(frames + OWN_FRAMES, n - OWN_FRAMES)) {
        return;
    }
    for (int i = OWN_FRAMES; i < n && i < OWN_FRAMES + FRAMES; i++) {
        path = mix(path, (uint64_t)(uintptr_t)frames[i]);
    }
    at = atomic_fetch_add(&s->site_count, 1);
    if (at < OOM_SITES_MAX) {
        s->sites[at] = (struct oom_site){.path = path, .number = number};
    }
}

/* Whether the allocation whose turn it is really fails. */
__attribute__((noinline)) static bool may_fail(void)
{
    void *frames[DEPTH];
    int n = backtrace(frames, DEPTH);

    return !is_spared(frames + OWN_FRAMES, n - OWN_FRAMES);
}

static void say_where(void)
{
    void (*print)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "__sanitizer_print_stack_trace");

    fprintf(stderr, "--- allocation %u " OOM_REFUSED_HERE "\n", shim.fail_at);
    if (print) {
        print();
    }
    fprintf(stderr, "---\n");
}

/* Counts an allocation; whether it is to fail. */
__attribute__((noinline)) static bool refuse(const void *caller, size_t size)
{
    unsigned number;
    bool fail;

    if (!atomic_load_explicit(&shim.armed, memory_order_relaxed) || inside) {
        return false;
    }
    inside = true;
    number = 1 + atomic_fetch_add(&shim.seen, 1);
    if (!shim.fail_at) {
        oom_shared->allocations = number;
        note_site(number, mix(mix(mix(1, (uint64_t)(uintptr_t)caller),
                                  (uint64_t)(uintptr_t)__builtin_frame_address(0)),
                              size));
    }
    fail = shim.fail_at && (shim.lasting ? number >= shim.fail_at : number == shim.fail_at) &&
           may_fail();
    if (fail) {
        oom_shared->refused++;
        if (shim.aloud && number == shim.fail_at) {
            say_where();
        }
        errno = ENOMEM;
    }
    inside = false;
    return fail;
}

#define REFUSE(size) refuse(__builtin_return_address(0), (size))

void oom_arm(unsigned fail_at, bool lasting, bool aloud)
{
    shim.fail_at = fail_at;
    shim.lasting = lasting;
    shim.aloud = aloud;
    atomic_store(&shim.seen, 0);
    atomic_store(&shim.armed, true);
}

bool oom_disarm(void)
{
    return atomic_exchange(&shim.armed, false);
}

void oom_rearm(void)
{
    atomic_store(&shim.armed, true);
}

/* ---- what stands in front of the C library ---- */

void *malloc(size_t n)
{
    if (REFUSE(n)) {
        return NULL;
    }
    if (!real_malloc) {
        real_malloc = (void *(*)(size_t))next("malloc");
    }
    return real_malloc(n);
}

void *calloc(size_t count, size_t n)
{
    if (REFUSE(n)) {
        return NULL;
    }
    if (!real_calloc) {
        real_calloc = (void *(*)(size_t, size_t))next("calloc");
    }
    return real_calloc(count, n);
}

void *realloc(void *p, size_t n)
{
    if (n && REFUSE(n)) { /* 0 frees */
        return NULL;
    }
    if (!real_realloc) {
        real_realloc = (void *(*)(void *, size_t))next("realloc");
    }
    return real_realloc(p, n);
}

void *aligned_alloc(size_t alignment, size_t n)
{
    if (REFUSE(n)) {
        return NULL;
    }
    if (!real_aligned_alloc) {
        real_aligned_alloc = (void *(*)(size_t, size_t))next("aligned_alloc");
    }
    return real_aligned_alloc(alignment, n);
}

int posix_memalign(void **out, size_t alignment, size_t n)
{
    if (REFUSE(n)) {
        return ENOMEM;
    }
    if (!real_posix_memalign) {
        real_posix_memalign = (int (*)(void **, size_t, size_t))next("posix_memalign");
    }
    return real_posix_memalign(out, alignment, n);
}

/* The sanitizers' own versions of these two do not come by malloc. */
char *strndup(const char *s, size_t max)
{
    size_t n = strnlen(s, max);
    char *copy = REFUSE(n) ? NULL : real_malloc(n + 1);

    if (copy) {
        memcpy(copy, s, n);
        copy[n] = '\0';
    }
    return copy;
}

char *strdup(const char *s)
{
    size_t n = strlen(s);
    char *copy = REFUSE(n) ? NULL : real_malloc(n + 1);

    return copy ? memcpy(copy, s, n + 1) : NULL;
}

/* Tests that fail leave their folders behind: noted here, removed by whoever started them. */
static char *note_temporary(char *path)
{
    unsigned at = path && oom_shared ? atomic_fetch_add(&oom_shared->path_count, 1) : OOM_PATHS_MAX;

    if (at < OOM_PATHS_MAX && strlen(path) < sizeof oom_shared->paths[0]) {
        strcpy(oom_shared->paths[at], path);
    }
    return path;
}

char *mkdtemp(char *template)
{
    static char *(*real)(char *);

    if (!real) {
        real = (char *(*)(char *))next("mkdtemp");
    }
    return note_temporary(real(template));
}

int mkstemp(char *template)
{
    static int (*real)(char *);
    int fd;

    if (!real) {
        real = (int (*)(char *))next("mkstemp");
    }
    fd = real(template);
    if (fd >= 0) {
        note_temporary(template);
    }
    return fd;
}

/* cmocka turns these into failed assertions; here they are to stay what they are. */
void (*signal(int number, void (*handler)(int)))(int)
{
    static void (*(*real)(int, void (*)(int)))(int);

    if (!real) {
        real = (void (*(*)(int, void (*)(int)))(int))next("signal");
    }
    return oom_shared && oom_is_crash(number) ? NULL : real(number, handler);
}

__attribute__((constructor)) static void prepare(void)
{
    void *frame[1];

    real_malloc = (void *(*)(size_t))next("malloc");
    backtrace(frame, 1); /* loads what it needs */
    oom_cases_prepare();
}
