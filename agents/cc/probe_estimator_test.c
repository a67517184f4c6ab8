/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/cc/probe_estimator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define MS NS_PER_MS

static struct probe_estimator e;

static int setup(void **state)
{
    static const struct cc_probe probe = {.id = 3, .rate = 8000000, .bytes = 10000, .packets = 5};

    (void)state;
    probe_estimator_init(&e);
    probe_estimator_expect(&e, &probe);
    return 0;
}

/* Packet i of 1000 bytes, sent every send_us and arriving every arrival_us. */
static bps_t add(int i, ns_t send_us, ns_t arrival_us)
{
    struct cc_packet p = {.sent = NS_PER_S + i * send_us * NS_PER_US,
                          .arrival = 7 * NS_PER_S + i * arrival_us * NS_PER_US,
                          .bytes = 1000,
                          .probe = 3};

    return probe_estimator_add(&e, &p);
}

static bps_t add_up_to(int n, ns_t send_us, ns_t arrival_us)
{
    bps_t rate = 0;

    for (int i = 0; i < n; i++) {
        rate = add(i, send_us, arrival_us);
    }
    return rate;
}

static void answers_once_80_per_cent_are_there(void **state)
{
    (void)state;
    assert_int_equal(add_up_to(7, 1000, 1000), 0);
    assert_int_equal(add(7, 1000, 1000), 8000000); /* 7000 bytes in 7 ms */
    assert_int_equal(add(8, 1000, 1000), 8000000);
}

static void is_the_lower_rate_when_they_nearly_agree(void **state)
{
    (void)state;
    assert_int_equal(add_up_to(9, 1000, 1100), 7272727); /* above 0.9 of the sending rate */
    setup(NULL);
    assert_int_equal(add_up_to(9, 1100, 1000), 7272727);
}

static void stays_below_a_capacity_it_has_found(void **state)
{
    (void)state;
    assert_int_equal(add_up_to(9, 1000, 2000), 3800000); /* 0.95 x 4 Mbit/s */
}

static void does_not_believe_the_impossible(void **state)
{
    (void)state;
    assert_int_equal(add_up_to(9, 1000, 499), 0); /* received more than twice as fast */
    setup(NULL);
    assert_int_equal(add_up_to(9, 1000, 0), 0);
    setup(NULL);
    assert_int_equal(add_up_to(9, 0, 1000), 0);
    setup(NULL);
    assert_int_equal(add_up_to(9, 1000, 126000), 0); /* over a second */
}

static void ignores_clusters_it_does_not_expect(void **state)
{
    struct cc_packet p = {.sent = 1, .arrival = 2, .bytes = 20000, .probe = 3 + PROBE_CLUSTERS};

    (void)state;
    for (int i = 0; i < 10; i++) {
        p.sent += MS;
        p.arrival += MS;
        assert_int_equal(probe_estimator_add(&e, &p), 0);
    }
    p.probe = CC_NO_PROBE;
    assert_int_equal(probe_estimator_add(&e, &p), 0);
    assert_int_equal(add_up_to(9, 1000, 1000), 8000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(answers_once_80_per_cent_are_there, setup),
        cmocka_unit_test_setup(is_the_lower_rate_when_they_nearly_agree, setup),
        cmocka_unit_test_setup(stays_below_a_capacity_it_has_found, setup),
        cmocka_unit_test_setup(does_not_believe_the_impossible, setup),
        cmocka_unit_test_setup(ignores_clusters_it_does_not_expect, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
