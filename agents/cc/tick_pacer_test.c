/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/cc/tick_pacer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define MS NS_PER_MS
#define MBIT INT64_C(1000000)
#define BYTES 1250

/* Sends whenever it may, for a time; returns the packets and the longest run without a pause. */
static int saturate(struct tick_pacer *p, ns_t from, ns_t until, int *longest)
{
    int sent = 0, run = 0;
    ns_t now = from;

    *longest = 0;
    while (now < until) {
        for (run = 0; tick_pacer_allows(p, now); run++) {
            tick_pacer_sent(p, BYTES, now);
            sent++;
        }
        *longest = run > *longest ? run : *longest;
        assert_true(tick_pacer_next(p) > now);
        now = tick_pacer_next(p);
        assert_true(tick_pacer_allows(p, now)); /* never woken for nothing */
    }
    return sent;
}

static void test_rate(void **state)
{
    static const bps_t rates[] = {400000, 1234567, 5 * MBIT, 10 * MBIT, 97 * MBIT};
    struct tick_pacer p;
    int longest;

    (void)state;
    for (int i = 0; i < 5; i++) {
        tick_pacer_init(&p, BYTES, 0);
        tick_pacer_set_rate(&p, rates[i], 0);
        saturate(&p, 0, NS_PER_S, &longest);
        int sent = saturate(&p, NS_PER_S, 11 * NS_PER_S, &longest);
        /* within a burst of what the rate gives in 10 s; two ticks' worth at once at most */
        assert_in_range(sent, rates[i] / 1000 - 2 - rates[i] / MBIT, rates[i] / 1000 + 2);
        assert_true(longest * BYTES * 8 <= 24000 || longest * BYTES * 8 <= 2 * rates[i] / 200);
    }
}

/* After 5 ms without a departure the next one waits for nothing but tokens. */
static void test_tick(void **state)
{
    struct tick_pacer p;

    (void)state;
    tick_pacer_init(&p, BYTES, 0);
    tick_pacer_set_rate(&p, 5 * MBIT, 0); /* 25,000 bit a tick, burst 50,000 */
    assert_true(tick_pacer_allows(&p, 0));
    tick_pacer_sent(&p, BYTES, 0);
    assert_int_equal(tick_pacer_next(&p), 5 * MS);
    assert_true(tick_pacer_allows(&p, MS)); /* who comes earlier may send, too */
    for (int i = 0; i < 4; i++) {
        tick_pacer_sent(&p, BYTES, MS);
    }
    assert_false(tick_pacer_allows(&p, MS)); /* 5,000 bits left of 10,000 */
    assert_int_equal(tick_pacer_next(&p), 6 * MS);
}

/* Whole datagrams are waited for, however slow. */
static void test_slow(void **state)
{
    struct tick_pacer p;

    (void)state;
    tick_pacer_init(&p, BYTES, 0);
    tick_pacer_set_rate(&p, 100000, 0);
    tick_pacer_sent(&p, BYTES, 0);
    tick_pacer_sent(&p, BYTES, 0);
    assert_int_equal(tick_pacer_next(&p), 60 * MS); /* 4,000 bits are left */
    tick_pacer_sent(&p, BYTES, 0);                  /* an acknowledgement: takes nothing */
    assert_int_equal(tick_pacer_next(&p), 60 * MS);
    assert_false(tick_pacer_allows(&p, 60 * MS - 1));
    assert_true(tick_pacer_allows(&p, 60 * MS));
}

/* The prototype's first rate and burst hold until it hears of another. */
static void test_start(void **state)
{
    struct tick_pacer p;
    int sent = 0;

    (void)state;
    tick_pacer_init(&p, 1280, 0);
    for (; tick_pacer_allows(&p, 0); sent++) {
        tick_pacer_sent(&p, 1280, 0);
    }
    assert_int_equal(sent, 10);
    assert_int_equal(tick_pacer_next(&p), (10240 * NS_PER_S + 749999) / 750000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rate), cmocka_unit_test(test_tick),
                                       cmocka_unit_test(test_slow), cmocka_unit_test(test_start)};

    return cmocka_run_group_tests_name("tick pacer", tests, NULL, NULL);
}
