/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A call alone whose path loses two thirds of its capacity at once: the queue must not stay full,
 * nor the media starve. In virtual time, on both stacks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "agents/agent_pair_test.h"

#define STEP (20 * NS_PER_S)
#define END (40 * NS_PER_S)
/* From when on the queue must be short. What a browser allows to be in flight is more than such a
 * queue holds, so that on WebRTC it may stay full until the loss model has the rate down. */
#define SETTLED_QUIC (STEP + 5 * NS_PER_S)
#define SETTLED_WEBRTC (STEP + 8 * NS_PER_S)
#define FALLEN INT64_C(1000000)
#define QUEUE_ALLOWED (100 * NS_PER_MS)

struct watch {
    ns_t settled;
    int64_t packets, waiting; /* sent from then on, and those that found more of a queue */
};

static void look(struct pair *n, int from, struct dgram *d)
{
    struct watch *w = n->meddle_ctx;

    (void)d;
    if (from == SENDER && n->now >= w->settled) {
        w->packets++;
        w->waiting += n->busy_until[SENDER] - n->now > QUEUE_ALLOWED;
    }
}

static void step_down(int64_t stack, ns_t settled, uint64_t seed)
{
    struct agent_config c = pair_config(SENDER);
    struct watch w = {.settled = settled};
    struct pair n;
    int64_t before, bytes;

    c.stack = stack;
    c.media = 1;
    c.min_rate = 150000;
    c.duration = END;
    pair_init(&n, &c, seed);
    n.rate = 3000000;
    n.delay = 10 * NS_PER_MS;
    n.meddle = look;
    n.meddle_ctx = &w;
    pair_run(&n, STEP);
    n.rate = FALLEN;
    pair_run(&n, settled);
    before = n.seen[SENDER].rtp_bytes;
    pair_run(&n, END - NS_PER_S);
    bytes = n.seen[SENDER].rtp_bytes - before;
    pair_fini(&n);
    assert_true(w.packets > 500);
    assert_true(w.waiting * 10 < w.packets);
    /* of the capacity GCC after a fall has at least half */
    assert_true(bytes > rate_bytes(FALLEN, END - NS_PER_S - settled) / 2);
}

static void test_quic(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        step_down(AGENT_STACK_QUIC, SETTLED_QUIC, seed);
    }
}

static void test_webrtc(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        step_down(AGENT_STACK_WEBRTC, SETTLED_WEBRTC, seed);
    }
}

/* A call on WebRTC after a step as in RFC 8867 section 5.1. Nearly all that is lost is sent again
 * in time, so that at most one key frame, six times a frame's size, goes into the full queue. One
 * for each packet given up lost more and asked for the next: five in this place. Chromium asks for
 * none.
 */
static void few_key_frames_into_a_full_queue(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct agent_config c = pair_config(SENDER);
        struct pair n;

        c.stack = AGENT_STACK_WEBRTC;
        c.media = 1;
        c.min_rate = 150000;
        c.max_rate = 1500000;
        c.duration = END;
        pair_init(&n, &c, seed);
        n.rate = 2500000;
        n.delay = 50 * NS_PER_MS;
        pair_run(&n, STEP);
        n.rate = 600000;
        pair_run(&n, END + NS_PER_S);
        pair_fini(&n);
        assert_true(pair_counter(&n.seen[RECEIVER], "media-recovered") > 0);
        assert_true(pair_counter(&n.seen[RECEIVER], "plis-sent") <= 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quic),
        cmocka_unit_test(test_webrtc),
        cmocka_unit_test(few_key_frames_into_a_full_queue),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
