/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel's queue disciplines below tbf: they read back as they were set, keep their queue when
 * the rate changes, mark and drop, and count what they do. Nothing here depends on how late a
 * busy host is. Skipped where the kernel has none of them. */
#include "testbed/netns/qdisc_private.h"

#include "testbed/netns/scratch_test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <linux/pkt_sched.h>

#include "testbed/netns/aqm_world_test.h"

#define KINDS 4
#define LO 1 /* a namespace's first interface */
#define PACKETS 800
#define SLOW INT64_C(100000) /* 121 ms per packet: hardly any leaves while a test looks */
#define WAITING 40
#define ROOM 20

static const enum aqm_kind kinds[KINDS] = {AQM_CODEL, AQM_FQ_CODEL, AQM_PIE, AQM_CAKE};
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
    shape_aqm_follow(&a, &tbf);
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
        a.rate_bytes_per_s = kinds[i] == AQM_CAKE ? UINT64_C(6000000000) : 0;
        a.isolation = AQM_FLOWS;
        a.diffserv = AQM_DIFFSERV4;
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

static void tell_cake(const struct scratch *s, int attribute, uint32_t value)
{
    struct nl_msg *msg = qdisc_message(LO, QDISC_BELOW, "cake", 64);
    struct nlattr *nest = nla_nest_start(msg, TCA_OPTIONS);

    assert_non_null(nest);
    assert_int_equal(nla_put_u32(msg, attribute, value), 0);
    nla_nest_end(msg, nest);
    must(qdisc_send(s->nl, "cake", msg, 0, &m));
}

/* Each of what we may want of it, and what somebody else may have told it. */
static void test_what_others_change_of_cake_is_seen(void **state)
{
    static const struct {
        int attribute;
        uint32_t value;
        const char *what;
    } by_others[] = {
        {TCA_CAKE_OVERHEAD, 18, "cake overhead (bytes)"},
        {TCA_CAKE_OVERHEAD, 0, "cake raw read back without it"},
        {TCA_CAKE_ACK_FILTER, CAKE_ACK_FILTER, "cake ACK filter"},
        {TCA_CAKE_SPLIT_GSO, 1, "cake split GSO"},
        {TCA_CAKE_WASH, 1, "cake wash"},
        {TCA_CAKE_INGRESS, 1, "cake ingress"},
        {TCA_CAKE_AUTORATE, 1, "cake autorate"},
        {TCA_CAKE_ATM, CAKE_ATM_ATM, "cake ATM"},
        {TCA_CAKE_MPU, 64, "cake MPU (bytes)"},
        {TCA_CAKE_FWMARK, 255, "cake firewall mark"},
    };
    const struct shape_aqm cake = told(AQM_CAKE);
    struct shape_aqm other = cake;
    struct scratch s = open_with(&cake);

    (void)state;
    assert_int_equal(qdisc_check_tbf(s.nl, LO, &tbf, &cake, &m), 0);
    other.rate_bytes_per_s++;
    differs(&s, &other, "cake rate (bytes/s)");
    other = cake;
    other.limit_packets++;
    differs(&s, &other, "cake memory (bytes)");
    other = cake;
    other.target_us++;
    differs(&s, &other, "cake target (us)");
    other = cake;
    other.interval_us++;
    differs(&s, &other, "cake round trip (us)");
    other = cake;
    other.isolation = AQM_FLOWS;
    differs(&s, &other, "cake isolation");
    other = cake;
    other.diffserv = AQM_DIFFSERV8;
    differs(&s, &other, "cake diffserv");
    for (size_t i = 0; i < sizeof by_others / sizeof by_others[0]; i++) {
        tell_cake(&s, by_others[i].attribute, by_others[i].value);
        differs(&s, &cake, by_others[i].what);
        must(qdisc_set_tbf(s.nl, LO, &tbf, &cake, &m)); /* and is put right */
    }
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
    /* these have no reason to: the flow without ECN is within its fair share */
    assert_true(l.drops > 0 || kind == AQM_FQ_CODEL || kind == AQM_CAKE);
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
    const uint32_t all = WAITING + (kind == AQM_CAKE);
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
    /* what is above a limit made smaller is dropped, by cake with the next packet that comes */
    slow.limit_bytes = 2 * AQM_WORLD_BYTES;
    assert_int_equal(chain_reshape(w.chain, TOPOLOGY_FORWARD, &slow, &w.m), 0);
    if (kind == AQM_CAKE) {
        aqm_world_send(&w, &t, 0);
    }
    for (int i = 0; i < 200 && (after = aqm_world_counters(&w)).in_packets < all; i++) {
        poll(NULL, 0, 5);
    }
    assert_int_equal(after.in_packets, all);
    assert_in_range(after.backlog_packets, 0, 2 + (kind == AQM_CAKE)); /* one is on its way out */
    assert_int_equal(after.early_drops + after.overflow_drops, after.drops);
    aqm_world_close(&w);
}

/* Which is path.queue's in packets of full size, also where the kernel counts memory. */
static void has_room(enum aqm_kind kind)
{
    static struct aqm_world_trial t;
    const struct aqm_config cfg = {.kind = kind};
    const struct shape_tbf small = {.rate_bytes_per_s = SLOW / 8,
                                    .burst_bytes = AQM_WORLD_BURST_BYTES,
                                    .limit_bytes = ROOM * AQM_WORLD_BYTES};
    struct aqm_world w;
    struct chain_link l;

    aqm_world_open(&w, &cfg, SLOW);
    assert_int_equal(chain_reshape(w.chain, TOPOLOGY_FORWARD, &small, &w.m), 0);
    put_in_wait(&w, &t);
    l = when_all_are_in(&w);
    print_message("%s: room for %d: %u wait, %d dropped\n", aqm_kind_name(kind), ROOM,
                  l.backlog_packets, (int)l.drops);
    assert_true(l.drops > 0);
    /* one is on its way out; fq_codel drops half, and on a busy host some more have gone */
    assert_in_range(l.backlog_packets, ROOM / 4, ROOM + 1);
    aqm_world_close(&w);
}

static void test_room(void **state)
{
    (void)state;
    for (int i = 0; i < KINDS; i++) {
        has_room(kinds[i]);
    }
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
        cmocka_unit_test(test_what_others_change_of_cake_is_seen),
        cmocka_unit_test(test_marks_and_drops),
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_steps_of_the_rate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
