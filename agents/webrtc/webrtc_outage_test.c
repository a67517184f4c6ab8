/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An outage of the path is a gap, not a lower capacity: what the media's estimate makes of it. The
 * packets of a dead path must not leave a rate far below what goes through before and after.
 *
 * The short outage costs more than the long ones, in libwebrtc too: half of what its throughput
 * estimator's second holds was not sent while feedback was out, and when the retransmissions fill
 * the queue the delay-based rate falls to 0.85 of that; from there it grows by some kbit/s per
 * second, since a source that is not application-limited probes no more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "agents/agent_pair_test.h"

#define SEEDS 4
#define OUTAGE_AT (15 * NS_PER_S)
#define WATCHED (10 * NS_PER_S)
#define RATE 5000000

struct watch {
    ns_t end; /* of the outage */
    bps_t before, lowest, last;
};

static void see(void *ctx, enum record_kind kind, const int64_t *v)
{
    struct watch *w = ctx;

    if (kind != RECORD_RATE) {
        return;
    }
    if (v[0] < OUTAGE_AT) {
        w->before = v[1];
    } else {
        w->lowest = v[1] < w->lowest ? v[1] : w->lowest;
        w->last = v[1];
    }
}

static struct watch watch_outage(ns_t outage, uint64_t seed)
{
    struct agent_config c = pair_config(SENDER);
    struct watch w = {.end = OUTAGE_AT + outage, .lowest = INT64_MAX};
    struct pair n;

    c.stack = AGENT_STACK_WEBRTC;
    c.media = 1;
    c.duration = w.end + WATCHED;
    pair_init(&n, &c, seed);
    n.rate = RATE;
    n.outage_from = OUTAGE_AT;
    n.outage_to = w.end;
    n.seen[SENDER].row = see;
    n.seen[SENDER].row_ctx = &w;
    pair_run(&n, 100 * NS_PER_S);
    for (int i = 0; i < 2; i++) {
        assert_true(agent_done(n.agent[i]));
        assert_null(agent_error(n.agent[i]));
    }
    pair_fini(&n);
    assert_true(pair_counter(&n.seen[SENDER], "packets-lost") > 0);
    return w;
}

static void test_outages(void **state)
{
    static const ns_t outages[] = {400 * NS_PER_MS, NS_PER_S, 2 * NS_PER_S};

    (void)state;
    print_message("outage ms, per seed: estimate before, lowest after, 10 s later, Mbit/s\n");
    for (size_t i = 0; i < sizeof outages / sizeof outages[0]; i++) {
        print_message("  %4d", (int)ns_to_ms(outages[i]));
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            struct watch w = watch_outage(outages[i], seed);
            print_message("   %.2f %.2f %.2f", (double)w.before / 1e6, (double)w.lowest / 1e6,
                          (double)w.last / 1e6);
            assert_true(w.before > RATE / 2);
            assert_true(w.lowest > w.before * 2 / 5);
        }
        print_message("\n");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outages),
    };

    return cmocka_run_group_tests_name("webrtc outage", tests, NULL, NULL);
}
