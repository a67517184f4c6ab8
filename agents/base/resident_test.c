/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is used after resident_make has been there before: the kernel counts the faults. */
#include "agents/base/resident.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

#define PAGE_BYTES 4096
#define PAGES 500
#define FEW 20

#if defined(__SANITIZE_ADDRESS__)
enum { SHADOWED = 1 }; /* its own memory has faults as well, and its heap gives back nothing */
#else
enum { SHADOWED = 0 };
#endif

static uint8_t untouched[PAGES * PAGE_BYTES];
static uint8_t filled[PAGES * PAGE_BYTES] = {1, 2, 3};

static long faults(void)
{
    struct rusage u;

    assert_int_equal(getrusage(RUSAGE_SELF, &u), 0);
    return u.ru_minflt + u.ru_majflt;
}

static void use(volatile uint8_t *p)
{
    for (size_t i = 0; i < PAGES; i++) {
        p[i * PAGE_BYTES + 7] = 9;
    }
}

static void test_no_faults_afterwards(void **state)
{
    long before = faults();
    uint8_t *block;

    (void)state;
    if (SHADOWED) {
        skip();
    }
    resident_make(PAGES * PAGE_BYTES);
    assert_true(faults() - before >= PAGES); /* they have been met there */
    before = faults();
    use(untouched);
    use(filled);
    assert_in_range(faults() - before, 0, FEW);
    before = faults();
    block = malloc(PAGES * PAGE_BYTES);
    assert_non_null(block);
    use(block);
    free(block);
    block = malloc(PAGES * PAGE_BYTES / 2); /* it has stayed */
    assert_non_null(block);
    memset(block, 3, PAGES * PAGE_BYTES / 2);
    free(block);
    assert_in_range(faults() - before, 0, FEW);
}

/* Using a page leaves what is in it. */
static void test_contents_stay(void **state)
{
    int local = 77;
    uint8_t *block = malloc(PAGE_BYTES * 3);

    (void)state;
    assert_non_null(block);
    memset(block, 0x5a, PAGE_BYTES * 3);
    filled[PAGE_BYTES] = 0xee;
    resident_make(PAGE_BYTES);
    for (size_t i = 0; i < PAGE_BYTES * 3; i++) {
        assert_int_equal(block[i], 0x5a);
    }
    assert_int_equal(filled[0], 1);
    assert_int_equal(filled[1], 2);
    assert_int_equal(filled[PAGE_BYTES], 0xee);
    assert_int_equal(local, 77);
    free(block);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_faults_afterwards),
        cmocka_unit_test(test_contents_stay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
