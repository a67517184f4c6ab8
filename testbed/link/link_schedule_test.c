/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Links whose rate changes in time, against what tbf does when it is changed in place. */
#include "testbed/link/link.h"

#include "agents/base/err.h"

#include <math.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdlib.h>
#include <cmocka.h>

#define MBIT INT64_C(1000000)
#define FULL 1514

static struct link *make(const struct rate_schedule *s, int64_t queue_bytes, ns_t queue_time)
{
    struct link *l = NULL;
    struct link_config cfg = {.schedule = s, .queue_bytes = queue_bytes, .queue_time = queue_time};

    assert_int_equal(link_new(&l, &cfg), 0);
    return l;
}

static void put(struct link *l, int64_t bytes, ns_t now)
{
    assert_int_equal(link_send(l, calloc(1, 1), bytes, now), 0);
}

/* Takes the next packet, which comes out then and no earlier. */
static void expect_out(struct link *l, ns_t at)
{
    void *p;

    assert_int_equal(link_next(l), at);
    assert_null(link_recv(l, at - 1));
    p = link_recv(l, at);
    assert_non_null(p);
    free(p);
}

/* 0.8 Mbit/s is 100 bytes per millisecond, its bucket 1600 bytes. */
static const struct rate_step up[] = {{0, 800000}, {10 * NS_PER_MS, 8 * MBIT}};
static const struct rate_schedule up_once = {up, 2, 0};

/* What waits when the rate changes leaves then, for the bucket is full; what is behind it leaves at
 * the new rate. */
static void a_step_up(void **state)
{
    struct link *l = make(&up_once, 100000, 0);

    (void)state;
    for (int i = 0; i < 4; i++) {
        put(l, 1500, 0);
    }
    assert_int_equal(link_backlog_bytes(l, 0), 4500);
    assert_int_equal(link_backlog_bytes(l, 10 * NS_PER_MS - 1), 4500); /* 14 ms at the old rate */
    assert_int_equal(link_backlog_bytes(l, 10 * NS_PER_MS), 3000);
    expect_out(l, 0);
    expect_out(l, 10 * NS_PER_MS);
    /* bucket of 1614 bytes, of which 114 are left: 1386 bytes at a byte per microsecond */
    expect_out(l, 11386 * NS_PER_US);
    expect_out(l, 12886 * NS_PER_US);
    assert_int_equal(link_next(l), NS_NEVER);
    link_free(l);
}

/* A packet that comes after the step, and one sent while the link is idle over several steps. */
static void steps_of_an_idle_link(void **state)
{
    static const struct rate_step steps[] = {
        {0, 8 * MBIT}, {NS_PER_MS, 80000}, {2 * NS_PER_MS, 800000}};
    static const struct rate_schedule s = {steps, 3, 4 * NS_PER_MS};
    struct link *l = make(&s, 100000, 0);
    ns_t late = 400 * NS_PER_S + 2 * NS_PER_MS; /* at 800000 bit/s, with a full bucket */

    (void)state;
    put(l, 1000, late);
    put(l, 1000, late);
    expect_out(l, late);
    expect_out(l, late + 2 * NS_PER_MS); /* by the next step, which comes before 4 ms are over */
    link_free(l);
}

/* The limit follows the rate, but nothing that waits is dropped for it. */
static void the_limit_follows(void **state)
{
    static const struct rate_step steps[] = {
        {0, 8 * MBIT}, {10 * NS_PER_MS, 800000}, {20 * NS_PER_MS, 8 * MBIT}};
    static const struct rate_schedule s = {steps, 3, 0};
    struct link *l = make(&s, 0, 20 * NS_PER_MS); /* 20000 bytes, 2000, 20000 */
    struct link_counters c;

    (void)state;
    for (int i = 0; i < 14; i++) {
        put(l, 1500, 9999 * NS_PER_US);
    }
    link_counters(l, &c);
    assert_int_equal(c.queue_drops, 0);
    assert_int_equal(link_backlog_bytes(l, 9999 * NS_PER_US), 13 * 1500);
    put(l, 100, 11 * NS_PER_MS);
    link_counters(l, &c);
    assert_int_equal(c.queue_drops, 1);
    assert_int_equal(link_backlog_bytes(l, 11 * NS_PER_MS), 12 * 1500);
    put(l, 1500, 20 * NS_PER_MS);
    link_counters(l, &c);
    assert_int_equal(c.queue_drops, 1);
    assert_int_equal(c.in_packets, 16);
    link_free(l);
}

