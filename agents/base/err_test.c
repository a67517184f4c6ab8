/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/base/err.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static const int codes[] = {
    ERR_MALFORMED, ERR_SPACE,  ERR_AGAIN, ERR_NOMEM, ERR_CONFIG,
    ERR_PROTOCOL,  ERR_CRYPTO, ERR_OS,    ERR_LIMIT, ERR_HOST,
};

#define CODES (sizeof codes / sizeof codes[0])

static void every_code_has_a_text_of_its_own(void **state)
{
    (void)state;
    for (size_t i = 0; i < CODES; i++) {
        const char *text = err_text(codes[i]);
        assert_true(codes[i] < 0);
        assert_true(*text && islower((unsigned char)*text));
        assert_string_not_equal(text, err_text(-99999));
        assert_string_not_equal(text, err_text(0));
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(text, err_text(codes[j]));
        }
    }
}

static void unknown_codes_have_one_too(void **state)
{
    (void)state;
    assert_string_equal(err_text(ERR_FATAL), err_text(77));
}

static void only_codes_below_the_line_are_fatal(void **state)
{
    (void)state;
    assert_false(err_is_fatal(0));
    assert_false(err_is_fatal(5));
    for (size_t i = 0; i < CODES; i++) {
        assert_true(!err_is_fatal(codes[i]) == (codes[i] >= ERR_AGAIN));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_has_a_text_of_its_own),
        cmocka_unit_test(unknown_codes_have_one_too),
        cmocka_unit_test(only_codes_below_the_line_are_fatal),
    };

    return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
