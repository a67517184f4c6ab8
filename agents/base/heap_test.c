/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/base/heap.h"

#include "agents/base/prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define ITEMS 5000

struct item {
    ns_t time;
    int order;
};

static void empty(void **state)
{
    struct heap h;

    (void)state;
    heap_init(&h);
    assert_true(heap_next_time(&h) == NS_NEVER);
    assert_null(heap_pop(&h));
    heap_fini(&h);
}

static void equal_times_leave_in_the_order_they_came(void **state)
{
    static int items[ITEMS];
    struct heap h;

    (void)state;
    heap_init(&h);
    for (int i = 0; i < ITEMS; i++) {
        assert_int_equal(heap_push(&h, 42, &items[i]), 0);
    }
    for (int i = 0; i < ITEMS; i++) {
        assert_ptr_equal(heap_pop(&h), &items[i]);
    }
    heap_fini(&h);
}

/* Few distinct times, so that most comparisons are decided by the second key. */
static void any_mixture_leaves_sorted(void **state)
{
    static struct item items[ITEMS];
    struct prng r;
    struct heap h;

    (void)state;
    prng_init(&r, 1, "heap");
    heap_init(&h);
    for (int i = 0; i < ITEMS; i++) {
        items[i] = (struct item){.time = prng_u32(&r) % 50, .order = i};
        assert_int_equal(heap_push(&h, items[i].time, &items[i]), 0);
    }
    for (const struct item *last = NULL, *x; h.len; last = x) {
        ns_t time = heap_next_time(&h);
        x = heap_pop(&h);
        assert_int_equal(x->time, time);
        assert_true(!last || last->time < x->time ||
                    (last->time == x->time && last->order < x->order));
    }
    heap_fini(&h);
}

/* As a simulator uses it: each pop pushes something later. Against a plain search for the least. */
static void pushing_while_popping(void **state)
{
    static struct item items[64];
    struct prng r;
    struct heap h;
    int order = 0;

    (void)state;
    prng_init(&r, 2, "heap");
    heap_init(&h);
    for (int i = 0; i < 64; i++) {
        items[i] = (struct item){.time = prng_u32(&r) % 10, .order = order++};
        assert_int_equal(heap_push(&h, items[i].time, &items[i]), 0);
    }
    for (int n = 0; n < 20000; n++) {
        struct item *x = heap_pop(&h);

        for (int i = 0; i < 64; i++) {
            assert_true(x->time < items[i].time ||
                        (x->time == items[i].time && x->order <= items[i].order));
        }
        *x = (struct item){.time = x->time + prng_u32(&r) % 4, .order = order++};
        assert_int_equal(heap_push(&h, x->time, x), 0);
    }
    heap_fini(&h);
}

static void never_comes_last(void **state)
{
    int a, b;
    struct heap h;

    (void)state;
    heap_init(&h);
    assert_int_equal(heap_push(&h, NS_NEVER, &a), 0);
    assert_int_equal(heap_push(&h, -5, &b), 0);
    assert_int_equal(heap_next_time(&h), -5);
    assert_ptr_equal(heap_pop(&h), &b);
    assert_ptr_equal(heap_pop(&h), &a);
    heap_fini(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty),
        cmocka_unit_test(equal_times_leave_in_the_order_they_came),
        cmocka_unit_test(any_mixture_leaves_sorted),
        cmocka_unit_test(pushing_while_popping),
        cmocka_unit_test(never_comes_last),
    };

    return cmocka_run_group_tests_name("heap", tests, NULL, NULL);
}
