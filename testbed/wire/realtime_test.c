/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/wire/realtime.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <cmocka.h>

#define MORE_BYTES (4 << 20)

static long locked_kb(void)
{
    FILE *f = fopen("/proc/self/status", "re");
    char line[256];
    long kb = -1;

    assert_non_null(f);
    while (kb < 0 && fgets(line, sizeof line, f)) {
        (void)sscanf(line, "VmLck: %ld", &kb);
    }
    fclose(f);
    assert_true(kb >= 0);
    return kb;
}

/* Not only the memory of now stays resident: also what is asked for later. */
static void test_memory_to_come_is_locked(void **state)
{
    long before;
    void *more;

    (void)state;
    realtime_settle();
    before = locked_kb();
    if (before == 0) {
        print_message("this host, or a sanitizer, does not let memory be locked\n");
        skip();
    }
    more = mmap(NULL, MORE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (more == MAP_FAILED) { /* it would be locked, and no more may be */
        assert_int_equal(errno, EAGAIN);
        return;
    }
    assert_true(locked_kb() - before >= MORE_BYTES / 1024);
    munmap(more, MORE_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_to_come_is_locked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
