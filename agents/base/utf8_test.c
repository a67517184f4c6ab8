/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static void check(const char *in, const char *want)
{
    char text[32];

    snprintf(text, sizeof text, "%s", in);
    utf8_repair(text);
    assert_string_equal(text, want);
}

static void test_well_formed_stays(void **state)
{
    /* The first and the last of each length, and around the surrogates. */
    static const char *const texts[] = {"",
                                        "plain",
                                        "\x7f",
                                        "\xc2\x80",
                                        "\xdf\xbf",
                                        "\xe0\xa0\x80",
                                        "\xed\x9f\xbf",
                                        "\xee\x80\x80",
                                        "\xef\xbf\xbf",
                                        "\xf0\x90\x80\x80",
                                        "\xf4\x8f\xbf\xbf",
                                        "caf\xc3\xa9!"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        check(texts[i], texts[i]);
    }
}

static void test_the_rest_is_replaced(void **state)
{
    (void)state;
    check("caf\xe9", "caf?"); /* ISO 8859-1 */
    check("\xe9t\xe9", "?t?");
    check("\x80 \xbf", "? ?");
    check("\xc0\xaf \xe0\x9f\xbf", "?? ???"); /* longer than it needs to be */
    check("\xed\xa0\x80", "???");             /* a surrogate */
    check("\xf4\x90\x80\x80", "????");        /* beyond U+10FFFF */
    check("\xf5 \xff", "? ?");
    check("cut \xc3", "cut ?");
    check("cut \xe2\x82", "cut ??");
    check("cut \xf0\x9f\x98", "cut ???");
    check("\xe2\x82\xc3\xa9", "??\xc3\xa9"); /* what follows is not taken along */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_well_formed_stays),
        cmocka_unit_test(test_the_rest_is_replaced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
