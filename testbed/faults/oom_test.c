/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The instrument itself: with oom.so before it, this program's planted faults are found, and what
 * is done properly is not called a fault. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define PLANTED "OOM_TEST_PLANTED"
#define PATH_BYTES 4096

static void *volatile kept; /* or the compiler does without the memory */

static void careful(void **state)
{
    char *a, *b;

    (void)state;
    kept = a = malloc(10);
    assert_non_null(a);
    kept = b = realloc(a, 1000);
    free(b ? b : a);
    assert_non_null(b);
}

static void without_memory(void **state)
{
    (void)state;
}

static void crashes(void **state)
{
    (void)state;
    kept = malloc(10);
    if (!kept) {
        raise(SIGSEGV);
    }
    free(kept);
}

/* Passes in spite of the refusal. */
static void does_without(void **state)
{
    (void)state;
    kept = malloc(10);
    free(kept);
}

static int planted(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(careful),
        cmocka_unit_test(without_memory),
        cmocka_unit_test(crashes),
        cmocka_unit_test(does_without),
    };

    return cmocka_run_group_tests_name("planted", tests, NULL, NULL);
}

static void test_finds_what_is_planted(void **state)
{
    char self[PATH_BYTES], library[PATH_BYTES], command[3 * PATH_BYTES],
        report[] = "/tmp/oom_test-XXXXXX";
    char said[8192];
    size_t len;
    FILE *f;
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    int status;

    (void)state;
    assert_true(n > 0);
    self[n] = '\0';
    snprintf(library, sizeof library, "%.*s/oom.so", (int)(strrchr(self, '/') - self), self);
    assert_int_equal(access(library, R_OK), 0);
    close(mkstemp(report));
    snprintf(command, sizeof command,
             PLANTED "=1 OOM_REPORT=%s ASAN_OPTIONS=verify_asan_link_order=0:exitcode=98 "
                     "LD_PRELOAD=%s exec %s >/dev/null 2>&1",
             report, library, self);
    status = system(command);
    f = fopen(report, "re");
    assert_non_null(f);
    len = fread(said, 1, sizeof said - 1, f);
    said[len] = '\0';
    fclose(f);
    unlink(report);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1); /* tests with faults */
    assert_non_null(strstr(said, "BAD crashes:1 "));
    assert_non_null(strstr(said, "TEST crashes bad allocations=1 "));
    assert_non_null(strstr(said, "TEST careful ok allocations=2 "));
    assert_non_null(strstr(said, "TEST without_memory ok allocations=0 "));
    assert_non_null(strstr(said, "TEST does_without ok allocations=1 "));
    assert_null(strstr(said, "BAD careful"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_finds_what_is_planted)};

    return getenv(PLANTED) ? planted()
                           : cmocka_run_group_tests_name("oom instrument", tests, NULL, NULL);
}
