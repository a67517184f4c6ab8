/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ingest/join.h"

#include "agents/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void make(struct join *j, const uint64_t *keys, size_t n)
{
    assert_int_equal(join_init(j, n), 0);
    for (size_t i = 0; i < n; i++) {
        j->entries[i] = (struct join_entry){keys[i], (uint32_t)i};
    }
    assert_int_equal(join_sort(j), 0);
}

static void test_equal_keys_pair_in_order(void **state)
{
    /* 7 was sent twice and arrives once, 8 once and arrives twice, 9 is lost, 5 and 6 change
     * places, and so do the copies of 4 for all one can see. */
    static const uint64_t sent[] = {7, 5, 6, 4, 7, 8, 9, 4};
    static const uint64_t received[] = {6, 5, 7, 4, 4, 8, 8};
    uint32_t to[8];
    struct join a, b;

    (void)state;
    make(&a, sent, 8);
    make(&b, received, 7);
    assert_int_equal(join_pair(&a, &b, to), 6);
    assert_int_equal(to[0], 2);
    assert_int_equal(to[1], 1);
    assert_int_equal(to[2], 0);
    assert_int_equal(to[3], 3);
    assert_int_equal(to[4], JOIN_NONE);
    assert_int_equal(to[5], 5);
    assert_int_equal(to[6], JOIN_NONE);
    assert_int_equal(to[7], 4);
    assert_int_equal(join_copies(&a, &b), 1);
    join_fini(&a);
    join_fini(&b);
}

/* A copy is one only of what was sent: what nobody sent is no copy, however often it comes. */
static void test_copies(void **state)
{
    static const uint64_t sent[] = {1, 2, 3, 3, 9};
    static const uint64_t received[] = {3, 3, 3, 3, 0, 0, 1, 2, 2, 4, 4, 4, UINT64_MAX};
    uint32_t to[5];
    struct join a, b;

    (void)state;
    make(&a, sent, 5);
    make(&b, received, 13);
    assert_int_equal(join_pair(&a, &b, to), 4);
    assert_int_equal(join_copies(&a, &b), 3);
    assert_int_equal(join_copies(&b, &b), 0);
    join_fini(&a);
    join_fini(&b);
}

static void test_find_gives_the_first(void **state)
{
    static const uint64_t keys[] = {UINT64_MAX, 3, 0, 3};
    struct join j;

    (void)state;
    make(&j, keys, 4);
    assert_int_equal(join_find(&j, 3), 1);
    assert_int_equal(join_find(&j, 0), 2);
    assert_int_equal(join_find(&j, UINT64_MAX), 0);
    assert_int_equal(join_find(&j, 2), JOIN_NONE);
    join_fini(&j);
}

static void test_nothing_to_join(void **state)
{
    static const uint64_t keys[] = {1};
    struct join a, none;
    uint32_t to[1];

    (void)state;
    make(&a, keys, 1);
    make(&none, keys, 0);
    assert_int_equal(join_pair(&a, &none, to), 0);
    assert_int_equal(to[0], JOIN_NONE);
    assert_int_equal(join_pair(&none, &a, to), 0);
    assert_int_equal(join_find(&none, 1), JOIN_NONE);
    assert_int_equal(join_copies(&a, &none), 0);
    assert_int_equal(join_copies(&none, &a), 0);
    join_fini(&a);
    join_fini(&none);
    assert_int_equal(join_init(&a, (size_t)UINT32_MAX + 1), ERR_LIMIT);
}

static int by_key_and_row(const void *pa, const void *pb)
{
    const struct join_entry *a = pa, *b = pb;

    if (a->key != b->key) {
        return a->key < b->key ? -1 : 1;
    }
    return a->row < b->row ? -1 : a->row > b->row;
}

/* Many entries take another way than few: what comes of it must be the same. Spread keys, keys that
 * differ in few digits, some that all are equal, and rows that do not come in order. */
static void test_many_are_ordered_as_few(void **state)
{
    enum { MANY = 5000 };
    struct join_entry *e = calloc(MANY, sizeof *e), *same = calloc(MANY, sizeof *same);

    (void)state;
    assert_true(e && same);
    for (int kind = 0; kind < 4; kind++) {
        uint64_t x = 1;

        for (size_t i = 0; i < MANY; i++) {
            x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
            e[i].key = kind == 0 ? x : kind == 1 ? x >> 60 << 33 : kind == 2 ? 7 : x >> 54;
            e[i].row = (uint32_t)(kind % 2 ? i : (i * 1001) % MANY);
        }
        memcpy(same, e, MANY * sizeof *e);
        qsort(same, MANY, sizeof *same, by_key_and_row);
        assert_int_equal(join_sort_entries(e, MANY), 0);
        for (size_t i = 0; i < MANY; i++) {
            assert_true(e[i].key == same[i].key && e[i].row == same[i].row);
        }
    }
    free(e);
    free(same);
}

/* Also where keys count up with gaps and with several rows each. */
static void test_find_in_numbers(void **state)
{
    static const uint64_t keys[] = {10, 11, 11, 13, 14, 20};
    struct join j;

    (void)state;
    make(&j, keys, 6);
    assert_int_equal(join_find(&j, 10), 0);
    assert_int_equal(join_find(&j, 11), 1);
    assert_int_equal(join_find(&j, 12), JOIN_NONE);
    assert_int_equal(join_find(&j, 13), 3);
    assert_int_equal(join_find(&j, 14), 4);
    assert_int_equal(join_find(&j, 20), 5);
    assert_int_equal(join_find(&j, 9), JOIN_NONE);
    assert_int_equal(join_find(&j, UINT64_MAX), JOIN_NONE);
    join_fini(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_keys_pair_in_order), cmocka_unit_test(test_copies),
        cmocka_unit_test(test_find_gives_the_first),     cmocka_unit_test(test_nothing_to_join),
        cmocka_unit_test(test_many_are_ordered_as_few),  cmocka_unit_test(test_find_in_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
