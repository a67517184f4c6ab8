/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/base/text_reader.h"

#include "agents/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static char message[64];

static struct text_reader reader(const char *text)
{
    return text_reader_init(text, strlen(text), message, sizeof message);
}

static void test_lines_that_say_something(void **state)
{
    struct text_reader r = reader("\n  # nothing\r\n\tone # more\n\n two\n#end");

    (void)state;
    assert_true(text_reader_next_line(&r, true));
    assert_memory_equal(r.pos, "one", 3);
    assert_int_equal(r.line_number, 3);
    r.pos += 3;
    assert_false(text_reader_at_line_end(&r));
    text_reader_skip_blanks(&r);
    assert_true(text_reader_at_line_end(&r));
    assert_true(text_reader_next_line(&r, false));
    assert_memory_equal(r.pos, "two", 3);
    assert_int_equal(r.line_number, 5);
    assert_false(text_reader_next_line(&r, false));
    assert_ptr_equal(r.pos, r.end);
}

static void test_no_text(void **state)
{
    struct text_reader r = text_reader_init(NULL, 0, message, sizeof message);

    (void)state;
    assert_true(text_reader_at_line_end(&r));
    assert_false(text_reader_next_line(&r, true));
}

static void test_refusals(void **state)
{
    struct text_reader r = reader("a\n  bc\n");

    (void)state;
    assert_true(text_reader_next_line(&r, true));
    assert_true(text_reader_next_line(&r, false));
    assert_int_equal(text_reader_refuse(&r, r.pos + 1, "expected %d", 7), ERR_MALFORMED);
    assert_string_equal(message, "2:4: expected 7");
    r.message_len = 4; /* cut, never beyond */
    memset(message, 'x', sizeof message);
    assert_int_equal(text_reader_refuse(&r, r.pos, "%s", "long"), ERR_MALFORMED);
    assert_string_equal(message, "2:3");
    assert_int_equal(message[4], 'x');
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lines_that_say_something),
                                       cmocka_unit_test(test_no_text),
                                       cmocka_unit_test(test_refusals)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
