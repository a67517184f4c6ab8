/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What congestion marks do to every controller's estimate: a path without a queue, whose packets
 * all arrive, until some come marked. */
#include "agents/cc/cc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define MS NS_PER_MS
#define RTT (60 * MS)
#define INTERVAL (20 * MS)
#define PACKET 600
#define BATCH_MAX 64
#define MBIT INT64_C(1000000)

typedef int make(struct cc **out, const struct cc_config *cfg, ns_t now);

struct loop {
    struct cc *cc;
    ns_t now;
    int64_t owed_bytes;
};

static struct loop begin(make *new, enum cc_ecn ecn)
{
    const struct cc_config cfg = {
        .start_rate = 2 * MBIT, .min_rate = MBIT / 2, .max_rate = 10 * MBIT, .ecn = ecn};
    struct loop l = {.cc = NULL};

    assert_int_equal(new (&l.cc, &cfg, 0), 0);
    return l;
}

/* One feedback of what was sent, at the target, in INTERVAL; the first `lost` of it were lost and
 * the last `marked` marked. */
static void feed(struct loop *l, int64_t lost, int64_t marked)
{
    struct cc_packet p[BATCH_MAX];
    int64_t n;

    l->owed_bytes += rate_bytes(cc_target(l->cc), INTERVAL);
    n = l->owed_bytes / PACKET;
    n = n > BATCH_MAX ? BATCH_MAX : n;
    l->owed_bytes -= n * PACKET;
    for (int64_t i = 0; i < n; i++) {
        ns_t sent = l->now + i * (INTERVAL / n);

        cc_on_sent(l->cc, PACKET, sent);
        p[i] = (struct cc_packet){.sent = sent,
                                  .arrival = sent + RTT / 2,
                                  .bytes = PACKET,
                                  .lost = i < lost,
                                  .probe = CC_NO_PROBE};
    }
    l->now += INTERVAL;
    if (cc_deadline(l->cc) <= l->now) {
        cc_expire(l->cc, l->now);
    }
    cc_on_feedback(l->cc, p, (size_t)n, RTT, l->now + RTT / 2);
    cc_on_marks(l->cc, marked < n ? marked : n, n, l->now + RTT / 2);
}

static void feed_for(struct loop *l, ns_t time)
{
    for (ns_t end = l->now + time; l->now < end;) {
        feed(l, 0, 0);
    }
}

static make *const controllers[] = {cc_libwebrtc_new, cc_muxbed_new, cc_prototype_new};

#define CONTROLLERS (sizeof controllers / sizeof controllers[0])

static void test_classic(void **state)
{
    (void)state;
    for (size_t i = 0; i < CONTROLLERS; i++) {
        struct loop l = begin(controllers[i], CC_ECN_CLASSIC);
        bps_t before, once;

        feed_for(&l, 15 * NS_PER_S);
        before = cc_target(l.cc);
        feed(&l, 0, 1);
        once = cc_target(l.cc);
        assert_true(once < before * 88 / 100);
        assert_true(once > before / 2);
        /* more of the same round trip */
        feed(&l, 0, 64);
        assert_true(cc_target(l.cc) >= once * 99 / 100);
        /* of the next round trip; muxbed heeds them once per turn, which takes longer */
        for (ns_t end = l.now + 300 * NS_PER_MS; l.now < end;) {
            feed(&l, 0, 64);
        }
        assert_true(cc_target(l.cc) < once * 95 / 100 || once == MBIT / 2);
        cc_free(l.cc);
    }
}

/* Losses and marks of one round trip are one congestion. */
static void test_loss_and_mark(void **state)
{
    (void)state;
    for (size_t i = 0; i < CONTROLLERS; i++) {
        struct loop marks = begin(controllers[i], CC_ECN_CLASSIC),
                    both = begin(controllers[i], CC_ECN_CLASSIC);

        feed_for(&marks, 15 * NS_PER_S);
        feed_for(&both, 15 * NS_PER_S);
        assert_int_equal(cc_target(marks.cc), cc_target(both.cc));
        feed(&marks, 0, 1);
        feed(&both, 1, 1);
        assert_true(cc_target(both.cc) > cc_target(marks.cc) * 85 / 100);
        cc_free(marks.cc);
        cc_free(both.cc);
    }
}

/* A tenth of the packets marked costs a little of the rate in each round trip, all of them half. */
static void test_l4s(void **state)
{
    (void)state;
    for (size_t i = 0; i < CONTROLLERS; i++) {
        struct loop few = begin(controllers[i], CC_ECN_L4S), all = few;
        bps_t before;

        all = begin(controllers[i], CC_ECN_L4S);
        feed_for(&few, 15 * NS_PER_S);
        feed_for(&all, 15 * NS_PER_S);
        before = cc_target(few.cc);
        for (int k = 0; k < 50; k++) {
            feed(&few, 0, k % 2);
            feed(&all, 0, 64);
        }
        assert_true(cc_target(few.cc) < before);
        assert_true(cc_target(all.cc) < before / 2);
        assert_true(cc_target(few.cc) > cc_target(all.cc) * 3 / 2);
        cc_free(few.cc);
        cc_free(all.cc);
    }
}

static void test_off(void **state)
{
    (void)state;
    for (size_t i = 0; i < CONTROLLERS; i++) {
        struct loop l = begin(controllers[i], CC_ECN_OFF);
        bps_t before;

        feed_for(&l, 15 * NS_PER_S);
        before = cc_target(l.cc);
        feed(&l, 0, 64);
        assert_true(cc_target(l.cc) >= before * 90 / 100);
        cc_free(l.cc);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classic),
        cmocka_unit_test(test_loss_and_mark),
        cmocka_unit_test(test_l4s),
        cmocka_unit_test(test_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
