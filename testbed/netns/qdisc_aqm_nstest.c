/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel's queue disciplines below tbf: they read back as they were set, keep their queue when
 * the rate changes, mark and drop, and count what they do. Nothing here depends on how late a
 * busy host is. Skipped where the kernel has none of them. */
#include "testbed/netns/qdisc.h"

#include "testbed/netns/scratch_test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "testbed/netns/aqm_world_test.h"

#define KINDS 3
#define LO 1 /* a namespace's first interface */
#define PACKETS 800
#define SLOW INT64_C(100000) /* 121 ms per packet: hardly any leaves while a test looks */
#define WAITING 40

static const enum aqm_kind kinds[KINDS] = {AQM_CODEL, AQM_FQ_CODEL, AQM_PIE};
static const struct shape_tbf tbf = {
    .rate_bytes_per_s = 625000, .burst_bytes = 2014, .limit_bytes = 125000};
static struct message m;

/* An interface whose tbf has the discipline below it; skips where the kernel has not. */
static struct scratch open_with(const struct shape_aqm *aqm)
{
    struct scratch s = {.ns = -1};

    if (!netns_acquire(&m)) {
        s = scratch_open();
    }
    if (s.ns < 0) {
        print_message("no namespaces here: %s\n", m.text);
        skip();
    }
    if (qdisc_set_tbf(s.nl, LO, &tbf, aqm, &m)) {
        print_message("%s\n", m.text);
        skip();
    }
    return s;
}

static void must(int rc)
{
    if (rc) {
        fail_msg("%s", m.text);
    }
}

/* ---- what is set is what reads back ---- */

static struct shape_aqm told(enum aqm_kind kind)
{
    const struct aqm_config cfg = {.kind = kind};
    struct shape_aqm a;

    assert_int_equal(shape_aqm(&a, &cfg, tbf.limit_bytes, &m), 0);
    return a;
}

static void test_reads_back(void **state)
{
    (void)state;
    for (int i = 0; i < KINDS; i++) {
        struct shape_aqm a = told(kinds[i]);
        struct scratch s = open_with(&a);

        must(qdisc_set_tbf(s.nl, LO, &tbf, &a, &m)); /* and once more in place */
        a.ecn = true;
        a.target_us = 12345;
        a.interval_us = 200000;
        a.limit_packets = 7;
        must(qdisc_set_tbf(s.nl, LO, &tbf, &a, &m)); /* and all of it changed */
        must(qdisc_check_tbf(s.nl, LO, &tbf, &a, &m));
        scratch_close(&s);
    }
}

static void differs(const struct scratch *s, const struct shape_aqm *aqm, const char *what)
{
    assert_int_equal(qdisc_check_tbf(s->nl, LO, &tbf, aqm, &m), 1);
    if (!strstr(m.text, what)) {
        fail_msg("\"%s\" instead of \"%s\"", m.text, what);
    }
}

static void test_what_others_change_is_seen(void **state)
{
    const struct shape_aqm codel = told(AQM_CODEL), fq = told(AQM_FQ_CODEL), pie = told(AQM_PIE);
    struct shape_aqm other = codel;
    struct scratch s;

    (void)state;
    s = open_with(&codel);
    assert_int_equal(qdisc_check_tbf(s.nl, LO, &tbf, &codel, &m), 0);
    differs(&s, &fq, "fq_codel is gone from below tbf");
    differs(&s, NULL, "codel below tbf, where no queue was");
    other.target_us++;
    differs(&s, &other, "codel target (us)");
    other = codel;
    other.ecn = true;
    differs(&s, &other, "codel ECN");
    scratch_close(&s);
    s = open_with(&fq);
    other = fq;
    other.limit_packets++;
    differs(&s, &other, "fq_codel limit (packets)");
    scratch_close(&s);
    s = open_with(&pie);
    other = pie;
    other.interval_us = 500000;
    differs(&s, &other, "pie update (us)");
    scratch_close(&s);
}

/* ---- what they do ---- */

/* Overload: packets are marked or dropped, all are accounted for, and every mark is counted that
 * arrives. */
