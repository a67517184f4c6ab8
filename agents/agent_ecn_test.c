/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Congestion marks end to end over a small bottleneck in virtual time that marks what waits: the
 * bits on what is sent, what comes back of them, and a queue that stays shorter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "agents/agent_pair_test.h"

#define SETTLED (10 * NS_PER_S)
#define END (40 * NS_PER_S)
#define PACING_PPM 1100000 /* the default */
#define BURSTY_PPM 2500000
/* What is marked: a queue that a call alone makes now and then, and one that bursts make. */
#define CLASSIC_MARK (10 * NS_PER_MS)
#define L4S_MARK (5 * NS_PER_MS)

enum { NOT_ECT, ECT1, ECT0, CE };

struct result {
    double queue_ms; /* mean over the sender's datagrams from SETTLED on */
    double rate_bps; /* RTP from SETTLED on */
    int64_t packets, waited_ns, reported;
    bool bleach;
};

static void look(struct pair *n, int from, struct dgram *d)
{
    struct result *r = n->meddle_ctx;

    if (r->bleach) {
        d->ecn = NOT_ECT;
    }
    if (from == SENDER && n->now >= SETTLED) {
        r->packets++;
        r->waited_ns += ns_max(n->busy_until[SENDER] - n->now, 0);
    }
}

static void row(void *ctx, enum record_kind kind, const int64_t *v)
{
    struct result *r = ctx;

    if (kind == RECORD_ECN) {
        assert_true(v[2] >= 0 && v[2] <= v[1]);
        r->reported += v[2];
    }
}

static void call(struct pair *n, struct result *r, const struct agent_config *cfg, ns_t mark_above)
{
    int64_t before;

    pair_init(n, cfg, 4);
    n->rate = 3000000;
    n->mark_above = mark_above;
    n->meddle = look;
    n->meddle_ctx = r;
    n->seen[SENDER].row = row;
    n->seen[SENDER].row_ctx = r;
    pair_run(n, SETTLED);
    before = n->seen[SENDER].rtp_bytes;
    pair_run(n, END + 5 * NS_PER_S);
    assert_true(agent_done(n->agent[SENDER]) && agent_done(n->agent[RECEIVER]));
    assert_null(agent_error(n->agent[SENDER]));
    assert_null(agent_error(n->agent[RECEIVER]));
    r->rate_bps = (double)(n->seen[SENDER].rtp_bytes - before) * 8 / ns_to_s(END - SETTLED);
    r->queue_ms = ns_to_ms(r->waited_ns) / (double)r->packets;
    pair_fini(n);
}

static struct agent_config config(int64_t stack, int64_t ecn)
{
    struct agent_config c = pair_config(SENDER);

    c.stack = stack;
    c.ecn = ecn;
    c.media = 1;
    c.min_rate = 150000;
    c.duration = END;
    return c;
}

static struct result run(int64_t stack, int64_t ecn, int64_t pacing_ppm, ns_t mark_above,
                         struct pair *n)
{
    struct agent_config cfg = config(stack, ecn);
    struct result r = {.packets = 0};

    cfg.pacing_ppm = pacing_ppm;
    call(n, &r, &cfg, mark_above);
    print_message("%s, ecn %d: queue %.2f ms, %.2f Mbit/s, %d marked\n",
                  stack == AGENT_STACK_QUIC ? "quic" : "webrtc", (int)ecn, r.queue_ms,
                  r.rate_bps / 1e6, (int)n->marked);
    return r;
}

static void test_off(void **state)
{
    struct pair n;

    (void)state;
    for (int64_t stack = AGENT_STACK_QUIC; stack <= AGENT_STACK_WEBRTC; stack++) {
        run(stack, AGENT_ECN_OFF, PACING_PPM, NS_PER_MS, &n);
        assert_int_equal(n.marked, 0);
        assert_int_equal(n.ecn_sent[ECT0] + n.ecn_sent[ECT1] + n.ecn_sent[CE], 0);
    }
}

