/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/scenario/rate_trace.h"

#include "agents/base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

#define S NS_PER_S
#define MS NS_PER_MS

#define DEFAULT_FORM ((struct rate_trace_form){RATE_TRACE_STEP_DEFAULT, false})

static struct rate_trace *parse(const char *text, ns_t step)
{
    struct rate_trace *t;
    char message[200] = "";

    if (rate_trace_parse(&t, text, strlen(text), (struct rate_trace_form){step, false}, message,
                         sizeof message)) {
        fail_msg("%s", message);
    }
    return t;
}

static void expect(const struct rate_trace *t, const struct rate_step *steps, size_t n, ns_t period)
{
    assert_int_equal(t->schedule.count, n);
    assert_int_equal(t->schedule.period, period);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(t->schedule.steps[i].at, steps[i].at);
        assert_int_equal(t->schedule.steps[i].rate, steps[i].rate);
    }
}

static void steps_by_time(void **state)
{
    static const struct rate_step want[] = {
        {0, 5000000}, {30 * S + 500 * MS, 1000000}, {60 * S, 10000}, {86400 * S, 10000000000}};
    struct rate_trace *t = parse("# a comment\r\n\r\n time_s,rate_bps # and one\r\n0 , 5000000\r\n"
                                 "10.,5000000\n30.500000000,1000000\n  60,10000#\n\n"
                                 "86400,10000000000",
                                 RATE_TRACE_STEP_DEFAULT);

    (void)state;
    assert_false(t->opportunities);
    expect(t, want, 4, 0);
    rate_trace_free(t);
}

/* Two packets up to 100 ms (that one included), one up to 200, none up to 300, five up to 400. */
static void opportunities_in_steps(void **state)
{
    static const struct rate_step want[] = {
        {0, 2 * 121120}, {100 * MS, 121120}, {200 * MS, 10000}, {300 * MS, 5 * 121120}};
    struct rate_trace *t =
        parse("0\n100\n101\n301\n350\n350\n 350 \n400\n", RATE_TRACE_STEP_DEFAULT);

    (void)state;
    assert_true(t->opportunities);
    expect(t, want, 4, 400 * MS);
    rate_trace_free(t);
}

/* 12 Mbit/s of IP in mahimahi's words, and a trace whose end is no whole step. */
static void lengths_of_opportunities(void **state)
{
    static const struct rate_step constant[] = {{0, 12112000}};
    static const struct rate_step joined[] = {{0, 121120}, {100 * MS, 2 * 12112 * 1000 / 149}};
    static const struct rate_step rest[] = {{0, 121120}, {100 * MS, 121120 * 10 / 6}};
    struct rate_trace *t = parse("1", RATE_TRACE_STEP_DEFAULT);

    (void)state;
    expect(t, constant, 1, 0);
    rate_trace_free(t);
    t = parse("50\n150\n249", RATE_TRACE_STEP_DEFAULT);
    expect(t, joined, 2, 249 * MS);
    rate_trace_free(t);
    t = parse("50\n160", RATE_TRACE_STEP_DEFAULT);
    expect(t, rest, 2, 160 * MS);
    rate_trace_free(t);
}

/* What may pause has 0 where a link has 10 kbit/s. */
static void pauses(void **state)
{
    static const struct rate_trace_form form = {RATE_TRACE_STEP_DEFAULT, true};
    static const struct rate_step steps[] = {{0, 0}, {1 * S, 10000}, {2 * S, 0}};
    static const struct rate_step counts[] = {{0, 121120}, {100 * MS, 0}, {200 * MS, 121120}};
    struct rate_trace *t;
    char message[200] = "", csv[] = "time_s,rate_bps\n0,0\n1,10000\n2,0 # for good\n";

    (void)state;
    assert_int_equal(rate_trace_parse(&t, csv, strlen(csv), form, message, sizeof message), 0);
    expect(t, steps, 3, 0);
    rate_trace_free(t);
    assert_int_equal(rate_trace_parse(&t, "100\n300\n", 8, form, message, sizeof message), 0);
    expect(t, counts, 3, 300 * MS);
    rate_trace_free(t);
    csv[strlen("time_s,rate_bps\n0,0\n1,1")] = '\n';
    assert_int_equal(rate_trace_parse(&t, csv, strlen(csv), form, message, sizeof message),
                     ERR_MALFORMED);
    assert_string_equal(message, "3:3: expected a rate in bit/s or 0 for a pause; allowed: 10000 "
                                 "to 10000000000");
}

