/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stands in front of cmocka's runner: every test of a group once as it is, noting its allocations,
 * then once more for each of those that is to fail; each time in a process of its own. */
#include "testbed/faults/oom_preload.h"

#include "testbed/faults/oom_log.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define TIMEOUT_MS 30000 /* and 20 times what the test takes when nothing fails */
#define TIMEOUT_FACTOR 20
#define BASELINE_MS 300000
#define CPU_LIMIT_S 120
#define EXIT_LEAK 97
#define EXIT_SANITIZER 98
#define BAD_MAX 12     /* of a test: then the rest is not tried */
#define SAMPLE_MAX 40  /* allocations of a test beyond the first of each site */
#define LASTING_PART 4 /* of so many cases one is tried with lasting shortage as well */
#define NAME_MAX_ 512

typedef int (*run_group)(const char *name, const struct CMUnitTest *tests, size_t count,
                         CMFixtureFunction setup, CMFixtureFunction teardown);
int _cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t count,
                            CMFixtureFunction setup, CMFixtureFunction teardown);
void __longjmp_chk(struct __jmp_buf_tag *env, int value) __attribute__((noreturn));

struct group {
    const char *name;
    CMFixtureFunction setup, teardown;
    run_group run;
};

struct trial {
    const struct CMUnitTest *test;
    unsigned fail_at;
    bool lasting, aloud;
};

enum verdict { PASSED, FAILED, SKIPPED, BAD };

static struct {
    FILE *report;
    const char *only;
    long budget_ms;
    bool all;
    uint64_t seed, begun_ms;
    uint64_t *tried; /* paths, across the tests of a program; open addressing */
    struct trial trial;
    bool leaked;
    char log[64], why[64];
    struct oom_log said;
} cases;

#define TRIED (1u << 17)

static uint64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

bool oom_is_crash(int number)
{
    return number == SIGSEGV || number == SIGABRT || number == SIGBUS || number == SIGFPE ||
           number == SIGILL || number == SIGSYS;
}

void oom_cases_prepare(void)
{
    const char *report = getenv("OOM_REPORT"), *text;

    unsetenv("LD_PRELOAD"); /* what a test starts is not part of it */
    if (!report) {
        return;
    }
    cases.report = fopen(report, "ae");
    oom_shared =
        mmap(NULL, sizeof *oom_shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cases.tried = calloc(TRIED, sizeof *cases.tried);
    if (!cases.report || oom_shared == MAP_FAILED || !cases.tried) {
        perror(report);
        _exit(3);
    }
    if ((text = getenv("OOM_KNOWN")) && oom_known_read(text)) {
        perror(text);
        _exit(3);
    }
    cases.only = getenv("OOM_ONLY");
    cases.all = getenv("OOM_ALL") && *getenv("OOM_ALL");
    cases.budget_ms = (text = getenv("OOM_BUDGET_MS")) ? atol(text) : 0;
    cases.seed = (text = getenv("OOM_SEED")) ? strtoull(text, NULL, 10) : 1;
    cases.begun_ms = now_ms();
}

/* What is left of the budget, shared by the tests to come; a long time without one. */
static long share_ms(size_t tests)
{
    long left = cases.budget_ms - (long)(now_ms() - cases.begun_ms);

    return cases.budget_ms ? (left > 0 ? left / (long)tests : 0) : LONG_MAX / 2;
}

/* ---- in the process of one case ---- */

static int leaks(void)
{
    int (*check)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "__lsan_do_recoverable_leak_check");

    return check ? check() : 0;
}

/* An assertion that fails ends here. What the test still holds is on its stack at this moment and
 * so no leak; a moment later it would be one. */
void __longjmp_chk(struct __jmp_buf_tag *env, int value)
{
    void (*real)(struct __jmp_buf_tag *, int) =
        (void (*)(struct __jmp_buf_tag *, int))dlsym(RTLD_NEXT, "__longjmp_chk");

    if (oom_shared && oom_disarm() && oom_shared->refused) {
        cases.leaked |= leaks() != 0;
    }
    real(env, value);
    abort();
}