/* Drives a link with more than it carries and returns how many bytes it let through by end. */
static double overload(struct link *l, ns_t gap, ns_t end)
{
    struct link_counters c;

    for (ns_t t = 0; t < end; t += gap) {
        for (void *p; (p = link_recv(l, t));) {
            free(p);
        }
        put(l, FULL, t);
    }
    for (void *p; (p = link_recv(l, end));) {
        free(p);
    }
    link_counters(l, &c);
    assert_true(c.in_packets >= c.out_packets + c.queue_drops);
    assert_true((int64_t)((c.in_packets - c.out_packets - c.queue_drops) * FULL) ==
                link_backlog_bytes(l, end));
    return (double)c.out_bytes;
}

/* A full link carries what the schedule says and at most a bucket more per step. */
static void throughput_is_the_integral(void **state)
{
    enum { STEPS = 50 };
    struct rate_step steps[STEPS];
    const struct rate_schedule s = {steps, STEPS, STEPS * 100 * NS_PER_MS};
    struct link *l;
    double bytes, want;

    (void)state;
    for (int i = 0; i < STEPS; i++) {
        steps[i] = (struct rate_step){i * 100 * NS_PER_MS, (1 + i * 7 % 10) * MBIT};
    }
    l = make(&s, 0, 100 * NS_PER_MS);
    bytes = overload(l, 500 * NS_PER_US, 20 * NS_PER_S);
    want = rate_schedule_bits(&s, 0, 20 * NS_PER_S) / 8;
    assert_true(bytes > want - 2 * FULL);
    assert_true(bytes < want + 200 * 2300);
    link_free(l);
}

/* An outage of 10 kbit/s: nothing but the bucket, then all of the queue. */
static void an_outage(void **state)
{
    static const struct rate_step steps[] = {
        {0, 8 * MBIT}, {NS_PER_S, 10000}, {3 * NS_PER_S, 8 * MBIT}};
    static const struct rate_schedule s = {steps, 3, 0};
    struct link *l = make(&s, 15140, 0);
    struct link_counters before, after;

    (void)state;
    (void)overload(l, 5 * NS_PER_MS, NS_PER_S);
    link_counters(l, &before);
    for (ns_t t = NS_PER_S; t < 3 * NS_PER_S; t += 5 * NS_PER_MS) {
        put(l, FULL, t);
        free(link_recv(l, t));
    }
    link_counters(l, &after);
    assert_in_range(after.out_packets - before.out_packets, 1, 3);
    assert_int_equal(link_backlog_bytes(l, 3 * NS_PER_S - 1), 10 * FULL);
    assert_int_equal(link_backlog_bytes(l, 3 * NS_PER_S), 9 * FULL);
    assert_int_equal(link_backlog_bytes(l, 3 * NS_PER_S + 20 * NS_PER_MS), 0);
    link_free(l);
}

/* A packet larger than the bucket of a slower step still leaves, late. */
static void larger_than_the_new_bucket(void **state)
{
    static const struct rate_step steps[] = {{0, 1000 * MBIT}, {NS_PER_US, 8 * MBIT}};
    static const struct rate_schedule s = {steps, 2, 0};
    struct link *l = make(&s, 100000, 0);

    (void)state;
    put(l, 2200, 0);
    put(l, 2200, 0);
    expect_out(l, 0);
    expect_out(l, NS_PER_US + (2200 - 1614) * NS_PER_US);
    link_free(l);
}

static void bad_schedules_are_refused(void **state)
{
    static const struct rate_step late[] = {{1, MBIT}}, zero[] = {{0, MBIT}, {1, 0}},
                                  back[] = {{0, MBIT}, {5, MBIT}, {5, MBIT}};
    static const struct rate_schedule schedules[] = {
        {late, 1, 0}, {zero, 2, 0}, {back, 3, 0}, {back, 2, 5}, {back, 0, 0}};
    struct link *l;

    (void)state;
    for (size_t i = 0; i < sizeof schedules / sizeof schedules[0]; i++) {
        struct link_config cfg = {.schedule = &schedules[i], .queue_bytes = 1};
        assert_int_equal(link_new(&l, &cfg), ERR_CONFIG);
    }
    assert_int_equal(link_new(&l, &(struct link_config){.schedule = &up_once}), ERR_CONFIG);
    assert_int_equal(link_queue_bytes(10000, 100 * NS_PER_MS), FULL);
    assert_int_equal(link_queue_bytes(8 * MBIT, 100 * NS_PER_MS), 100000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_up),
        cmocka_unit_test(steps_of_an_idle_link),
        cmocka_unit_test(the_limit_follows),
        cmocka_unit_test(throughput_is_the_integral),
        cmocka_unit_test(an_outage),
        cmocka_unit_test(larger_than_the_new_bucket),
        cmocka_unit_test(bad_schedules_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
