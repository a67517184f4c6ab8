/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each discipline against values worked from its RFC by hand, and all of them against what every
 * queue must keep: nothing appears or vanishes, and equal input gives equal output. */
#include "testbed/link/aqm.h"

#include "agents/base/err.h"
#include "agents/base/prng.h"
#include "testbed/link/codel.h"
#include "testbed/link/dualpi2.h"
#include "testbed/link/flow.h"
#include "testbed/link/link.h"
#include "testbed/link/pie.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#define MBIT INT64_C(1000000)
#define FULL AQM_PACKET_BYTES
#define ALMOST(a, b) assert_true(fabs((double)(a) - (double)(b)) < 1e-9)

struct content {
    int number;
    bool marked;
};

static void mark(void *packet)
{
    ((struct content *)packet)->marked = true;
}

static void *copy(const void *packet)
{
    struct content *c = malloc(sizeof *c);

    if (c) {
        *c = *(const struct content *)packet;
    }
    return c;
}

static struct aqm *make(enum aqm_kind kind, bool ecn)
{
    struct aqm *q = NULL;
    const struct aqm_config cfg = {.kind = kind, .ecn = ecn, .seed = 1, .mark = mark};

    assert_int_equal(aqm_new(&q, &cfg), 0);
    return q;
}

static void put(struct aqm *q, int number, uint32_t flow, uint8_t ecn, ns_t now)
{
    struct aqm_packet *p = calloc(1, sizeof *p);
    struct content *c = calloc(1, sizeof *c);

    assert_non_null(p);
    assert_non_null(c);
    c->number = number;
    *p = (struct aqm_packet){.packet = c, .bytes = FULL, .flow = flow, .ecn = ecn};
    aqm_enqueue(q, p, now);
}

/* The number of the packet that comes out at now, and whether it is marked; -1 for none. */
static int take(struct aqm *q, ns_t now, bool *marked)
{
    struct aqm_packet *p = aqm_head(q, now) ? aqm_take(q, now) : NULL;
    int number = -1;

    if (p) {
        number = ((struct content *)p->packet)->number;
        *marked = ((struct content *)p->packet)->marked;
        assert_int_equal(*marked, p->ecn == AQM_CE);
        free(p->packet);
        free(p->copy);
        free(p);
    }
    return number;
}

static struct aqm_stats stats(const struct aqm *q, int queue)
{
    struct aqm_stats s;

    aqm_stats(q, queue, &s);
    return s;
}

static void configurations_that_cannot_be(void **state)
{
    static const struct aqm_config bad[] = {
        {.kind = AQM_DROP_TAIL},           {.kind = AQM_KINDS},
        {.kind = AQM_CODEL, .target = -1}, {.kind = AQM_CODEL, .interval = -1},
        {.kind = AQM_PIE, .ecn = true},    {.kind = AQM_CAKE},
    };
    const struct link_config unlimited = {.aqm = {.kind = AQM_CODEL}};
    const struct link_config unmarked = {
        .rate = MBIT, .burst_bytes = 2000, .queue_bytes = 9000, .aqm = {.kind = AQM_PIE, .ecn = 1}};
    struct aqm *q;
    struct link *l;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(aqm_new(&q, &bad[i]), ERR_CONFIG);
    }
    assert_int_equal(link_new(&l, &unlimited), ERR_CONFIG);
    assert_int_equal(link_new(&l, &unmarked), ERR_CONFIG);
    assert_false(aqm_has_model(AQM_DROP_TAIL) || aqm_has_model(AQM_CAKE));
    assert_true(aqm_has_model(AQM_CODEL) && aqm_has_model(AQM_DUALPI2));
    assert_string_equal(aqm_kind_name(AQM_FQ_CODEL), "fq-codel");
    assert_int_equal(aqm_target(&(struct aqm_config){.kind = AQM_CODEL}), 5 * NS_PER_MS);
    assert_int_equal(aqm_target(&(struct aqm_config){.kind = AQM_PIE}), 15 * NS_PER_MS);
    assert_int_equal(aqm_target(&(struct aqm_config){.kind = AQM_DUALPI2}), 15 * NS_PER_MS);
    assert_int_equal(aqm_target(&(struct aqm_config){.kind = AQM_PIE, .target = 3}), 3);
}