static int armed_setup(void **state)
{
    const struct trial *t = &cases.trial;
    int rv;

    oom_arm(t->fail_at, t->lasting, t->aloud);
    rv = t->test->setup_func(state);
    oom_disarm();
    return rv;
}

static void armed_test(void **state)
{
    const struct trial *t = &cases.trial;

    if (t->test->setup_func) {
        oom_rearm();
    } else {
        oom_arm(t->fail_at, t->lasting, t->aloud);
    }
    t->test->test_func(state);
    oom_disarm();
}

static void in_child(const struct group *g, const struct trial *t)
{
    const struct rlimit cpu = {CPU_LIMIT_S, CPU_LIMIT_S}, core = {0, 0};
    struct CMUnitTest one = *t->test;
    int fd = open(cases.log, O_WRONLY | O_CREAT | O_TRUNC, 0600), failed;

    setpgid(0, 0);
    setrlimit(RLIMIT_CPU, &cpu);
    setrlimit(RLIMIT_CORE, &core);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    cases.trial = *t;
    one.test_func = armed_test;
    one.setup_func = t->test->setup_func ? armed_setup : NULL;
    failed = g->run(g->name, &one, 1, g->setup, g->teardown);
    oom_disarm();
    fflush(NULL);
    if (failed == 0 && t->fail_at) {
        cases.leaked |= leaks() != 0;
    }
    _exit(cases.leaked ? EXIT_LEAK : failed ? 1 : 0);
}

/* ---- in the process that starts them ---- */

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *at)
{
    (void)st, (void)flag, (void)at;
    remove(path);
    return 0;
}

static void clean_up(void)
{
    unsigned n = oom_shared->path_count < OOM_PATHS_MAX ? oom_shared->path_count : OOM_PATHS_MAX;

    for (unsigned i = 0; i < n; i++) {
        if (strncmp(oom_shared->paths[i], "/tmp/", 5) == 0) {
            nftw(oom_shared->paths[i], remove_one, 16, FTW_DEPTH | FTW_PHYS);
        }
    }
}

static bool log_has(const char *text)
{
    oom_log_read(&cases.said, cases.log);
    return strstr(cases.said.text, text) != NULL;
}

static enum verdict bad(const char *why, int number)
{
    snprintf(cases.why, sizeof cases.why, "%s %d", why, number);
    return BAD;
}

static enum verdict judge(int status)
{
    if (WIFSIGNALED(status) && !oom_is_crash(WTERMSIG(status)) && WTERMSIG(status) != SIGXCPU) {
        return FAILED; /* one that the test itself sends, and was not ready for */
    }
    if (WIFSIGNALED(status)) {
        return bad("killed by signal", WTERMSIG(status));
    }
    switch (WEXITSTATUS(status)) {
    case 0: return log_has("[  SKIPPED ]") ? SKIPPED : PASSED;
    case 1: return log_has("Test failed with exception") ? bad("crashed, status", 1) : FAILED;
    case EXIT_LEAK: return bad("leaks, status", EXIT_LEAK);
    case EXIT_SANITIZER: return bad("refused by the sanitizer, status", EXIT_SANITIZER);
    default: return bad("ended with status", WEXITSTATUS(status));
    }
}

static enum verdict try(const struct group *g, const struct trial *t, long limit)
{
    struct pollfd end = {.events = POLLIN};
    int status = 0, came;
    pid_t pid;

    oom_shared->refused = oom_shared->path_count = 0;
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        in_child(g, t);
    }
    end.fd = (int)syscall(SYS_pidfd_open, pid, 0);
    while ((came = poll(&end, 1, (int)limit)) < 0 && errno == EINTR) {
        continue;
    }
    kill(-pid, SIGKILL); /* what it has left running too */
    if (came <= 0) {
        kill(pid, SIGKILL);
    }
    waitpid(pid, &status, 0);
    close(end.fd);
    clean_up();
    return came > 0 ? judge(status) : bad("does not end, ms", (int)limit);
}

