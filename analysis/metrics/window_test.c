/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/metrics/window.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HEADER "time_ns,channel,event,bytes,digest,intact\n"
#define S NS_PER_S

/* Windows of a run of so many seconds; times in seconds, negative: that event is missing. */
static struct windows make(int64_t duration, int64_t start, int64_t end, int64_t stop)
{
    struct run_data d = {.info = {.duration = duration * S, .data_stop = stop * S}};
    struct windows w;
    struct fault f;
    char text[200];

    if (start >= 0) {
        snprintf(text, sizeof text, HEADER "%lld,0,0,,,\n", (long long)(start * S));
        assert_int_equal(table_parse(&d.tables[RUN_SENDER][RECORD_FILE], RECORD_FILE, "s",
                                     (const uint8_t *)text, strlen(text), &f),
                         0);
    }
    if (end >= 0) { /* its first byte came at 1 s */
        snprintf(text, sizeof text, HEADER "1000000000,0,0,,,\n%lld,0,1,9,,1\n",
                 (long long)(end * S));
        assert_int_equal(table_parse(&d.tables[RUN_RECEIVER][RECORD_FILE], RECORD_FILE, "r",
                                     (const uint8_t *)text, strlen(text), &f),
                         0);
    }
    windows_init(&w, &d);
    table_fini(&d.tables[RUN_SENDER][RECORD_FILE]);
    table_fini(&d.tables[RUN_RECEIVER][RECORD_FILE]);
    return w;
}

static void is(const struct windows *w, enum window_id id, int64_t start, int64_t end)
{
    assert_true(w->at[id].exists);
    assert_int_equal(w->at[id].start, start * S);
    assert_int_equal(w->at[id].end, end * S);
}

static void test_file(void **state)
{
    struct windows w = make(90, 30, 60, 0);

    (void)state;
    is(&w, WINDOW_WHOLE, 0, 90);
    is(&w, WINDOW_BEFORE, 0, 30);
    is(&w, WINDOW_DURING, 30, 60);
    is(&w, WINDOW_AFTER, 60, 90);
}

static void test_no_transfer(void **state)
{
    struct windows w = make(90, -1, -1, 0);

    (void)state;
    is(&w, WINDOW_WHOLE, 0, 90);
    assert_false(w.at[WINDOW_BEFORE].exists || w.at[WINDOW_DURING].exists ||
                 w.at[WINDOW_AFTER].exists);
}

static void test_unfinished_or_endless(void **state)
{
    struct windows w = make(90, 0, -1, 0);

    (void)state;
    is(&w, WINDOW_DURING, 0, 90);
    assert_false(w.at[WINDOW_BEFORE].exists || w.at[WINDOW_AFTER].exists);
    w = make(90, 30, -1, 50); /* endless, stopped at 50 s */
    is(&w, WINDOW_DURING, 30, 50);
    is(&w, WINDOW_AFTER, 50, 90);
}

static void test_starts_after_the_end(void **state)
{
    struct windows w = make(20, 30, -1, 0);

    (void)state;
    is(&w, WINDOW_WHOLE, 0, 20);
    assert_false(w.at[WINDOW_DURING].exists);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_no_transfer),
        cmocka_unit_test(test_unfinished_or_endless),
        cmocka_unit_test(test_starts_after_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