/* ---- CoDel ---- */

/* RFC 8289 section 5.5: 100 ms / sqrt(n) after the n-th drop. */
static void codel_control_law_by_hand(void **state)
{
    static const ns_t gaps_us[] = {100000, 70710, 57735, 50000, 44721};

    (void)state;
    for (uint32_t n = 1; n <= 5; n++) {
        assert_int_equal(codel_control_law(0, CODEL_INTERVAL, n) / NS_PER_US, gaps_us[n - 1]);
    }
    assert_int_equal(codel_control_law(7, CODEL_INTERVAL, 100), 7 + 10 * NS_PER_MS);
}

/* A queue in which every packet has waited 10 ms when it leaves, one each ms: numbers out of it. A
 * packet that is dropped takes the turn's next with it. */
static int run_codel(struct aqm *q, int ms, ns_t *drops, int max, bool ecn)
{
    int next = 0, count = 0, in = 0;
    bool marked = false;

    for (int t = 0; t < ms; t++) {
        for (; in <= t + 1 + count; in++) {
            put(q, in, 0, ecn ? AQM_ECT0 : AQM_NOT_ECT, t * NS_PER_MS);
        }
        if (t < 10) {
            continue;
        }
        int number = take(q, t * NS_PER_MS, &marked);
        bool acted = ecn ? marked : number != next;

        if (acted && count < max) {
            drops[count] = t * NS_PER_MS;
        }
        count += acted;
        next = number + 1;
    }
    return count;
}

/* The wait passes 5 ms with the first that leaves, at 10 ms; a full interval later the first drop
 * comes, the others at 100 ms / sqrt(n) after each other, rounded up to the next packet. */
static void codel_drops_at_the_times_of_its_law(void **state)
{
    static const int at_ms[] = {110, 210, 281, 339, 389};

    (void)state;
    for (int ecn = 0; ecn < 2; ecn++) {
        struct aqm *q = make(AQM_CODEL, ecn);
        ns_t drops[5] = {0};

        assert_true(run_codel(q, 400, drops, 5, ecn) >= 5);
        for (int i = 0; i < 5; i++) {
            assert_int_equal(drops[i], at_ms[i] * NS_PER_MS);
        }
        assert_int_equal(stats(q, AQM_QUEUE).early_drops, ecn ? 0 : 5);
        assert_int_equal(stats(q, AQM_QUEUE).marks, ecn ? 5 : 0);
        assert_int_equal(stats(q, AQM_QUEUE).overflow_drops, 0);
        aqm_free(q);
    }
}

/* Below the target, or with no more than a packet behind it, a packet is never dropped. */
static void codel_leaves_short_queues_alone(void **state)
{
    struct aqm *q = make(AQM_CODEL, false);
    bool marked;

    (void)state;
    for (int t = 0; t < 2000; t++) { /* each waits for 4 ms */
        put(q, t, 0, AQM_NOT_ECT, t * NS_PER_MS);
        if (t >= 4) {
            assert_int_equal(take(q, t * NS_PER_MS, &marked), t - 4);
        }
    }
    while (take(q, 2000 * NS_PER_MS, &marked) >= 0) {
    }
    for (int i = 0; i < 50; i++) { /* each for 50 ms, with one behind it */
        put(q, i, 0, AQM_NOT_ECT, (3000 + 50 * i) * NS_PER_MS);
        if (i > 0) {
            assert_int_equal(take(q, (3000 + 50 * i) * NS_PER_MS, &marked), i - 1);
        }
    }
    assert_int_equal(stats(q, AQM_QUEUE).early_drops, 0);
    aqm_free(q);
}

/* ---- PIE ---- */

