/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/base/addr.h"

#include "agents/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void texts_round_trip(void **state)
{
    static const char *const texts[] = {
        "192.0.2.1:5000",        "0.0.0.0:0", "255.255.255.255:65535",
        "[2001:db8::1]:5000",    "[::]:1",    "[2001:db8:1111:2222:3333:4444:5555:6666]:65535",
        "[::ffff:192.0.2.1]:80",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char text[ADDR_TEXT_MAX];
        struct addr a, b;

        assert_int_equal(addr_parse(&a, texts[i]), 0);
        assert_int_equal(a.family, *texts[i] == '[' ? 6 : 4);
        assert_string_equal(addr_print(&a, text), texts[i]);
        assert_int_equal(addr_parse(&b, text), 0);
        assert_true(addr_equal(&a, &b));
    }
}

static void fields_are_where_the_header_says(void **state)
{
    struct addr a;

    (void)state;
    assert_int_equal(addr_parse(&a, "192.0.2.1:5000"), 0);
    assert_memory_equal(a.ip, "\xc0\0\2\1", 4);
    assert_int_equal(a.port, 5000);
}

static void what_is_no_address_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        ":",
        ":5000",
        "192.0.2.1",
        "192.0.2.1:",
        "192.0.2.1:65536",
        "192.0.2.1:-1",
        "192.0.2.1:+1",
        "192.0.2.1: 1",
        "192.0.2.1:1x",
        "192.0.2.1:99999999999999999999999",
        "192.0.2:1",
        "192.0.2.256:1",
        "host:1",
        "2001:db8::1:5000",
        "[2001:db8::1]",
        "[2001:db8::1]5000",
        "[2001:db8::1:5000",
        "[]:1",
        "[:1",
        "[192.0.2.1]:1",
        "[2001:db8::1%eth0]:1",
        "1111111111111111111111111111111111111111111111111111111111111111111:1",
    };
    struct addr a = {.family = 9};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_equal(addr_parse(&a, texts[i]), ERR_MALFORMED);
        assert_int_equal(a.family, 9); /* left alone */
    }
}

static void equality(void **state)
{
    struct addr a, b;

    (void)state;
    assert_int_equal(addr_parse(&a, "192.0.2.1:5000"), 0);
    b = a;
    b.ip[7] = 1; /* no part of an IPv4 address */
    assert_true(addr_equal(&a, &b));
    b.port++;
    assert_false(addr_equal(&a, &b));
    b = a;
    b.ip[3]++;
    assert_false(addr_equal(&a, &b));
    b = a;
    b.family = 6;
    assert_false(addr_equal(&a, &b));
    assert_int_equal(addr_parse(&a, "[::1]:1"), 0);
    b = a;
    b.ip[15]++;
    assert_false(addr_equal(&a, &b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_round_trip),
        cmocka_unit_test(fields_are_where_the_header_says),
        cmocka_unit_test(what_is_no_address_is_refused),
        cmocka_unit_test(equality),
    };

    return cmocka_run_group_tests_name("addr", tests, NULL, NULL);
}
