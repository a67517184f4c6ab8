/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A shaper of 5 Mbit/s by hand: packets come at a rate, leave at another, and somebody looks. */
#include "testbed/certificate/rate_watch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define RATE 5000000
#define PACKET 1514
#define LIMIT_BYTES 187500 /* 300 ms */
#define STEP (NS_PER_MS / 10)
#define LOOK_TAKES (50 * NS_PER_US)

struct shaper {
    double tokens, arriving; /* bytes */
    int64_t backlog;
    uint64_t out;
    ns_t now, next_look;
};

/* Until a time: load is what comes, given what it gives, both as parts of the rate. */
static void go(struct shaper *s, struct rate_watch *w, ns_t until, double load, double given)
{
    for (; s->now < until; s->now += STEP) {
        double bytes = RATE / 8.0 * ns_to_s(STEP);

        for (s->arriving += load * bytes; s->arriving >= PACKET; s->arriving -= PACKET) {
            s->backlog += s->backlog + PACKET <= LIMIT_BYTES ? PACKET : 0;
        }
        s->tokens = s->tokens + given * bytes < 1600 ? s->tokens + given * bytes : 1600;
        while (s->backlog && s->tokens >= PACKET) {
            s->tokens -= PACKET;
            s->backlog -= PACKET;
            s->out += PACKET;
        }
        if (s->now >= s->next_look) {
            rate_watch_look(w, RATE,
                            &(struct rate_watch_look){.before = s->now - LOOK_TAKES,
                                                      .after = s->now + LOOK_TAKES,
                                                      .out_bytes = s->out,
                                                      .backlog_bytes = s->backlog});
            s->next_look = s->now + RATE_WATCH_EVERY;
        }
    }
}

static void test_a_shaper_that_gives_its_rate(void **state)
{
    struct shaper s = {0};
    struct rate_watch w = {0};

    (void)state;
    go(&s, &w, 20 * NS_PER_S, 1.3, 1);
    assert_true(w.judged > 18 * NS_PER_S);
    assert_true(w.shorts == 0 && w.stalls == 0);
    assert_true(w.least_ratio > 0.995);
    go(&s, &w, 40 * NS_PER_S, 1.3, 0.987); /* less than is looked for */
    assert_true(w.shorts == 0 && w.stalls == 0);
}

/* At every load, also where the queue empties all the time. */
static void test_no_false_alarm_at_any_load(void **state)
{
    (void)state;
    for (double load = 0.05; load < 2; load += 0.05) {
        struct shaper s = {0};
        struct rate_watch w = {0};

        go(&s, &w, 10 * NS_PER_S, load, 1);
        assert_true(w.shorts == 0 && w.stalls == 0);
    }
}

static void test_a_shaper_that_is_slow(void **state)
{
    struct shaper s = {0};
    struct rate_watch w = {0};

    (void)state;
    go(&s, &w, 5 * NS_PER_S, 1.3, 1);
    go(&s, &w, 10 * NS_PER_S, 1.3, 0.96);
    assert_in_range(w.shorts, 4, 6);
    assert_true(w.least_ratio > 0.95 && w.least_ratio < 0.97);
}

/* With a queue that is mostly empty as well: what comes meanwhile waits. */
static void test_a_shaper_that_stands_still(void **state)
{
    static const double loads[] = {0.6, 0.9, 1.3};

    (void)state;
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
        struct shaper s = {0};
        struct rate_watch w = {0};

        go(&s, &w, 3 * NS_PER_S, loads[i], 1);
        go(&s, &w, s.now + 120 * NS_PER_MS, loads[i], 0);
        go(&s, &w, 8 * NS_PER_S, loads[i], 1);
        assert_int_equal(w.stalls, 1);
        assert_true(w.stall_max > 30 * NS_PER_MS && w.stall_max < 130 * NS_PER_MS);
        assert_int_equal(w.shorts, loads[i] > 1);
    }
}

/* Nothing of one rate is held against another, nor a shaper's counters against another's. */
static void test_a_break(void **state)
{
    struct shaper s = {0};
    struct rate_watch w = {0};

    (void)state;
    go(&s, &w, 5 * NS_PER_S, 1.3, 1);
    rate_watch_break(&w);
    s.next_look = s.now + 400 * NS_PER_MS;
    go(&s, &w, s.now + 300 * NS_PER_MS, 1.3, 0);
    go(&s, &w, 8 * NS_PER_S, 1.3, 1);
    assert_true(w.shorts == 0 && w.stalls == 0);
    s.out = 0;
    go(&s, &w, 9 * NS_PER_S, 1.3, 1);
    assert_true(w.shorts == 0 && w.stalls == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_shaper_that_gives_its_rate),
        cmocka_unit_test(test_no_false_alarm_at_any_load),
        cmocka_unit_test(test_a_shaper_that_is_slow),
        cmocka_unit_test(test_a_shaper_that_stands_still),
        cmocka_unit_test(test_a_break),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