/* RFC 8033 section 4.2, one line of its table after the other. */
static void pie_steps_by_hand(void **state)
{
    static const struct {
        double prob;
        ns_t wait_ms, old_ms;
        double want;
    } cases[] = {
        /* 1/8 (20 - 15) ms + 5/4 (20 - 10) ms = 0.013125, by the divisor of the probability */
        {0, 20, 10, 0.013125 / 2048},
        {5e-6, 20, 10, 5e-6 + 0.013125 / 512},
        {5e-5, 20, 10, 5e-5 + 0.013125 / 128},
        {5e-4, 20, 10, 5e-4 + 0.013125 / 32},
        {5e-3, 20, 10, 5e-3 + 0.013125 / 8},
        {5e-2, 20, 10, 5e-2 + 0.013125 / 2},
        {0.3, 20, 10, 0.313125},
        /* 1/8 85 ms + 5/4 90 ms = 0.123: more than 2 % at once is too much from 10 % on */
        {0.3, 100, 10, 0.32},
        {0.05, 100, 10, 0.05 + 0.123125 / 2},
        /* above 250 ms 2 % more */
        {0.3, 260, 260, 0.3 + 0.02 + 0.02},
        /* 1/8 (-15 ms) = -0.001875, and 1/64 of the rest goes with an empty queue */
        {0.3, 0, 0, (0.3 - 0.001875) * 63 / 64},
        {0.001, 0, 0, 0.0007656250 * 63 / 64},
        {1e-7, 5, 10, 0},
        {1, 200, 100, 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct pie c = {.drop_prob = cases[i].prob,
                        .wait = cases[i].wait_ms * NS_PER_MS,
                        .wait_old = cases[i].old_ms * NS_PER_MS};

        pie_update(&c, PIE_TARGET, PIE_UPDATE, cases[i].wait_ms == 0);
        ALMOST(c.drop_prob, cases[i].want);
        assert_int_equal(c.wait_old, c.wait);
    }
}

/* Section 4.4: 150 ms of bursts are free, and are again once the queue has been short. */
static void pie_allows_bursts(void **state)
{
    struct pie c;

    (void)state;
    pie_init(&c);
    assert_true(pie_at_rest(&c));
    c.wait = 100 * NS_PER_MS;
    c.drop_prob = c.accu_prob = 0.5;
    for (int i = 0; i < 10; i++) {
        assert_false(pie_drop_early(&c, PIE_TARGET, 100 * FULL, 0));
        pie_update(&c, PIE_TARGET, PIE_UPDATE, false);
    }
    assert_int_equal(c.burst, 0);
    assert_true(pie_drop_early(&c, PIE_TARGET, 100 * FULL, 0));
    c.drop_prob = 0;
    c.wait = c.wait_old = 0;
    pie_update(&c, PIE_TARGET, PIE_UPDATE, true);
    assert_int_equal(c.burst, PIE_BURST_MAX);
}

/* Section 5.4: no drop before the probabilities since the last one sum to 0.85, one at 8.5; section
 * 4.1: none with two packets waiting, or while the wait is below half the target. */
static void pie_derandomises(void **state)
{
    struct pie c = {.drop_prob = 0.1, .wait_old = 20 * NS_PER_MS};

    (void)state;
    for (int i = 0; i < 8; i++) {
        assert_false(pie_drop_early(&c, PIE_TARGET, 10 * FULL, 0.05));
    }
    assert_true(pie_drop_early(&c, PIE_TARGET, 10 * FULL, 0.05));
    for (int i = 0; i < 84; i++) {
        assert_false(pie_drop_early(&c, PIE_TARGET, 10 * FULL, 0.1));
    }
    c.accu_prob = 8.45; /* a sum of 84 tenths is not exactly 8.4 */
    assert_true(pie_drop_early(&c, PIE_TARGET, 10 * FULL, 0.1));
    c.accu_prob = 8.5;
    assert_false(pie_drop_early(&c, PIE_TARGET, 2 * FULL, 0));
    c.wait_old = 7 * NS_PER_MS;
    assert_false(pie_drop_early(&c, PIE_TARGET, 10 * FULL, 0));
    c.drop_prob = 0.2;
    assert_true(pie_drop_early(&c, PIE_TARGET, 10 * FULL, 0));
}

/* ---- DualPI2 ---- */

/* RFC 9332 appendix A.1: p' moves by 0.16 Hz (wait - 15 ms) + 3.2 Hz (wait - wait before). */
static void dualpi2_steps_by_hand(void **state)
{
    struct dualpi2 c = {0};

    (void)state;
    dualpi2_update(&c, DUALPI2_TARGET, 25 * NS_PER_MS);
    ALMOST(c.base, 0.0016 + 0.08);
    dualpi2_update(&c, DUALPI2_TARGET, 25 * NS_PER_MS);
    ALMOST(c.base, 0.0832);
    ALMOST(dualpi2_coupled(&c), 0.1664);
    ALMOST(dualpi2_classic(&c), 0.00692224);
    /* p_C = (p_CL / k)^2 */
    ALMOST(dualpi2_classic(&c), pow(dualpi2_coupled(&c) / DUALPI2_K, 2));
    dualpi2_update(&c, DUALPI2_TARGET, 5 * NS_PER_MS);
    ALMOST(c.base, 0.0832 - 0.0016 - 0.064);
    dualpi2_update(&c, DUALPI2_TARGET, 0);
    ALMOST(c.base, 0);
    dualpi2_update(&c, DUALPI2_TARGET, 10 * NS_PER_S);
    ALMOST(c.base, 1);
}

static void dualpi2_spreads_evenly(void **state)
{
    double count = 0;
    int events = 0;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        events += dualpi2_recur(&count, 0.25);
    }
    assert_in_range(events, 249, 250);
}

