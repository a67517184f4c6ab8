/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The figures of a certificate from probes with known fates, and where its tolerances end. */
#include "testbed/certificate/certificate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define DELAY (10 * NS_PER_MS)
#define SENDING (20 * NS_PER_US)

static const struct probe_path asked = {.rate = 5000000,
                                        .burst_bytes = 1600,
                                        .queue_bytes = 187500,
                                        .delay_min = DELAY,
                                        .delay_max = DELAY};

struct probes {
    struct probe_plan plan;
    struct probe_result *results;
};

/* What an ideal link without a bucket makes of the plan; no queue is too long. */
static void carry(struct probes *p)
{
    ns_t idle = 0;

    for (size_t i = 0; i < p->plan.count; i++) {
        struct probe_result *r = &p->results[i];
        ns_t in = r->after;
        ns_t out =
            ns_max(in, idle) + rate_duration(asked.rate, probe_packet_bytes(&p->plan.packets[i]));

        if (in == NS_NEVER || ns_max(in, idle) - in > probe_path_queue(&asked)) {
            continue;
        }
        idle = out;
        r->arrival = out + DELAY;
    }
}

static void probes_init(struct probes *p)
{
    assert_int_equal(probe_plan_init(&p->plan, &asked), 0);
    p->results = calloc(p->plan.count, sizeof *p->results);
    assert_non_null(p->results);
    for (size_t i = 0; i < p->plan.count; i++) {
        ns_t at = p->plan.packets[i].at;

        p->results[i] =
            (struct probe_result){.before = at, .after = at + SENDING, .arrival = NS_NEVER};
    }
}

static void probes_fini(struct probes *p)
{
    free(p->results);
    probe_plan_fini(&p->plan);
}

static void measure(struct certificate *c, struct probes *p)
{
    const struct probe_path both[CERTIFICATE_DIRECTIONS] = {asked, asked};

    certificate_init(c, both);
    assert_int_equal(certificate_measure(c, CERTIFICATE_FORWARD, &p->plan, p->results), 0);
    assert_int_equal(certificate_measure(c, CERTIFICATE_BACKWARD, &p->plan, p->results), 0);
}

/* A certificate in which everything is as asked. */
static struct certificate good(void)
{
    const struct probe_path both[CERTIFICATE_DIRECTIONS] = {asked, asked};
    struct certificate c;

    certificate_init(&c, both);
    for (int i = 0; i < CERTIFICATE_DIRECTIONS; i++) {
        c.train_asked[i] = certificate_train_asked(&asked, PROBE_TRAIN_PACKETS);
        c.measured[i] = (struct certificate_figures){.probes = 100,
                                                     .delay_min = DELAY,
                                                     .delay_p50 = DELAY,
                                                     .delay_p99 = DELAY,
                                                     .train = c.train_asked[i],
                                                     .rate = asked.rate,
                                                     .queue = probe_path_queue(&asked),
                                                     .queue_max = probe_path_queue(&asked),
                                                     .rate_packets = 400};
    }
    return c;
}

static void test_the_plan_is_short_and_in_order(void **state)
{
    struct probe_plan p;

    (void)state;
    assert_int_equal(probe_plan_init(&p, &asked), 0);
    for (size_t i = 1; i < p.count; i++) {
        assert_true(p.packets[i].at >= p.packets[i - 1].at);
    }
    assert_int_equal(p.train_packets, PROBE_TRAIN_PACKETS);
    assert_true(p.queue_is_full);
    assert_true(p.length < 2 * NS_PER_S + 3 * probe_path_queue(&asked));
    probe_plan_fini(&p);
}

/* Plans of the slowest and fastest paths there may be fit their memory and end. */
static void test_plans_of_extreme_paths(void **state)
{
    static const struct probe_path paths[] = {
        {.rate = 10000, .burst_bytes = 1600, .queue_bytes = 1514},
        {.rate = 1000000, .burst_bytes = 1600, .queue_bytes = 7500},
        {.rate = INT64_C(10000000000), .burst_bytes = 2300, .queue_bytes = 1514},
        {.rate = INT64_C(10000000000), .burst_bytes = 2300, .queue_bytes = 375000000},
        {.rate = 10000, .burst_bytes = 1600, .queue_bytes = 75000, .delay_max = 40 * NS_PER_S},
    };

    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct probe_plan p;

        assert_int_equal(probe_plan_init(&p, &paths[i]), 0);
        assert_true(p.count > 30);
        assert_int_equal(p.packets[p.count - 1].part, PROBE_OVERLOAD);
        assert_int_equal(p.packets[p.count - 1].train, PROBE_OVERLOAD_FULL);
        assert_true(p.length > p.packets[p.count - 1].at);
        assert_true(p.length <
                    40 * NS_PER_S + 4 * probe_path_queue(&paths[i]) + 3 * paths[i].delay_max);
        probe_plan_fini(&p);
    }
}

