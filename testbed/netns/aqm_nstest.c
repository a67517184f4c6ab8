/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The models of queue disciplines against the kernel's own, below the same shaper: packets go
 * through the kernel, and through the model at the times at which they were sent and left; how long
 * they waited and how many were dropped is compared. Each side decides for itself which packets
 * these are; but the model's shaper is told when the kernel's let one go, so that a clock that is
 * rough, or stands still, is the same for both. Skipped where the kernel has none of them. */
#include "agents/base/hist.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "testbed/netns/aqm_world_test.h"

#define SEEDS 16
#define ATTEMPTS 3
#define WITHIN_PERCENT 10
/* When a packet came to the queue and left it is known to half of the 3 ms that one takes. */
#define STAMPS_MS 1.5
/* How late a packet may be for the model beside the kernel; and how many of them. */
#define LATE_MAX NS_PER_MS
#define OWED 16
#define DROPS 1 /* one more or less is chance */
#define STANDING_PACKETS 1600

static struct aqm_world_trial trial;

/* ---- the kernel's ---- */

struct kernel {
    struct hist waits;
    ns_t left[AQM_WORLD_PACKETS_MAX]; /* when packets left the queue, in order */
    size_t count;
    uint64_t drops;
};

static struct kernel kernel;

static int by_time(const void *a, const void *b)
{
    ns_t x = *(const ns_t *)a, y = *(const ns_t *)b;

    return (x > y) - (x < y);
}

/* The way behind the queue is what the fastest packet took, which did not wait. */
static void reduce(const struct aqm_world_trial *t, struct kernel *k)
{
    ns_t way = NS_NEVER;

    *k = (struct kernel){.count = 0};
    for (uint32_t i = 0; i < t->count; i++) {
        way = t->arrived_at[i] ? ns_min(way, t->arrived_at[i] - t->sent[i]) : way;
    }
    for (uint32_t i = 0; i < t->count; i++) {
        if (t->arrived_at[i]) {
            k->left[k->count++] = t->arrived_at[i] - way;
            hist_add(&k->waits, t->arrived_at[i] - way - t->sent[i]);
        }
    }
    qsort(k->left, k->count, sizeof k->left[0], by_time);
}

/* ---- the model's ---- */

/* What the kernel's pie makes of the RFC's 15 ms: its timer takes a tick more than it is asked. */
static ns_t pie_update(void)
{
    struct timespec t;
    uint32_t tick_us;

    clock_getres(CLOCK_MONOTONIC_COARSE, &t);
    tick_us = (uint32_t)(t.tv_nsec / NS_PER_US);
    return (shape_aqm_pie_update_us(15000, tick_us) + tick_us) * NS_PER_US;
}

/* A packet of the trial enters. The shaper holds the head as soon as it can. */
static void enter(struct aqm *q, const struct aqm_world_trial *t, uint32_t i, ns_t at)
{
    struct aqm_packet *p = calloc(1, sizeof *p);

    assert_non_null(p);
    p->bytes = AQM_WORLD_BYTES;
    p->flow = t->flow[i] ? 77777 : 1;
    aqm_enqueue(q, p, at);
    (void)aqm_head(q, at);
}

/* With a seed, and with each packet up to a millisecond late by chance, since the kernel's are not
 * to the microsecond where we think they are. */
static struct aqm_stats simulate(const struct aqm_world_trial *t, const struct kernel *k,
                                 const struct aqm_config *model, uint64_t seed)
{
    struct aqm_config cfg = *model;
    ns_t origin = t->sent[0], last = 0;
    struct aqm_stats s;
    struct prng late;
    struct aqm *q;
    size_t left = 0, owed_count = 0, paid = 0;
    ns_t owed[OWED];

    cfg.seed = seed;
    prng_init(&late, seed, "late");
    assert_int_equal(aqm_new(&q, &cfg), 0);
    aqm_limit(q, AQM_WORLD_QUEUE_PACKETS * AQM_WORLD_BYTES);
    for (uint32_t i = 0; i <= t->count; i++) {
        ns_t at = i < t->count ? t->sent[i] - origin + prng_u32(&late) % LATE_MAX : NS_NEVER;

        at = ns_max(at, last);
        for (; left < k->count && k->left[left] - origin <= at; left++) {
            last = ns_max(last, k->left[left] - origin);
            if (aqm_head(q, last)) {
                free(aqm_take(q, last));
                (void)aqm_head(q, last);
            } else { /* the packet is late; or the kernel had dropped less than the model */
                paid += owed_count - paid == OWED;
                owed[owed_count++ % OWED] = last;
            }
        }
        if (i < t->count) {
            last = at;
            enter(q, t, i, at);
            for (; paid < owed_count && owed[paid % OWED] + LATE_MAX < at; paid++) {
            }
            for (; paid < owed_count && aqm_head(q, at); paid++) {
                free(aqm_take(q, at));
            }
        }
    }
    aqm_stats(q, AQM_QUEUE, &s);
    aqm_free(q);
    return s;
}

/* ---- how far they are apart ---- */

