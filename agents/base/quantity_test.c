/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/base/quantity.h"
#include "agents/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void test_values(void **state)
{
    static const struct {
        enum quantity_kind kind;
        const char *text;
        int64_t value;
        const char *prints;
    } cases[] = {
        {QUANTITY_COUNT, "0", 0, "0"},
        {QUANTITY_COUNT, "9223372036854775807", INT64_MAX, "9223372036854775807"},
        {QUANTITY_COUNT, "-3", -3, NULL},
        {QUANTITY_TIME, "0s", 0, "0s"},
        {QUANTITY_TIME, "1ns", 1, "1ns"},
        {QUANTITY_TIME, "10ms", 10000000, "10ms"},
        {QUANTITY_TIME, "0.000000001s", 1, "1ns"},
        {QUANTITY_TIME, "1.5 s", 1500000000, "1500ms"},
        {QUANTITY_TIME, "2min", INT64_C(120000000000), "120s"},
        {QUANTITY_RATE, "5mbit", 5000000, "5mbit"},
        {QUANTITY_RATE, "2.5Mbit", 2500000, "2500kbit"},
        {QUANTITY_RATE, "1GBIT", 1000000000, "1gbit"},
        {QUANTITY_RATE, "0bit", 0, "0bit"},
        {QUANTITY_BYTES, "10MB", 10000000, "10MB"},
        {QUANTITY_BYTES, "64KiB", 65536, "64KiB"},
        {QUANTITY_BYTES, "64kB", 64000, "64kB"},
        {QUANTITY_BYTES, "1.5GiB", INT64_C(1610612736), "1536MiB"},
        {QUANTITY_RATIO, "0.5", 500000, "0.5"},
        {QUANTITY_RATIO, "50%", 500000, "0.5"},
        {QUANTITY_RATIO, "2.5", 2500000, "2.5"},
        {QUANTITY_RATIO, "1", 1000000, "1"},
        {QUANTITY_RATIO, "0.0001%", 1, "0.000001"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char message[160] = "", text[QUANTITY_TEXT_MAX];
        int64_t v = -77;

        assert_int_equal(
            quantity_parse(&v, cases[i].kind, false, cases[i].text, message, sizeof(message)), 0);
        assert_int_equal(v, cases[i].value);
        if (cases[i].prints)
            assert_string_equal(quantity_print(cases[i].kind, v, text), cases[i].prints);
    }
}

static void test_refused(void **state)
{
    static const struct {
        enum quantity_kind kind;
        const char *text, *message;
    } cases[] = {
        {QUANTITY_TIME, "",
         "\"\" is not a time; allowed is a number with one of the units ns, us, "
         "ms, s, min"},
        {QUANTITY_TIME, "10", "\"10\" has no unit; allowed for a time: ns, us, ms, s, min"},
        {QUANTITY_TIME, "10 ", "\"10 \": no unit \" \" for a time; allowed: ns, us, ms, s, min"},
        {QUANTITY_TIME, "0.5ns", "\"0.5ns\" is finer than 1 ns"},
        {QUANTITY_RATE, "5mb",
         "\"5mb\": no unit \"mb\" for a rate; allowed: bit, kbit, mbit, gbit"},
        {QUANTITY_RATE, "1e6bit",
         "\"1e6bit\": no unit \"e6bit\" for a rate; allowed: bit, kbit, mbit, gbit"},
        {QUANTITY_BYTES, "1kb",
         "\"1kb\": no unit \"kb\" for a size; allowed: B, kB, MB, GB, KiB, MiB, GiB"},
        {QUANTITY_COUNT, "1.5", "\"1.5\" is finer than a whole number"},
        {QUANTITY_COUNT, "ten", "\"ten\" is not a whole number"},
        {QUANTITY_COUNT, "9223372036854775808", "\"9223372036854775808\" is too large"},
        {QUANTITY_RATIO, "half",
         "\"half\" is not a ratio; allowed are numbers such as 0.5 and 50%"},
        {QUANTITY_RATIO, "5 of 10",
         "\"5 of 10\" is not a ratio; allowed are numbers such as 0.5 and 50%"},
        {QUANTITY_RATE, "9999999999999999999.99999999gbit",
         "\"9999999999999999999.99999999gbit\" is too large"},
        {QUANTITY_TIME, "0.0000000000000000000001s",
         "\"0.0000000000000000000001s\" has too many digits"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char message[160] = "";
        int64_t v = -77;

        assert_int_equal(
            quantity_parse(&v, cases[i].kind, false, cases[i].text, message, sizeof(message)),
            ERR_CONFIG);
        assert_string_equal(message, cases[i].message);
        assert_int_equal(v, -77);
    }
}

static void test_bare(void **state)
{
    char message[160];
    int64_t v;

    (void)state;
    assert_int_equal(quantity_parse(&v, QUANTITY_TIME, true, "250", message, sizeof(message)), 0);
    assert_int_equal(v, 250);
    assert_int_equal(quantity_parse(&v, QUANTITY_RATE, true, "2kbit", message, sizeof(message)), 0);
    assert_int_equal(v, 2000);
}

/* What is printed reads back to the same value, whatever the value. */
static void test_round_trip(void **state)
{
    static const enum quantity_kind all[] = {QUANTITY_COUNT, QUANTITY_TIME, QUANTITY_RATE,
                                             QUANTITY_BYTES, QUANTITY_RATIO};

    (void)state;
    for (size_t i = 0; i < COUNT(all); i++) {
        for (uint64_t v = 1; v < INT64_MAX / 3; v = v * 3 + 1) {
            char message[160], text[QUANTITY_TEXT_MAX];
            int64_t back = 0;

            quantity_print(all[i], (int64_t)v, text);
            assert_int_equal(quantity_parse(&back, all[i], false, text, message, sizeof(message)),
                             0);
            assert_int_equal(back, v);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_bare),
        cmocka_unit_test(test_round_trip),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
