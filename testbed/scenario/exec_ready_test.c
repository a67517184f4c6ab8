/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/base/err.h"
#include "testbed/scenario/exec_ready.h"

static void test_kinds(void **state)
{
    struct exec_ready r;

    (void)state;
    assert_int_equal(exec_ready_parse(&r, "none"), 0);
    assert_int_equal(r.kind, EXEC_READY_NONE);
    assert_int_equal(exec_ready_parse(&r, "tcp:5201"), 0);
    assert_int_equal(r.kind, EXEC_READY_TCP);
    assert_int_equal(r.port, 5201);
    assert_int_equal(exec_ready_parse(&r, "udp:65535"), 0);
    assert_int_equal(r.kind, EXEC_READY_UDP);
    assert_int_equal(r.port, 65535);
    assert_int_equal(exec_ready_parse(&r, "line:listening: on 1"), 0);
    assert_int_equal(r.kind, EXEC_READY_LINE);
    assert_string_equal(r.line, "listening: on 1");
}

static void test_refused(void **state)
{
    static const char *const bad[] = {"",          "tcp",        "tcp:",      "tcp:0",
                                      "tcp:65536", "tcp:123456", "udp:-1",    "udp: 5",
                                      "udp:5x",    "line:",      "sctp:5000", "None"};
    struct exec_ready r;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(exec_ready_parse(&r, bad[i]), ERR_CONFIG);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kinds),
                                       cmocka_unit_test(test_refused)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
