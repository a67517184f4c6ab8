/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ingest/crossing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define WINDOW 100

static int sent(struct crossing *c, uint64_t digest, ns_t now, int64_t value, ns_t *received)
{
    struct crossing_arrival a = {NS_NEVER, 0};
    int rc = crossing_sent(c, digest, now, &value, &a);

    *received = a.received;
    return rc;
}

static int64_t arrived(struct crossing *c, uint64_t digest, ns_t now)
{
    int64_t value = -1;

    assert_in_range(crossing_arrived(c, digest, now, now, &value), 0, 1);
    return value;
}

/* 7 was sent twice and arrives once, 8 once and arrives twice, 9 is lost, 5 and 6 change places. */
static void test_equal_digests_pair_in_order(void **state)
{
    struct crossing c;
    ns_t received;
    int64_t value;

    (void)state;
    crossing_init(&c, sizeof(int64_t), WINDOW, false);
    for (int64_t i = 0; i < 6; i++) {
        static const uint64_t digests[] = {7, 5, 6, 7, 8, 9};

        assert_int_equal(sent(&c, digests[i], 0, i, &received), 0);
    }
    assert_int_equal(arrived(&c, 6, 1), 2);
    assert_int_equal(arrived(&c, 5, 2), 1);
    assert_int_equal(arrived(&c, 7, 3), 0);
    assert_int_equal(arrived(&c, 8, 4), 4);
    assert_int_equal(arrived(&c, 8, 5), -1);
    assert_true(crossing_lost(&c, NS_NEVER, &value));
    assert_int_equal(value, 3);
    assert_true(crossing_lost(&c, NS_NEVER, &value));
    assert_int_equal(value, 5);
    assert_false(crossing_lost(&c, NS_NEVER, &value));
    assert_int_equal(c.count, 6);
    assert_int_equal(c.arrived, 4);
    assert_int_equal(c.arrivals, 5);
    assert_int_equal(c.unsent, 1);
    crossing_fini(&c);
}

static void test_before_it_was_sent(void **state)
{
    struct crossing c;
    ns_t received;

    (void)state;
    crossing_init(&c, sizeof(int64_t), WINDOW, false);
    assert_int_equal(arrived(&c, 3, 40), -1);
    assert_int_equal(sent(&c, 3, 50, 1, &received), 1);
    assert_int_equal(received, 40);
    assert_int_equal(c.unsent, 0);
    crossing_fini(&c);
}

/* What takes longer than the window is lost, and unsent when it comes all the same. */
static void test_window(void **state)
{
    struct crossing c;
    ns_t received;
    int64_t value;

    (void)state;
    crossing_init(&c, sizeof(int64_t), WINDOW, false);
    sent(&c, 1, 0, 10, &received);
    sent(&c, 2, 50, 20, &received);
    assert_false(crossing_lost(&c, 100, &value));
    assert_true(crossing_lost(&c, 101, &value));
    assert_int_equal(value, 10);
    assert_false(crossing_lost(&c, 101, &value));
    assert_int_equal(arrived(&c, 2, 140), 20);
    assert_int_equal(arrived(&c, 1, 140), -1);
    assert_false(crossing_lost(&c, NS_NEVER, &value));
    assert_int_equal(c.arrived, 1);
    assert_int_equal(c.unsent, 1);
    crossing_fini(&c);
    crossing_init(&c, sizeof(int64_t), NS_NEVER, false); /* times do not tell */
    sent(&c, 1, 0, 10, &received);
    assert_false(crossing_lost(&c, NS_NEVER - 1, &value));
    assert_int_equal(arrived(&c, 1, NS_NEVER - 1), 10);
    crossing_fini(&c);
}

/* A copy is one only of what was sent: what nobody sent is no copy, however often it comes. */
static void test_copies(void **state)
{
    static const uint64_t arrivals[] = {3, 3, 3, 3, 0, 0, 1, 2, 2, 4, 4, 4};
    struct crossing c;
    ns_t received;
    int64_t value;

    (void)state;
    crossing_init(&c, sizeof(int64_t), WINDOW, true);
    for (uint64_t i = 0; i < 5; i++) {
        static const uint64_t digests[] = {1, 2, 3, 3, 9};

        sent(&c, digests[i], 0, (int64_t)i, &received);
    }
    for (size_t i = 0; i < sizeof arrivals / sizeof *arrivals; i++) {
        arrived(&c, arrivals[i], (ns_t)i);
    }
    while (crossing_lost(&c, 200, &value)) {
    }
    assert_int_equal(c.arrived, 4);
    assert_int_equal(c.unsent, 5); /* 0 twice, 4 three times */
    crossing_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_digests_pair_in_order),
        cmocka_unit_test(test_before_it_was_sent),
        cmocka_unit_test(test_window),
        cmocka_unit_test(test_copies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