/* While the classic queue is at its target, what is in the L queue goes first 9 times of 10, and is
 * marked by the step alone. */
static void dualpi2_serves_both_queues(void **state)
{
    struct aqm *q = make(AQM_DUALPI2, true);
    int low = 0, marks = 0;
    bool marked;

    (void)state;
    for (int i = 0; i < 200; i++) {
        put(q, 2 * i, 1, AQM_ECT0, 0);
        put(q, 2 * i + 1, 2, AQM_ECT1, 0);
    }
    for (int i = 0; i < 100; i++) {
        int number = take(q, NS_PER_MS, &marked);

        low += number % 2;
        assert_false(marked);
    }
    assert_in_range(low, 88, 92);
    for (int i = 0; i < 50; i++) {
        int number = take(q, 2 * NS_PER_MS, &marked);

        low += number % 2;
        marks += marked;
        assert_int_equal(marked, number % 2);
    }
    assert_in_range(low, 133, 137);
    assert_int_equal(stats(q, AQM_LOW_LATENCY_QUEUE).marks, marks);
    assert_int_equal(stats(q, AQM_QUEUE).marks, 0);
    assert_int_equal(stats(q, AQM_LOW_LATENCY_QUEUE).packets, low);
    aqm_free(q);
}

/* ---- as a link ---- */

static struct link *make_link(enum aqm_kind kind, bool ecn, double duplicate)
{
    struct link *l = NULL;
    const struct link_config cfg = {
        .rate = 5 * MBIT,
        .burst_bytes = link_burst_bytes(5 * MBIT),
        .queue_bytes = link_queue_bytes(5 * MBIT, 300 * NS_PER_MS),
        .impair = {.delay = 10 * NS_PER_MS, .loss = duplicate, .duplicate = duplicate, .seed = 3},
        .copy = duplicate > 0 ? copy : NULL,
        .aqm = {.kind = kind, .ecn = ecn, .seed = 5, .mark = mark}};

    assert_int_equal(link_new(&l, &cfg), 0);
    return l;
}

struct outcome {
    uint64_t hash; /* of all that came out: number, time, mark */
    int out, marked, by_flow[8];
};

static void drain(struct link *l, ns_t until, struct outcome *o)
{
    for (ns_t t; (t = link_next(l)) <= until && t != NS_NEVER;) {
        ns_t due = -1;
        struct content *c = link_recv_due(l, t, &due);

        if (c) {
            assert_int_equal(due, t);
            o->hash = (o->hash ^ (uint64_t)(c->number * 2 + c->marked) ^ (uint64_t)t << 20) *
                      UINT64_C(0x9e3779b97f4a7c15);
            o->out++;
            o->marked += c->marked;
            o->by_flow[c->number % 8]++;
            free(c);
        }
    }
}