static void refusals_have_a_place(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "1:1: the file is empty"},
        {"# nothing\n\n", "3:1: the file is empty"},
        {"rate\n", "1:1: expected a time in ms or the header"},
        {"time_s,rate_bps,more\n", "1:16: expected the end of the line"},
        {"time_s,rate_bps\n", "2:1: there is no step"},
        {"time_s,rate_bps\n1,5000000\n", "2:1: the first time is not 0"},
        {"time_s,rate_bps\n0,5000000\n0.009,1000000\n", "3:1: the time is not 10 ms after"},
        {"time_s,rate_bps\n0,5000000\n1.000000001,1000000\n1.01,5000000\n",
         "4:1: the time is not 10 ms after the one before; allowed: 1.011 or later"},
        {"time_s,rate_bps\n0,5000000\n-1,1000000\n", "3:1: expected a time in seconds"},
        {"time_s,rate_bps\n0,5000000\n86401,1000000\n", "3:1: expected a time in seconds"},
        {"time_s,rate_bps\n0,5000000\n86400.1,1000000\n", "3:1: the time is too late"},
        {"time_s,rate_bps\n0,5000000\n1.1234567890,1000000\n", "3:12: expected a comma"},
        {"time_s,rate_bps\n0 5000000\n", "2:3: expected a comma"},
        {"time_s,rate_bps\n0", "2:2: expected a comma"},
        {"time_s,rate_bps\n0, 9999\n",
         "2:4: expected a rate in bit/s; allowed: 10000 to 10000000000"},
        {"time_s,rate_bps\n0,0\n", "2:3: expected a rate in bit/s; allowed: 10000 to"},
        {"time_s,rate_bps\n0,10000000001\n", "2:3: expected a rate in bit/s; allowed: 10000 to"},
        {"time_s,rate_bps\n0,5000000.5\n", "2:10: expected the end of the line"},
        {"5\n4\n", "2:1: the time is before the one above; allowed: 5 or later"},
        {"0\n0\n", "3:1: the trace has no length"},
        {"1 2\n", "1:3: expected the end of the line"},
        {"1\nx\n", "2:1: expected a time in ms"},
        {"86400001\n", "1:1: expected a time in ms; allowed: 0 to 86400000"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rate_trace *t;
        char message[200] = "";

        assert_int_equal(rate_trace_parse(&t, cases[i].text, strlen(cases[i].text), DEFAULT_FORM,
                                          message, sizeof message),
                         ERR_MALFORMED);
        assert_null(t);
        if (strncmp(message, cases[i].message, strlen(cases[i].message)) != 0) {
            fail_msg("\"%s\" instead of \"%s\"", message, cases[i].message);
        }
    }
}

static void too_much_is_refused(void **state)
{
    enum { PACKETS = 9000 }; /* in 10 ms: 10.9 Gbit/s */
    char *text = calloc(1, 3 * PACKETS + 1), message[200];
    struct rate_trace *t;

    (void)state;
    for (int i = 0; i < PACKETS; i++) {
        strcpy(text + 3 * i, "10\n");
    }
    assert_int_equal(rate_trace_parse(&t, text, 3 * PACKETS,
                                      ((struct rate_trace_form){RATE_TRACE_STEP_MIN, false}),
                                      message, sizeof message),
                     ERR_MALFORMED);
    assert_non_null(strstr(message, "more opportunities than 10 Gbit/s in the step from 0 ms"));
    assert_int_equal(rate_trace_parse(&t, "86400000", 8,
                                      ((struct rate_trace_form){RATE_TRACE_STEP_MIN, false}),
                                      message, sizeof message),
                     ERR_MALFORMED);
    assert_non_null(strstr(message, "1:1: the trace is longer than 1000000 steps"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_by_time),
        cmocka_unit_test(opportunities_in_steps),
        cmocka_unit_test(lengths_of_opportunities),
        cmocka_unit_test(pauses),
        cmocka_unit_test(refusals_have_a_place),
        cmocka_unit_test(too_much_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
