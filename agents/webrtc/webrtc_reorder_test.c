/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls over a path that reorders, repeats and loses datagrams: nothing may be lost for good, taken
 * twice, or believed lost that only came late. */
#include "agents/base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agents/agent_pair_test.h"

#define FILE_BYTES 1000000
#define HANDSHAKE_SEEDS 200

/* How a path mixes up what it carries. */
struct mixer {
    struct prng prng;
    ns_t spread;       /* delay beyond the shortest, uniformly up to this */
    uint32_t every;    /* one in so many is held back; 0: none */
    uint32_t repeated; /* one in so many goes twice; 0: none */
};

static void mix(struct pair *n, int from, struct dgram *d)
{
    struct mixer *m = n->meddle_ctx;
    ns_t shortest = 20 * NS_PER_MS;

    if (m->repeated && prng_u32(&m->prng) % m->repeated == 0) {
        n->delay = shortest + 5 * NS_PER_MS;
        pair_carry(n, from, d);
    }
    n->delay = shortest;
    if (m->every && prng_u32(&m->prng) % m->every == 0) {
        n->delay += (ns_t)(prng_uniform(&m->prng) * (double)m->spread);
    }
}

/* A call with a file; leaves what both ends have counted in n. */
static void call(struct pair *n, struct mixer m, int64_t loss_ppm, uint64_t seed)
{
    struct agent_config c = pair_config(SENDER);

    c.stack = AGENT_STACK_WEBRTC;
    c.media = 1;
    c.data = AGENT_DATA_FILE;
    c.data_bytes = FILE_BYTES;
    c.data_start = 3 * NS_PER_S;
    c.linger = 2 * NS_PER_S;
    pair_init(n, &c, seed);
    prng_init(&m.prng, seed, "mixer");
    n->loss_ppm = loss_ppm;
    n->queue = NS_PER_S * 10; /* so that only the path's own losses are losses */
    n->meddle = mix;
    n->meddle_ctx = &m;
    pair_run(n, 200 * NS_PER_S);
    for (int i = 0; i < 2; i++) {
        assert_true(agent_done(n->agent[i]));
        assert_null(agent_error(n->agent[i]));
    }
    pair_fini(n);
    assert_int_equal(n->seen[RECEIVER].intact, 1);
    assert_int_equal(n->seen[RECEIVER].file_bytes, FILE_BYTES);
    assert_int_equal(pair_counter(&n->seen[RECEIVER], "media-malformed"), 0);
    assert_int_equal(pair_counter(&n->seen[RECEIVER], "bad-rtp"), 0);
    assert_int_equal(pair_counter(&n->seen[SENDER], "feedbacks-malformed"), 0);
    assert_int_equal(pair_counter(&n->seen[SENDER], "rtcp-malformed"), 0);
    assert_int_equal(pair_counter(&n->seen[RECEIVER], "media-given-up"), 0);
}

static int64_t received(const struct pair *n, const char *name)
{
    return pair_counter(&n->seen[RECEIVER], name);
}

static void test_some_datagrams_come_late(void **state)
{
    struct pair n;

    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        call(&n, (struct mixer){.spread = 30 * NS_PER_MS, .every = 10}, 0, seed);
        assert_true(received(&n, "media-missing") > 50);
        /* every number sent has come: nothing is lost that feedback has not taken back, but for
         * what was on its way when the call ended */
        assert_int_equal(received(&n, "media-packets"),
                         pair_counter(&n.seen[SENDER], "media-packets"));
        assert_true(pair_counter(&n.seen[SENDER], "packets-lost") > 0);
        assert_true(pair_counter(&n.seen[SENDER], "packets-lost") -
                        pair_counter(&n.seen[SENDER], "packets-spuriously-lost") <=
                    2);
    }
}

static void test_all_datagrams_are_mixed_up(void **state)
{
    struct pair n;

    (void)state;
    call(&n, (struct mixer){.spread = 15 * NS_PER_MS, .every = 1}, 0, 7);
    assert_int_equal(received(&n, "media-packets"), pair_counter(&n.seen[SENDER], "media-packets"));
}

static void test_datagrams_come_twice(void **state)
{
    struct pair n;

    (void)state;
    call(&n, (struct mixer){.repeated = 5}, 0, 3);
    /* the copies are refused before they are opened: SRTP's replay protection */
    assert_true(received(&n, "datagrams-replayed") > 200);
    assert_int_equal(received(&n, "datagrams-forged"), 0);
    assert_int_equal(received(&n, "media-missing"), 0);
    assert_int_equal(pair_counter(&n.seen[SENDER], "media-resent"), 0);
}

static void test_late_twice_and_lost(void **state)
{
    struct pair n;

    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        call(&n, (struct mixer){.spread = 40 * NS_PER_MS, .every = 8, .repeated = 10}, 20000, seed);
        assert_true(received(&n, "media-recovered") > 50);
        /* what was lost has been sent again */
        assert_true(received(&n, "media-packets") >=
                    pair_counter(&n.seen[SENDER], "media-packets") - 5);
    }
}

/* The handshake over such a path: at least 199 of 200 seeds within the time an agent allows. */
static void handshakes(struct mixer m, int64_t loss_ppm)
{
    struct agent_config c = pair_config(SENDER);
    int completed = 0;

    c.stack = AGENT_STACK_WEBRTC;
    c.media = 1;
    for (uint64_t seed = 1; seed <= HANDSHAKE_SEEDS; seed++) {
        struct pair n;
        pair_init(&n, &c, seed);
        prng_init(&m.prng, seed, "mixer");
        n.loss_ppm = loss_ppm;
        n.meddle = mix;
        n.meddle_ctx = &m;
        while (n.now < 30 * NS_PER_S && !agent_done(n.agent[SENDER]) &&
               !(n.seen[SENDER].handshake && n.seen[RECEIVER].handshake)) {
            pair_run(&n, n.now + 50 * NS_PER_MS);
        }
        if (n.seen[SENDER].handshake && n.seen[RECEIVER].handshake) {
            completed++;
        } else {
            print_message("seed %d: %s, %s\n", (int)seed, agent_error(n.agent[SENDER]),
                          agent_error(n.agent[RECEIVER]));
        }
        pair_fini(&n);
    }
    assert_in_range(completed, HANDSHAKE_SEEDS - 1, HANDSHAKE_SEEDS);
}

static void test_handshakes(void **state)
{
    (void)state;
    handshakes((struct mixer){.spread = 100 * NS_PER_MS, .every = 1}, 0);
    handshakes((struct mixer){.spread = 100 * NS_PER_MS, .every = 2, .repeated = 3}, 100000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_some_datagrams_come_late),
        cmocka_unit_test(test_all_datagrams_are_mixed_up),
        cmocka_unit_test(test_datagrams_come_twice),
        cmocka_unit_test(test_late_twice_and_lost),
        cmocka_unit_test(test_handshakes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
