/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "testbed/link/packets.h"

#include "agents/base/prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <cmocka.h>

static void put(struct packets *p, int64_t number, ns_t due)
{
    assert_int_equal(packets_reserve(p, 1), 0);
    packets_put(p, (struct packets_entry){.packet = calloc(1, 1), .bytes = number, .due = due});
}

static int64_t take(struct packets *p)
{
    struct packets_entry e = packets_take(p);

    free(e.packet);
    return e.bytes;
}

static void the_earliest_first(void **state)
{
    struct packets p;

    (void)state;
    assert_int_equal(packets_init(&p), 0);
    put(&p, 0, 20);
    put(&p, 1, 10);
    put(&p, 2, 20);
    put(&p, 3, 10);
    put(&p, 4, 15);
    assert_int_equal(packets_count(&p), 5);
    assert_int_equal(packets_at(&p, 0)->bytes, 1);
    assert_int_equal(packets_at(&p, 4)->due, 20);
    assert_int_equal(take(&p), 1);
    assert_int_equal(take(&p), 3);
    assert_int_equal(take(&p), 4);
    assert_int_equal(take(&p), 0);
    assert_int_equal(take(&p), 2);
    assert_int_equal(packets_count(&p), 0);
    packets_fini(&p);
}

/* Room is made while the ring has wrapped; what is left inside is freed, copies too. */
static void room_is_made(void **state)
{
    int64_t next = 0, expected = 0;
    struct packets p;

    (void)state;
    assert_int_equal(packets_init(&p), 0);
    for (int round = 0; round < 300; round++) {
        for (int i = 0; i < 5; i++) {
            put(&p, next++, 7);
        }
        for (int i = 0; i < 3; i++) {
            assert_int_equal(take(&p), expected++);
        }
    }
    assert_int_equal(packets_reserve(&p, 5000), 0);
    assert_int_equal(packets_count(&p), 600);
    for (size_t i = 0; i < 600; i++) {
        assert_int_equal(packets_at(&p, i)->bytes, expected + (int64_t)i);
    }
    packets_put(&p, (struct packets_entry){.packet = calloc(1, 1), .copy = calloc(1, 1)});
    packets_fini(&p);
}

/* Random times against a plain search for the earliest, of equal times the first put in. */
static void against_a_search(void **state)
{
    enum { N = 2000 };
    static ns_t due[N];
    static bool inside[N];
    struct packets p;
    struct prng r;
    int put_in = 0;

    (void)state;
    prng_init(&r, 3, "packets");
    assert_int_equal(packets_init(&p), 0);
    while (put_in < N || packets_count(&p)) {
        if (put_in < N && prng_u32(&r) % 2) {
            due[put_in] = put_in / 4 + (ns_t)(prng_u32(&r) % 20);
            inside[put_in] = true;
            put(&p, put_in, due[put_in]);
            put_in++;
        } else if (packets_count(&p)) {
            int first = -1;

            for (int i = 0; i < put_in; i++) {
                if (inside[i] && (first < 0 || due[i] < due[first])) {
                    first = i;
                }
            }
            inside[first] = false;
            assert_int_equal(packets_at(&p, 0)->due, due[first]);
            assert_int_equal(take(&p), first);
        }
    }
    packets_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_earliest_first),
        cmocka_unit_test(room_is_made),
        cmocka_unit_test(against_a_search),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