/* load: packets a second of flow i are weights[i] of it; ecn: of all. */
struct offer {
    int packets;
    double per_s;
    int flows, ecn;
    double first; /* share of flow 0, the others alike; 0: all alike */
};

static struct outcome offer(struct link *l, const struct offer *w)
{
    struct outcome o = {0};
    struct prng p;

    prng_init(&p, 9, "offer");
    for (int i = 0; i < w->packets; i++) {
        ns_t at = (ns_t)(i / w->per_s * 1e9);
        int flow = w->first > 0 && prng_uniform(&p) < w->first
                       ? 0
                       : (int)(prng_uniform(&p) * w->flows) % w->flows;
        struct content *c = calloc(1, sizeof *c);

        assert_non_null(c);
        c->number = i * 8 + flow;
        drain(l, at, &o);
        assert_int_equal(link_send_packet(l,
                                          &(struct link_packet){.packet = c,
                                                                .bytes = FULL,
                                                                .flow = (uint32_t)flow * 7919,
                                                                .ecn = (uint8_t)w->ecn},
                                          at),
                         0);
    }
    return o;
}

static void assert_conserved(struct link *l)
{
    struct link_counters c;

    link_counters(l, &c);
    assert_int_equal(c.in_packets + c.duplicated,
                     c.out_packets + c.queue_drops + c.loss_drops + link_packets(l));
}

/* Twice what the link carries, for ten seconds, of which a rest stays inside; with what else a path
 * does, and ECN or not: nothing appears or vanishes, and twice the same is the same. */
static void every_packet_is_accounted_for(void **state)
{
    const struct offer load = {.packets = 8000, .per_s = 800, .flows = 4};

    (void)state;
    for (int kind = AQM_CODEL; kind < AQM_MODELS_END; kind++) {
        for (int ecn = AQM_NOT_ECT; ecn <= AQM_CE; ecn++) {
            struct offer w = load;
            struct outcome first = {0}, again;
            struct link *l;

            w.ecn = ecn;
            for (int i = 0; i < 2; i++) {
                l = make_link(kind, ecn != AQM_NOT_ECT, 0.1);
                again = offer(l, &w);
                first = i ? first : again;
                assert_conserved(l);
                assert_true(link_packets(l) > 0);
                if (i) { /* the other one is freed with what is inside */
                    drain(l, NS_NEVER - 1, &again);
                    assert_int_equal(link_packets(l), 0);
                    assert_int_equal(link_backlog_bytes(l, NS_NEVER - 1), 0);
                    assert_conserved(l);
                } else {
                    assert_true(first.out > 3000);
                }
                link_free(l);
            }
            assert_true(again.out > first.out);
        }
    }
}

static void equal_input_gives_equal_output(void **state)
{
    const struct offer load = {.packets = 8000, .per_s = 500, .flows = 4, .ecn = AQM_ECT1};

    (void)state;
    for (int kind = AQM_CODEL; kind < AQM_MODELS_END; kind++) {
        uint64_t hash[2];

        for (int i = 0; i < 2; i++) {
            struct link *l = make_link(kind, true, 0);

            hash[i] = offer(l, &load).hash;
            link_free(l);
        }
        assert_true(hash[0] == hash[1]);
    }
}

/* The limit in bytes holds whatever the discipline wants. */
static void the_limit_is_a_backstop(void **state)
{
    const struct offer flood = {.packets = 4000, .per_s = 8000, .flows = 4, .ecn = AQM_ECT0};

    (void)state;
    for (int kind = AQM_CODEL; kind < AQM_MODELS_END; kind++) {
        struct link *l = make_link(kind, true, 0);
        struct link_counters c;
        struct aqm_stats s;

        offer(l, &flood);
        link_counters(l, &c);
        link_queue(l, AQM_QUEUE, &s);
        assert_in_range(c.backlog_max_bytes, 180000, 187500);
        assert_true(s.overflow_drops > 1000);
        assert_true(s.sojourn_max <= 300 * NS_PER_MS);
        assert_conserved(l);
        link_free(l);
    }
}