static void test_figures_of_an_ideal_link(void **state)
{
    struct certificate c;
    struct probes p;
    ns_t packet = rate_duration(asked.rate, 1514);

    (void)state;
    probes_init(&p);
    carry(&p);
    measure(&c, &p);
    /* this link has no bucket: every packet takes its own time */
    assert_int_equal(c.measured[0].delay_p50, DELAY + SENDING + rate_duration(asked.rate, 100));
    assert_int_equal(c.measured[0].delay_min, c.measured[0].delay_p99);
    assert_in_range(c.measured[0].rate, asked.rate - 1, asked.rate);
    assert_in_range(c.measured[0].train, asked.rate - 1, asked.rate);
    assert_in_range(c.measured[0].queue, probe_path_queue(&asked) - packet,
                    probe_path_queue(&asked) + packet);
    assert_int_equal(c.measured[0].lost, 0);
    assert_true(certificate_judge(&c));
    probes_fini(&p);
}

/* The host holds the sender up: the link must not be blamed for it. */
static void test_a_sender_that_stalls(void **state)
{
    struct certificate c;
    struct probes p;
    size_t held = 0, full = 0;

    (void)state;
    probes_init(&p);
    for (size_t i = 0; i < p.plan.count; i++) {
        full += p.plan.packets[i].part == PROBE_OVERLOAD &&
                p.plan.packets[i].train == PROBE_OVERLOAD_FULL;
        /* half a second without a packet empties the queue */
        if (full > 100 && held < 250) {
            held++;
            p.results[i].before = p.results[i].after = NS_NEVER;
        }
    }
    assert_int_equal(held, 250);
    carry(&p);
    measure(&c, &p);
    assert_in_range(c.measured[0].rate, asked.rate - 1, asked.rate);
    assert_true(certificate_judge(&c));
    probes_fini(&p);
}

/* It is held up inside a call: what that packet measures does not count. */
static void test_disturbed_probes(void **state)
{
    struct certificate c;
    struct probes p;

    (void)state;
    probes_init(&p);
    for (size_t i = 0; i < p.plan.count; i += 7) {
        p.results[i].before -= 30 * NS_PER_MS;
    }
    carry(&p);
    measure(&c, &p);
    assert_int_equal(c.measured[0].disturbed, (p.plan.count + 6) / 7);
    assert_true(certificate_judge(&c));
    probes_fini(&p);
}

static void test_nothing_arrives(void **state)
{
    struct certificate c;
    struct probes p;

    (void)state;
    probes_init(&p);
    measure(&c, &p);
    assert_int_equal(c.measured[0].lost, c.measured[0].probes);
    assert_false(certificate_judge(&c));
    assert_string_equal(c.failures[0].reason, "certificate-loss");
    assert_string_equal(c.failures[1].reason, "certificate-delay");
    probes_fini(&p);
}

/* The only thing that does not hold; forward. */
static void expect(struct certificate *c, const char *reason, const char *detail)
{
    assert_false(certificate_judge(c));
    assert_int_equal(c->failure_count, 1);
    assert_string_equal(c->failures[0].reason, reason);
    assert_string_equal(c->failures[0].direction, "forward");
    if (!strstr(c->failures[0].detail, detail)) {
        fail_msg("\"%s\" does not say \"%s\"", c->failures[0].detail, detail);
    }
}