struct range {
    double low, high;
};

static void widen(struct range *r, double v)
{
    r->low = v < r->low ? v : r->low;
    r->high = v > r->high ? v : r->high;
}

/* How much the kernel's figure, known to within slack, is outside of what the model makes with
 * several seeds. */
static double outside(const char *what, double of_kernel, double slack, const struct range *model)
{
    double off = of_kernel - slack > model->high  ? (of_kernel - slack) / model->high - 1
                 : of_kernel + slack < model->low ? 1 - (of_kernel + slack) / model->low
                                                  : 0;

    print_message("  %s %.2f, model %.2f to %.2f: %.1f %% outside\n", what, of_kernel, model->low,
                  model->high, 100 * off);
    return 100 * off;
}

/* Returns how far the two are apart at most, in per cent. */
static double compare(const struct aqm_world_trial *t, const struct kernel *k,
                      const struct aqm_config *model)
{
    struct range p50 = {1e9, 0}, p95 = {1e9, 0}, dropped = {1e9, 0};
    double offs[3], worst = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct aqm_stats s = simulate(t, k, model, seed);

        widen(&p50, ns_to_ms(s.sojourn_p50));
        widen(&p95, ns_to_ms(s.sojourn_p95));
        widen(&dropped, (double)s.early_drops);
    }
    print_message("%s, target %.1f ms, interval %.0f ms:\n", aqm_kind_name(model->kind),
                  ns_to_ms(aqm_target(model)), ns_to_ms(aqm_interval(model)));
    offs[0] = outside("wait p50 ms", ns_to_ms(hist_quantile(&k->waits, 500000)), STAMPS_MS, &p50);
    offs[1] = outside("wait p95 ms", ns_to_ms(hist_quantile(&k->waits, 950000)), STAMPS_MS, &p95);
    offs[2] = outside("drops", (double)k->drops, DROPS, &dropped);
    for (int i = 0; i < 3; i++) {
        worst = offs[i] > worst ? offs[i] : worst;
    }
    return worst;
}

/* A model that differs from what the kernel was told, as often as said in its target or interval.
 */
struct other {
    double targets, intervals;
};

static struct aqm_config model_of(enum aqm_kind kind, struct other o)
{
    struct aqm_config c = {.kind = kind, .interval = kind == AQM_PIE ? pie_update() : 0};

    c.target = (ns_t)(o.targets * (double)aqm_target(&c));
    c.interval = (ns_t)(o.intervals * (double)aqm_interval(&c));
    return c;
}

struct load {
    void (*offer)(struct aqm_world *w, struct aqm_world_trial *t, uint32_t count);
    uint32_t packets;
    struct other others[2]; /* that would show under it */
    size_t count;
};

/* The model is like the kernel; and of one that is not it would be seen. */
static void against_the_kernel(enum aqm_kind kind, const struct load *l)
{
    const struct aqm_config cfg = {.kind = kind}, model = model_of(kind, (struct other){1, 1});
    double best = 1000;

    for (int i = 0; i < ATTEMPTS && best > WITHIN_PERCENT; i++) {
        struct aqm_world w;
        double worst;

        aqm_world_open(&w, &cfg, AQM_WORLD_RATE);
        l->offer(&w, &trial, l->packets);
        reduce(&trial, &kernel);
        kernel.drops = aqm_world_counters(&w).drops;
        assert_int_equal(trial.arrived + kernel.drops, l->packets);
        worst = compare(&trial, &kernel, &model);
        best = worst < best ? worst : best;
        aqm_world_close(&w);
    }
    assert_true(best <= WITHIN_PERCENT);
    for (size_t i = 0; i < l->count; i++) {
        struct aqm_config other = model_of(kind, l->others[i]);

        assert_true(compare(&trial, &kernel, &other) > WITHIN_PERCENT);
    }
}

/* Far above the rate the wait is the interval's doing, whatever the target. A queue that stands at
 * one and a half times the target is not. */
static void codel_like(enum aqm_kind kind)
{
    static const struct load overload = {.offer = aqm_world_overload,
                                         .packets = AQM_WORLD_PACKETS_MAX,
                                         .others = {{1, 2}, {1, 0.5}},
                                         .count = 2},
                             standing = {.offer = aqm_world_stand,
                                         .packets = STANDING_PACKETS,
                                         .others = {{2, 1}},
                                         .count = 1};

    against_the_kernel(kind, &overload);
    against_the_kernel(kind, &standing);
}

static void test_codel(void **state)
{
    (void)state;
    codel_like(AQM_CODEL);
}

static void test_fq_codel(void **state)
{
    (void)state;
    codel_like(AQM_FQ_CODEL);
}

static void test_pie(void **state)
{
    static const struct load overload = {.offer = aqm_world_overload,
                                         .packets = AQM_WORLD_PACKETS_MAX,
                                         .others = {{2, 1}},
                                         .count = 1};

    (void)state;
    against_the_kernel(AQM_PIE, &overload);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_codel),
                                       cmocka_unit_test(test_fq_codel), cmocka_unit_test(test_pie)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
