/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A direction of a wire that shapes, by a clock of the test's own: it does what the simulated link
 * does with the same packets, from the restart on. */
#include "testbed/wire/shaped.h"

#include "agents/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define RATE INT64_C(5000000)
#define QUEUE (300 * NS_PER_MS)
#define LEN 1514
#define ZERO (12345 * NS_PER_S) /* of the clock */

static const struct impair_config impair = {
    .delay = 10 * NS_PER_MS, .loss = 0.05, .duplicate = 0.05, .seed = 4};

static struct shaped_config config(enum aqm_kind kind)
{
    return (struct shaped_config){.rate = RATE,
                                  .queue_bytes = link_queue_bytes(RATE, QUEUE),
                                  .queue_time = QUEUE,
                                  .aqm = {.kind = kind, .ecn = kind != AQM_DROP_TAIL, .seed = 2}};
}

/* A UDP packet with ECT(0) of flow n, numbered i. */
static void make(uint8_t frame[LEN], int n, int i)
{
    memset(frame, 0, LEN);
    frame[12] = 8;
    memcpy(frame + 14,
           (uint8_t[]){0x45, AQM_ECT0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 10, 77, 1, 1, 10, 77, 3, 2},
           20);
    frame[35] = (uint8_t)n; /* of the port */
    memcpy(frame + 60, &i, sizeof i);
}

struct out {
    ns_t due;
    int number;
    bool marked;
};

static size_t drain(struct shaped *s, ns_t until, struct out *list, size_t n)
{
    for (ns_t next; (next = shaped_next(s)) <= until && next != NS_NEVER;) {
        struct shaped_frame *f;
        ns_t due;

        while ((f = shaped_take(s, next, &due))) {
            assert_int_equal(f->len, LEN);
            if (list) {
                list[n] = (struct out){.due = due, .marked = (f->data[15] & 3) == AQM_CE};
                memcpy(&list[n].number, f->data + 60, sizeof list[n].number);
            }
            n++;
            free(f);
        }
    }
    return n;
}

#define PACKETS 3000

/* Warm-up, restart, then six seconds of a fifth too much from three flows; count what comes out. */
static size_t run(const struct shaped_config *cfg, struct out *list, struct link_counters *counters)
{
    uint8_t frame[LEN];
    struct shaped s;
    size_t n = 0;

    assert_int_equal(shaped_init(&s, cfg, &impair), 0);
    for (int i = 0; i < 500; i++) { /* more than fits: only delayed and queued, and forgotten */
        make(frame, 0, -1);
        assert_int_equal(shaped_enter(&s, frame, LEN, ZERO - 9 * NS_PER_S), 0);
    }
    assert_int_equal(drain(&s, ZERO - NS_PER_S, NULL, 0), 124);
    assert_int_equal(shaped_restart(&s, ZERO - NS_PER_MS), 0);
    shaped_start(&s, ZERO);
    for (int i = 0; i < PACKETS; i++) {
        ns_t at = ZERO + i * 2 * NS_PER_MS;

        n = drain(&s, at, list, n);
        make(frame, i % 3, i);
        assert_int_equal(shaped_enter(&s, frame, LEN, at), 0);
    }
    n = drain(&s, NS_NEVER - 1, list, n);
    link_counters(s.link, counters);
    assert_int_equal(link_packets(s.link), 0);
    assert_int_equal(counters->in_packets, PACKETS);
    assert_int_equal(counters->in_packets + counters->duplicated,
                     counters->out_packets + counters->queue_drops + counters->loss_drops);
    assert_int_equal(counters->out_packets, n);
    shaped_fini(&s);
    return n;
}

static void it_is_the_simulated_link(void **state)
{
    static struct out list[2 * PACKETS], again[2 * PACKETS];

    (void)state;
    for (int kind = AQM_DROP_TAIL; kind < AQM_MODELS_END; kind++) {
        struct shaped_config cfg = config(kind);
        struct link_counters c;
        size_t n = run(&cfg, list, &c), marks = 0;
        ns_t last = 0;

        assert_int_equal(run(&cfg, again, &c), n);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(list[i].due, again[i].due);
            assert_int_equal(list[i].number, again[i].number);
            marks += list[i].marked;
            assert_true(list[i].due >= last);
            last = list[i].due;
        }
        assert_true(c.duplicated > 0 && c.loss_drops > 0 && c.queue_drops > 0);
        assert_true((marks > 0) == (kind != AQM_DROP_TAIL));
    }
}

/* At half time the rate falls to a fifth: a step at its very time, whenever it is looked at. */
static void steps_are_made_in_time(void **state)
{
    static const struct rate_step steps[] = {{0, RATE}, {3 * NS_PER_S, RATE / 5}};
    static struct out list[2 * PACKETS];
    const struct rate_schedule schedule = {.steps = steps, .count = 2};
    struct shaped_config cfg = config(AQM_CODEL);
    struct link_counters c;
    size_t n, before = 0, after = 0;

    (void)state;
    cfg.schedule = &schedule;
    n = run(&cfg, list, &c);
    for (size_t i = 0; i < n; i++) {
        ns_t left = list[i].due - impair.delay - ZERO;

        before += left > NS_PER_S && left <= 3 * NS_PER_S;
        after += left > 3 * NS_PER_S && left <= 5 * NS_PER_S;
    }
    /* 2 s are 825 and 165 packets of 1514 B; 5 % are lost, 5 % come twice */
    assert_in_range(before, 780, 870);
    assert_in_range(after, 140, 190);
}

static void what_cannot_be(void **state)
{
    struct shaped_config cfg = config(AQM_CAKE); /* only the kernel has it */
    struct shaped s;

    (void)state;
    assert_int_equal(shaped_init(&s, &cfg, &impair), ERR_CONFIG);
    cfg = config(AQM_PIE);
    assert_int_equal(shaped_init(&s, &cfg, &(struct impair_config){.loss = 2}), ERR_CONFIG);
    cfg.rate = 0;
    assert_int_equal(shaped_init(&s, &cfg, &impair), 0);
    assert_null(s.link);
    shaped_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_the_simulated_link),
        cmocka_unit_test(steps_are_made_in_time),
        cmocka_unit_test(what_cannot_be),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