static void test_tolerances(void **state)
{
    struct certificate c = good();
    struct certificate_figures *f = &c.measured[CERTIFICATE_FORWARD], was = *f;
    ns_t packet = rate_duration(asked.rate, 1514);

    (void)state;
    assert_true(certificate_judge(&c));
    f->delay_p50 = DELAY + CERTIFICATE_DELAY_P50_OFF;
    f->delay_p99 = DELAY + CERTIFICATE_DELAY_P99_OVER;
    f->rate = 4975000;
    f->queue = probe_path_queue(&asked) + packet;
    assert_true(certificate_judge(&c));
    f->delay_p50++;
    expect(&c, "certificate-delay", "asked 10.000 ms, measured a median of 10.200 ms");
    *f = was;
    f->delay_p50 = DELAY - CERTIFICATE_DELAY_P50_OFF - 1;
    expect(&c, "certificate-delay", "a median of 9.800 ms");
    *f = was;
    f->delay_p99 = DELAY + CERTIFICATE_DELAY_P99_OVER + 1;
    expect(&c, "certificate-delay", "a 99th percentile of 11.000 ms");
    *f = was;
    f->rate = 4974000;
    expect(&c, "certificate-rate", "asked 5.000 Mbit/s, measured 4.974 Mbit/s");
    *f = was;
    f->rate = 5026000;
    expect(&c, "certificate-rate", "5.026");
    *f = was;
    f->train = 5400000;
    expect(&c, "certificate-train", "measured 5.400 Mbit/s");
    *f = was;
    f->queue = probe_path_queue(&asked) + packet + 1;
    expect(&c, "certificate-queue", "asked at most 300.000 ms");
    *f = was;
    f->queue = probe_path_queue(&asked) - 2 * packet - 1;
    expect(&c, "certificate-queue", "measured 295");
    *f = was;
    f->lost = 1;
    expect(&c, "certificate-loss", "asked a loss of 0, lost 1 of 100");
}

/* A long queue of small packets takes as much longer as its rate may be off. */
static void test_a_long_queue(void **state)
{
    struct certificate c = good();

    (void)state;
    c.asked[0].rate = 100000000;
    c.asked[0].queue_bytes = 12500000; /* 1 s */
    c.measured[0].rate = 100000000;
    c.measured[0].queue = probe_path_queue(&c.asked[0]) + 4 * NS_PER_MS;
    assert_true(certificate_judge(&c));
    c.measured[0].queue += 2 * NS_PER_MS;
    expect(&c, "certificate-queue", "asked at most 1000.000 ms");
}

/* What is asked for is no fault. */
static void test_asked_jitter_and_loss(void **state)
{
    struct certificate c = good();

    (void)state;
    c.measured[0].lost = 5;
    c.measured[0].delay_p50 = DELAY + 15 * NS_PER_MS;
    c.measured[0].delay_p99 = DELAY + 30 * NS_PER_MS;
    c.measured[0].queue += 20 * NS_PER_MS;
    assert_false(certificate_judge(&c));
    c.asked[0].loss = 0.02;
    c.asked[0].delay_max = DELAY + 30 * NS_PER_MS;
    assert_true(certificate_judge(&c));
    c.measured[0].lost = 40;
    expect(&c, "certificate-loss", "asked a loss of 0.02, lost 40 of 100");
    c.measured[0].lost = 0;
    c.measured[0].delay_p99 = DELAY + 32 * NS_PER_MS;
    expect(&c, "certificate-delay", "asked at most 40.000 ms");
}

/* A queue of one packet has no train, and is hardly ever full: that is not judged. A link that
 * could not be loaded is no link. */
static void test_unmeasured_figures(void **state)
{
    struct certificate c = good();

    (void)state;
    c.measured[0].rate = -1;
    expect(&c, "certificate-rate", "could not load");
    c.asked[0].queue_bytes = 1514;
    c.measured[0].train = -1;
    c.measured[0].queue = NS_NEVER;
    assert_true(certificate_judge(&c));
    assert_int_equal(certificate_train_asked(&asked, 2), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_plan_is_short_and_in_order),
        cmocka_unit_test(test_plans_of_extreme_paths),
        cmocka_unit_test(test_figures_of_an_ideal_link),
        cmocka_unit_test(test_a_sender_that_stalls),
        cmocka_unit_test(test_disturbed_probes),
        cmocka_unit_test(test_nothing_arrives),
        cmocka_unit_test(test_tolerances),
        cmocka_unit_test(test_a_long_queue),
        cmocka_unit_test(test_asked_jitter_and_loss),
        cmocka_unit_test(test_unmeasured_figures),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