/* Whether this call path is new to the program. */
static bool new_path(uint64_t path)
{
    for (unsigned i = 0; i < TRIED; i++) {
        uint64_t *slot = &cases.tried[(path + i) % TRIED];
        if (*slot == path) {
            return false;
        }
        if (*slot == 0) {
            *slot = path;
            return true;
        }
    }
    return false;
}

static uint64_t draw(void)
{
    cases.seed = cases.seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return cases.seed >> 33;
}

/* Which allocations of a test shall fail, in the order of trying. */
static unsigned choose(unsigned *out, unsigned room)
{
    unsigned sites =
                 oom_shared->site_count < OOM_SITES_MAX ? oom_shared->site_count : OOM_SITES_MAX,
             total = oom_shared->allocations, n = 0;

    if (cases.all) {
        for (unsigned i = 1; i <= total && n < room; i++) {
            out[n++] = i;
        }
        return n;
    }
    for (unsigned i = 0; i < sites && n < room; i++) {
        if (new_path(oom_shared->sites[i].path)) {
            out[n++] = oom_shared->sites[i].number;
        }
    }
    for (unsigned i = 0; i < SAMPLE_MAX && total > sites && n < room; i++) {
        out[n++] = 1 + (unsigned)(draw() % total);
    }
    for (unsigned i = n; i > 1; i--) { /* so that a budget cuts anywhere */
        unsigned j = (unsigned)(draw() % i), swap = out[i - 1];
        out[i - 1] = out[j];
        out[j] = swap;
    }
    return n;
}

struct tally {
    unsigned tried, harmless, bad, of_test, known;
};

/* Whose fault what the last case has printed shows. */
static bool excused(struct tally *sum)
{
    enum oom_fault fault = oom_log_fault(&cases.said);

    sum->known += fault == OOM_FAULT_KNOWN;
    sum->of_test += fault == OOM_FAULT_OF_TEST;
    return fault != OOM_FAULT_OF_PRODUCT;
}

/* Tries a case that went wrong once more, to hear where, and reports it unless it is excused. */
static void look_closer(const struct group *g, struct trial t, long limit, struct tally *sum)
{
    char why[sizeof cases.why];

    memcpy(why, cases.why, sizeof why);
    oom_log_read(&cases.said, cases.log);
    if (excused(sum)) {
        return;
    }
    t.aloud = true;
    if (try(g, &t, limit) == BAD) { /* or else what was said the first time has to do */
        oom_log_read(&cases.said, cases.log);
        if (excused(sum)) {
            return;
        }
    }
    sum->bad++;
    fprintf(cases.report, "BAD %s:%u%s %s\n", t.test->name, t.fail_at, t.lasting ? "+" : "", why);
    if (!oom_log_signature(&cases.said) || new_path(oom_log_signature(&cases.said))) {
        oom_log_print(&cases.said, cases.report);
    } else {
        fprintf(cases.report, "  | as above\n");
    }
    fflush(cases.report);
}

static void one_case(const struct group *g, const struct trial *t, long limit, struct tally *sum)
{
    enum verdict v = try(g, t, limit);

    sum->tried++;
    sum->harmless += v == PASSED && oom_shared->refused;
    if (v == BAD) {
        look_closer(g, *t, limit, sum);
    }
}

