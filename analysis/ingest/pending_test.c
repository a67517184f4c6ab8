/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ingest/pending.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void add(struct pending *p, uint64_t key, ns_t since, int64_t value)
{
    int64_t *kept = pending_add(p, key, since, &value);

    assert_non_null(kept);
    assert_int_equal(*kept, value);
}

static void takes(struct pending *p, uint64_t key, int64_t wanted)
{
    int64_t value = -1;

    assert_true(pending_take(p, key, &value));
    assert_int_equal(value, wanted);
}

static void test_equal_keys_in_order(void **state)
{
    struct pending p;

    (void)state;
    pending_init(&p, sizeof(int64_t));
    add(&p, 7, 0, 1);
    add(&p, 8, 0, 2);
    add(&p, 7, 0, 3);
    add(&p, 7, 0, 4);
    assert_int_equal(*(int64_t *)pending_find(&p, 7), 1);
    takes(&p, 7, 1);
    takes(&p, 7, 3);
    takes(&p, 8, 2);
    takes(&p, 7, 4);
    assert_false(pending_take(&p, 7, NULL));
    assert_null(pending_find(&p, 8));
    assert_int_equal(p.count, 0);
    pending_fini(&p);
}

static void test_age(void **state)
{
    struct pending p;
    uint64_t key;

    (void)state;
    pending_init(&p, sizeof(int64_t));
    assert_null(pending_expired(&p, NS_NEVER, &key));
    add(&p, 5, 10, 1);
    add(&p, 6, 20, 2);
    add(&p, 5, 30, 3);
    assert_null(pending_expired(&p, 10, &key));
    assert_int_equal(*(int64_t *)pending_expired(&p, 11, &key), 1);
    takes(&p, key, 1);
    assert_null(pending_expired(&p, 20, &key));
    takes(&p, 6, 2); /* out of turn */
    assert_int_equal(*(int64_t *)pending_expired(&p, 31, &key), 3);
    assert_int_equal(key, 5);
    pending_fini(&p);
}

/* Many that come and go, and keys that share slots: against what a queue per key says. */
static void test_many(void **state)
{
    enum { KEYS = 512, ROUNDS = 200000 };
    static int64_t first[KEYS], next[KEYS]; /* values of a key count up */
    struct pending p;
    uint64_t random = 1;
    size_t waiting = 0, most = 0;

    (void)state;
    pending_init(&p, sizeof(int64_t));
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t at, key;

        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        at = random >> 40 & (KEYS - 1);
        key = at << 32;
        if (random >> 60 < 8) {
            add(&p, key, i, next[at]++);
            waiting++;
        } else if (first[at] < next[at]) {
            takes(&p, key, first[at]++);
            waiting--;
        } else {
            assert_null(pending_find(&p, key));
        }
        most = waiting > most ? waiting : most;
        assert_int_equal(p.count, waiting);
    }
    assert_true(most > 256); /* it has grown */
    pending_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_keys_in_order),
        cmocka_unit_test(test_age),
        cmocka_unit_test(test_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