static void test_classic(void **state)
{
    struct result off, on;
    struct pair n;

    (void)state;
    for (int64_t stack = AGENT_STACK_QUIC; stack <= AGENT_STACK_WEBRTC; stack++) {
        off = run(stack, AGENT_ECN_OFF, PACING_PPM, CLASSIC_MARK, &n);
        on = run(stack, AGENT_ECN_CLASSIC, PACING_PPM, CLASSIC_MARK, &n);
        assert_int_equal(n.ecn_sent[ECT1] + n.ecn_sent[CE], 0);
        assert_true(n.ecn_sent[ECT0] > 50 * n.ecn_sent[NOT_ECT]);
        assert_true(n.marked > 0);
        assert_int_equal(pair_counter(&n.seen[RECEIVER], "ecn-received-ce"), n.marked);
        assert_int_equal(pair_counter(&n.seen[SENDER], "ecn-marks-reported"), n.marked);
        assert_int_equal(on.reported, n.marked);
        assert_true(on.queue_ms < off.queue_ms);
        assert_true(on.rate_bps > 0.75 * off.rate_bps);
    }
}

/* Paced as ever, or told to send in bursts, which L4S does not: such queues mark them. */
static void l4s(int64_t pacing_ppm, double queue_ratio_max)
{
    struct result off, on;
    struct pair n;

    for (int64_t stack = AGENT_STACK_QUIC; stack <= AGENT_STACK_WEBRTC; stack++) {
        off = run(stack, AGENT_ECN_OFF, pacing_ppm, L4S_MARK, &n);
        on = run(stack, AGENT_ECN_L4S, pacing_ppm, L4S_MARK, &n);
        assert_int_equal(n.ecn_sent[ECT0] + n.ecn_sent[CE], 0);
        assert_true(n.ecn_sent[ECT1] > 50 * n.ecn_sent[NOT_ECT]);
        assert_true(n.marked > 0);
        assert_int_equal(pair_counter(&n.seen[RECEIVER], "ecn-received-ce"), n.marked);
        assert_int_equal(on.reported, n.marked);
        assert_true(on.queue_ms < queue_ratio_max * off.queue_ms);
        assert_true(on.rate_bps > 0.7 * off.rate_bps);
    }
}

static void test_l4s(void **state)
{
    (void)state;
    l4s(PACING_PPM, 1);
}

static void test_l4s_without_bursts(void **state)
{
    (void)state;
    l4s(BURSTY_PPM, 0.5);
}

/* ngtcp2's own controllers halve, or nearly, instead of filling the queue. */
static void test_windowed(void **state)
{
    struct agent_config cfg = config(AGENT_STACK_QUIC, AGENT_ECN_OFF);
    struct result off = {.packets = 0}, on = off;
    struct pair n;

    (void)state;
    cfg.media = 0;
    cfg.data = AGENT_DATA_ENDLESS;
    cfg.preset = AGENT_PRESET_CUBIC;
    call(&n, &off, &cfg, 50 * NS_PER_MS);
    cfg.ecn = AGENT_ECN_CLASSIC;
    call(&n, &on, &cfg, 50 * NS_PER_MS);
    assert_true(n.marked > 0);
    assert_int_equal(pair_counter(&n.seen[SENDER], "ecn-failed"), 0);
    assert_true(on.queue_ms < 70 && off.queue_ms > 150);
    assert_int_equal(pair_counter(&n.seen[SENDER], "packets-lost"), 0);
}

/* A path that clears the bits: QUIC notices (RFC 9000 section 13.4.2), and the call goes on. */
static void test_bleached(void **state)
{
    (void)state;
    for (int64_t stack = AGENT_STACK_QUIC; stack <= AGENT_STACK_WEBRTC; stack++) {
        struct agent_config cfg = config(stack, AGENT_ECN_L4S);
        struct result r = {.bleach = true};
        struct pair n;

        call(&n, &r, &cfg, L4S_MARK);
        assert_int_equal(n.marked, 0);
        assert_int_equal(r.reported, 0);
        assert_true(r.rate_bps > 2e6);
        if (stack == AGENT_STACK_QUIC) {
            assert_int_equal(pair_counter(&n.seen[SENDER], "ecn-failed"), 1);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_off),      cmocka_unit_test(test_classic),
        cmocka_unit_test(test_l4s),      cmocka_unit_test(test_l4s_without_bursts),
        cmocka_unit_test(test_windowed), cmocka_unit_test(test_bleached),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