static int all_cases(const struct group *g, const struct CMUnitTest *test, uint64_t usual_ms,
                     uint64_t end_ms)
{
    const long limit = TIMEOUT_MS + TIMEOUT_FACTOR * (long)usual_ms;
    unsigned room = cases.all ? oom_shared->allocations : OOM_SITES_MAX,
             allocations = oom_shared->allocations, sites = oom_shared->site_count,
             *numbers = calloc(room + 1, sizeof *numbers), count, i;
    struct tally sum = {0};

    if (!numbers) {
        abort();
    }
    count = choose(numbers, room);
    for (i = 0; i < count && sum.bad < BAD_MAX && now_ms() < end_ms; i++) {
        struct trial t = {.test = test, .fail_at = numbers[i]};
        one_case(g, &t, limit, &sum);
        t.lasting = true;
        if (cases.all || draw() % LASTING_PART == 0) {
            one_case(g, &t, limit, &sum);
        }
    }
    fprintf(cases.report,
            "TEST %s %s allocations=%u sites=%u chosen=%u tried=%u cases=%u harmless=%u "
            "known=%u test=%u ms=%llu\n",
            test->name, sum.bad ? "bad" : "ok", allocations, sites, count, i, sum.tried,
            sum.harmless, sum.known, sum.of_test, (unsigned long long)usual_ms);
    free(numbers);
    return sum.bad > 0;
}

static int only_case(const struct group *g, const struct CMUnitTest *test)
{
    size_t len = strlen(test->name);
    struct trial t = {.test = test, .aloud = true};
    char *end;
    enum verdict v;

    if (strncmp(cases.only, test->name, len) != 0 || cases.only[len] != ':') {
        return 0;
    }
    t.fail_at = (unsigned)strtoul(cases.only + len + 1, &end, 10);
    t.lasting = *end == '+';
    v = try(g, &t, TIMEOUT_MS);
    fprintf(cases.report, "%s: %s\n", cases.only,
            v == BAD      ? cases.why
            : v == PASSED ? "passed"
                          : "failed");
    oom_log_read(&cases.said, cases.log);
    oom_log_print(&cases.said, cases.report);
    return v == BAD;
}

/* What a test without a fault in it has shown. Returns 1 if something is wrong. */
static int after_baseline(const struct group *g, const struct CMUnitTest *test, enum verdict v,
                          uint64_t begin_ms, long share)
{
    uint64_t usual_ms = now_ms() - begin_ms;

    if (v == PASSED) {
        return all_cases(g, test, usual_ms, begin_ms + (uint64_t)share);
    }
    if (v == SKIPPED) {
        fprintf(cases.report, "TEST %s skipped\n", test->name);
        return 0;
    }
    if ((long)usual_ms >= share) {
        fprintf(cases.report, "TEST %s left\n", test->name);
        return 0;
    }
    /* that is for the test's own run to say; here there is nothing to compare with */
    fprintf(cases.report, "TEST %s fails\n", test->name);
    return 0;
}

static int one_test(const struct group *g, const struct CMUnitTest *test, size_t tests_left)
{
    const struct trial t = {.test = test};
    long share = share_ms(tests_left);
    uint64_t begin = now_ms();
    int rv;

    if (cases.only) {
        return only_case(g, test);
    }
    oom_shared->site_count = oom_shared->allocations = 0;
    rv = after_baseline(g, test, try(g, &t, share < BASELINE_MS ? share : BASELINE_MS), begin,
                        share);
    fflush(cases.report);
    return rv;
}

int _cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t count,
                            CMFixtureFunction setup, CMFixtureFunction teardown)
{
    struct group g = {name, setup, teardown, NULL};
    int bad_tests = 0;

    g.run = (run_group)dlsym(RTLD_NEXT, "_cmocka_run_group_tests");
    if (!oom_shared) {
        return g.run(name, tests, count, setup, teardown);
    }
    snprintf(cases.log, sizeof cases.log, "/tmp/oom-%d.log", (int)getpid());
    for (size_t i = 0; i < count; i++) {
        bad_tests += one_test(&g, &tests[i], count - i);
    }
    if (!cases.only) { /* that one is for reading */
        unlink(cases.log);
    }
    return bad_tests;
}