/* 5 % more than the link carries: all disciplines hold the queue far below its 300 ms, which tail
 * drop fills; with ECN the few they would drop are marked. */
static void queues_stay_short(void **state)
{
    static const ns_t p50_max[AQM_KINDS] = {[AQM_CODEL] = 60 * NS_PER_MS,
                                            [AQM_FQ_CODEL] = 60 * NS_PER_MS,
                                            [AQM_PIE] = 30 * NS_PER_MS,
                                            [AQM_DUALPI2] = 30 * NS_PER_MS};
    const struct offer load = {.packets = 17400, .per_s = 435, .flows = 2};

    (void)state;
    for (int kind = AQM_CODEL; kind < AQM_MODELS_END; kind++) {
        struct link *l = make_link(kind, false, 0);
        struct aqm_stats s;

        offer(l, &load);
        link_queue(l, AQM_QUEUE, &s);
        print_message("%-8s p50 %.1f p95 %.1f p99 %.1f ms, %d dropped\n", aqm_kind_name(kind),
                      ns_to_ms(s.sojourn_p50), ns_to_ms(s.sojourn_p95), ns_to_ms(s.sojourn_p99),
                      (int)s.early_drops);
        assert_true(s.sojourn_p50 < p50_max[kind]);
        assert_in_range(s.early_drops, 500, 1000);
        assert_int_equal(s.overflow_drops, 0);
        assert_int_equal(s.marks, 0);
        link_free(l);
    }
}

/* Marking does not make room, so the probability grows: pie and dualpi2 then drop again, from 10
 * and 25 % on. Until then, and with codel for ever, what would be dropped comes out marked. */
static void ecn_marks_instead_of_dropping(void **state)
{
    static const bool relapses[AQM_KINDS] = {[AQM_PIE] = true, [AQM_DUALPI2] = true};

    (void)state;
    for (int kind = AQM_CODEL; kind < AQM_MODELS_END; kind++) {
        struct offer load = {.packets = 1000, .per_s = 430, .flows = 1, .ecn = AQM_ECT0};

        for (int i = 0; i < 2; i++, load.packets *= 20) {
            struct link *l = make_link(kind, true, 0);
            struct outcome o = offer(l, &load);
            struct aqm_stats s;

            drain(l, NS_NEVER - 1, &o);
            link_queue(l, AQM_QUEUE, &s);
            assert_true(s.marks > 5);
            assert_int_equal(o.marked, s.marks);
            assert_int_equal((uint64_t)o.out + s.early_drops + s.overflow_drops, load.packets);
            if (!relapses[kind]) {
                assert_int_equal(s.early_drops, 0);
            } else if (i) {
                assert_in_range(s.early_drops, load.packets / 50, load.packets / 10);
                assert_int_equal(s.overflow_drops, 0);
            }
            link_free(l);
        }
    }
}

/* One flow offers 90 % of twice the rate, three others share the rest: with one queue they get what
 * they offer less a half, with fq_codel all that they offer. */
static void fq_codel_is_fair(void **state)
{
    const struct offer load = {.packets = 16000, .per_s = 800, .flows = 4, .first = 0.87};
    struct link *one = make_link(AQM_CODEL, false, 0), *fair = make_link(AQM_FQ_CODEL, false, 0);
    struct outcome together = offer(one, &load), apart = offer(fair, &load);

    (void)state;
    for (int i = 1; i < 4; i++) { /* each offers 13 % / 4 of 16000 */
        assert_in_range(apart.by_flow[i], 470, 570);
        assert_true(together.by_flow[i] < apart.by_flow[i] * 3 / 4);
    }
    link_free(one);
    link_free(fair);
    const struct offer alike = {.packets = 16000, .per_s = 1600, .flows = 4};

    fair = make_link(AQM_FQ_CODEL, false, 0);
    apart = offer(fair, &alike);
    for (int i = 0; i < 4; i++) { /* a quarter each of 10 s at 5 Mbit/s */
        assert_in_range(apart.by_flow[i], 980, 1080);
    }
    link_free(fair);
}

