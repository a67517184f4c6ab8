/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/cc/pushback.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define MBIT INT64_C(1000000)
#define MS NS_PER_MS

static struct pushback p;

static int setup(void **state)
{
    (void)state;
    pushback_init(&p, PUSHBACK_QUEUE);
    return 0;
}

static void without_feedback_nothing_is_held_back(void **state)
{
    (void)state;
    pushback_target(&p, MBIT);
    for (int i = 0; i < 100; i++) {
        pushback_in_flight(&p, 10 * MBIT);
    }
    assert_int_equal(pushback_skip(&p, MBIT, 100000), 0);
}

/* The least of the round trips plus 350 ms, at the target. */
static void the_window_is_what_the_target_puts_into_the_path(void **state)
{
    (void)state;
    pushback_feedback(&p, 50 * MS, 4 * MBIT);
    assert_int_equal(p.window_bytes, 200000);
    for (int i = 0; i < 20; i++) {
        pushback_feedback(&p, 400 * MS, 4 * MBIT);
    }
    assert_in_range(p.window_bytes, 199990, 200000);
    for (int i = 0; i < 20; i++) {
        pushback_target(&p, 2 * MBIT);
    }
    assert_in_range(p.window_bytes, 100000, 100010);
    for (int i = 0; i < 60; i++) { /* the short one is forgotten */
        pushback_feedback(&p, 400 * MS, 2 * MBIT);
    }
    assert_in_range(p.window_bytes, 187490, 187510);
}

static void a_full_window_skips_up_to_every_second_frame(void **state)
{
    (void)state;
    pushback_feedback(&p, 50 * MS, 4 * MBIT);
    pushback_in_flight(&p, 199000);
    assert_int_equal(pushback_skip(&p, 4 * MBIT, 400000), 0);
    pushback_in_flight(&p, 201000); /* 5 % less is one frame in 20 */
    assert_in_range(pushback_skip(&p, 4 * MBIT, 400000), 19, 20);
    for (int i = 0; i < 30; i++) {
        pushback_in_flight(&p, 310000);
    }
    assert_int_equal(pushback_skip(&p, 4 * MBIT, 400000), 2);
    assert_int_equal(pushback_skip(&p, 400000, 400000), 0); /* the least is always made */
    pushback_in_flight(&p, 19000);                          /* drained: over at once */
    assert_int_equal(pushback_skip(&p, 4 * MBIT, 400000), 0);
}

static void it_gives_way_step_by_step(void **state)
{
    int64_t before = 0, after;

    (void)state;
    pushback_feedback(&p, 50 * MS, 4 * MBIT);
    for (int i = 0; i < 6; i++) {
        pushback_in_flight(&p, 250000);
    }
    for (int i = 0; i < 8; i++) {
        after = pushback_skip(&p, 4 * MBIT, 400000);
        assert_true(after == 0 || after >= before);
        before = after;
        pushback_in_flight(&p, 100000);
    }
    assert_int_equal(pushback_skip(&p, 4 * MBIT, 400000), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(without_feedback_nothing_is_held_back, setup),
        cmocka_unit_test_setup(the_window_is_what_the_target_puts_into_the_path, setup),
        cmocka_unit_test_setup(a_full_window_skips_up_to_every_second_frame, setup),
        cmocka_unit_test_setup(it_gives_way_step_by_step, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