static void marks_and_drops(enum aqm_kind kind)
{
    static struct aqm_world_trial t;
    const struct aqm_config cfg = {.kind = kind, .ecn = true, .mark = NULL};
    struct aqm_world w;
    struct chain_link l;
    struct chain_losses losses;
    struct chain_changes changes;

    aqm_world_open(&w, &cfg, AQM_WORLD_RATE);
    aqm_world_overload(&w, &t, PACKETS);
    l = aqm_world_counters(&w);
    assert_int_equal(chain_losses(w.chain, &losses, &w.m), 0);
    assert_int_equal(chain_changes(w.chain, &changes, &w.m), 0);
    aqm_world_close(&w);
    print_message("%s: %d packets, %d marked, %d dropped, %d of them for want of room\n",
                  aqm_kind_name(kind), PACKETS, (int)l.marks, (int)l.drops, (int)l.overflow_drops);
    assert_int_equal(t.arrived + l.drops, PACKETS);
    assert_int_equal(t.arrived, l.out_packets);
    assert_int_equal(l.early_drops + l.overflow_drops, l.drops);
    assert_int_equal(l.marks, t.marked);
    /* pie's probability is soon beyond what ECN excuses */
    assert_true(l.marks > 0 || kind == AQM_PIE);
    /* fq_codel has no reason to: the flow without ECN is within its fair share */
    assert_true(l.drops > 0 || kind == AQM_FQ_CODEL);
    assert_int_equal(losses.qdisc_drops + losses.iface_drops, 0);
    assert_int_equal(changes.count, 0);
}

static void test_marks_and_drops(void **state)
{
    (void)state;
    for (int i = 0; i < KINDS; i++) {
        marks_and_drops(kinds[i]);
    }
}

static void put_in_wait(struct aqm_world *w, struct aqm_world_trial *t)
{
    memset(t, 0, sizeof *t);
    t->count = WAITING;
    for (uint32_t i = 0; i < t->count; i++) {
        aqm_world_send(w, t, i);
    }
}

/* What was sent comes to the bottleneck a little later: looked for a second at most. */
static struct chain_link when_all_are_in(struct aqm_world *w)
{
    struct chain_link l = aqm_world_counters(w);

    for (int i = 0; i < 200 && l.in_packets < WAITING; i++) {
        poll(NULL, 0, 5);
        l = aqm_world_counters(w);
    }
    assert_int_equal(l.in_packets, WAITING);
    return l;
}

/* A step of the rate finds the queue as it was, also above a smaller limit of tbf's, and leaves it
 * so: no packet vanishes. */
static void keeps_its_queue(enum aqm_kind kind)
{
    static struct aqm_world_trial t;
    const struct aqm_config cfg = {.kind = kind};
    struct shape_tbf slow = {.rate_bytes_per_s = SLOW / 8 / 2,
                             .burst_bytes = AQM_WORLD_BURST_BYTES,
                             .limit_bytes = WAITING * AQM_WORLD_BYTES};
    struct chain_changes changes;
    struct aqm_world w;
    struct chain_link before, after;

    aqm_world_open(&w, &cfg, SLOW);
    put_in_wait(&w, &t);
    before = when_all_are_in(&w);
    assert_true(before.backlog_packets > WAITING / 2);
    assert_int_equal(chain_reshape(w.chain, TOPOLOGY_FORWARD, &slow, &w.m), 0);
    after = aqm_world_counters(&w);
    assert_int_equal(chain_changes(w.chain, &changes, &w.m), 0);
    print_message("%s: %u packets wait, %u behind the step\n", aqm_kind_name(kind),
                  before.backlog_packets, after.backlog_packets);
    assert_int_equal(changes.count, 0);
    assert_int_equal(after.in_packets, WAITING);
    assert_int_equal(after.overflow_drops, 0);
    /* a full bucket and what it is late itself is all that may leave */
    assert_true(after.backlog_packets > WAITING / 2);
    slow.limit_bytes = 2 * AQM_WORLD_BYTES; /* what is above a limit made smaller is dropped */
    assert_int_equal(chain_reshape(w.chain, TOPOLOGY_FORWARD, &slow, &w.m), 0);
    after = aqm_world_counters(&w);
    assert_in_range(after.backlog_packets, 0, 2);
    assert_int_equal(after.in_packets, WAITING);
    assert_int_equal(after.early_drops + after.overflow_drops, after.drops);
    aqm_world_close(&w);
}

static void test_steps_of_the_rate(void **state)
{
    (void)state;
    for (int i = 0; i < KINDS; i++) {
        keeps_its_queue(kinds[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_back),
        cmocka_unit_test(test_what_others_change_is_seen),
        cmocka_unit_test(test_marks_and_drops),
        cmocka_unit_test(test_steps_of_the_rate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