/* A change of the rate is what a step of a schedule is, also to the limit of a discipline. */
static void changes_are_steps(void **state)
{
    static const struct rate_step steps[] = {{0, 5 * MBIT}, {2 * NS_PER_S, MBIT}};
    const struct rate_schedule schedule = {.steps = steps, .count = 2};
    const struct offer load = {.packets = 1000, .per_s = 500, .flows = 2},
                       rest = {.packets = 400, .per_s = 100, .flows = 2};

    (void)state;
    for (int kind = AQM_DROP_TAIL; kind < AQM_MODELS_END; kind++) {
        struct outcome o[2];

        for (int i = 0; i < 2; i++) {
            struct link *l = NULL;
            struct link_config cfg = {.rate = 5 * MBIT,
                                      .burst_bytes = link_burst_bytes(5 * MBIT),
                                      .queue_bytes = link_queue_bytes(5 * MBIT, 200 * NS_PER_MS),
                                      .aqm = {.kind = kind}};

            if (i) {
                cfg.schedule = &schedule;
                cfg.queue_time = 200 * NS_PER_MS;
            }
            assert_int_equal(link_new(&l, &cfg), 0);
            o[i] = offer(l, &load);
            drain(l, 2 * NS_PER_S - 1, &o[i]);
            if (!i) {
                link_change(l, MBIT, link_queue_bytes(MBIT, 200 * NS_PER_MS), 2 * NS_PER_S);
            }
            for (int n = 0; n < rest.packets; n++) {
                ns_t at = 2 * NS_PER_S + n * 10 * NS_PER_MS;
                struct content *c = calloc(1, sizeof *c);

                assert_non_null(c);
                c->number = n;
                drain(l, at, &o[i]);
                assert_int_equal(link_send(l, c, FULL, at), 0);
            }
            drain(l, NS_NEVER - 1, &o[i]);
            assert_conserved(l);
            link_free(l);
        }
        assert_true(o[0].hash == o[1].hash);
        assert_in_range(o[0].out, 1000, 1300);
    }
}

/* Both directions of a flow and neighbouring ports are flows of their own. */
static void flows_have_hashes_of_their_own(void **state)
{
    struct addr a, b, c;

    (void)state;
    assert_int_equal(addr_parse(&a, "10.77.1.1:5000"), 0);
    assert_int_equal(addr_parse(&b, "10.77.3.2:5000"), 0);
    assert_int_equal(addr_parse(&c, "10.77.3.2:5002"), 0);
    assert_int_equal(flow_hash(FLOW_UDP, &a, &b), flow_hash(FLOW_UDP, &a, &b));
    assert_int_not_equal(flow_hash(FLOW_UDP, &a, &b), flow_hash(FLOW_UDP, &b, &a));
    assert_int_not_equal(flow_hash(FLOW_UDP, &a, &b), flow_hash(FLOW_UDP, &a, &c));
    assert_int_not_equal(flow_hash(FLOW_UDP, &a, &b), flow_hash(FLOW_TCP, &a, &b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(configurations_that_cannot_be),
        cmocka_unit_test(codel_control_law_by_hand),
        cmocka_unit_test(codel_drops_at_the_times_of_its_law),
        cmocka_unit_test(codel_leaves_short_queues_alone),
        cmocka_unit_test(pie_steps_by_hand),
        cmocka_unit_test(pie_allows_bursts),
        cmocka_unit_test(pie_derandomises),
        cmocka_unit_test(dualpi2_steps_by_hand),
        cmocka_unit_test(dualpi2_spreads_evenly),
        cmocka_unit_test(dualpi2_serves_both_queues),
        cmocka_unit_test(every_packet_is_accounted_for),
        cmocka_unit_test(equal_input_gives_equal_output),
        cmocka_unit_test(the_limit_is_a_backstop),
        cmocka_unit_test(queues_stay_short),
        cmocka_unit_test(ecn_marks_instead_of_dropping),
        cmocka_unit_test(fq_codel_is_fair),
        cmocka_unit_test(changes_are_steps),
        cmocka_unit_test(flows_have_hashes_of_their_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
