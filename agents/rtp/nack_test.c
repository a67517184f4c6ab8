/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/rtp/nack.h"

#include "agents/base/prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define MS NS_PER_MS

static struct nack *fresh(void)
{
    struct nack *n;

    assert_int_equal(nack_new(&n), 0);
    return n;
}

static void no_gap_no_request(void **state)
{
    struct nack *n = fresh();
    uint16_t seqs[4];

    (void)state;
    assert_int_equal(nack_deadline(n), NS_NEVER);
    assert_int_equal(nack_due(n, seqs, 4, 0), 0);
    for (int seq = 65530; seq < 65546; seq++) {
        nack_recv(n, (uint16_t)seq, 0);
    }
    assert_int_equal(nack_deadline(n), NS_NEVER);
    assert_int_equal(nack_due(n, seqs, 4, MS), 0);
    assert_false(nack_wants_key_frame(n));
    nack_free(n);
}

static void a_gap_is_asked_for_at_once_and_after_each_round_trip(void **state)
{
    struct nack *n = fresh();
    struct nack_counters c;
    uint16_t seqs[4];

    (void)state;
    nack_recv(n, 65535, 0);
    nack_recv(n, 2, 5 * MS);
    assert_int_equal(nack_deadline(n), 5 * MS);
    assert_int_equal(nack_due(n, seqs, 4, 5 * MS), 2);
    assert_int_equal(seqs[0], 0);
    assert_int_equal(seqs[1], 1);
    assert_int_equal(nack_due(n, seqs, 4, 5 * MS), 0);
    /* 5 + 100 ms, in steps of 20 */
    assert_int_equal(nack_deadline(n), 120 * MS);
    assert_int_equal(nack_due(n, seqs, 4, 119 * MS), 0);
    assert_int_equal(nack_due(n, seqs, 4, 120 * MS), 2);
    assert_int_equal(nack_deadline(n), 220 * MS);
    nack_recv(n, 0, 130 * MS); /* recovered */
    assert_int_equal(nack_due(n, seqs, 4, 220 * MS), 1);
    assert_int_equal(seqs[0], 1);
    nack_recv(n, 1, 230 * MS);
    assert_int_equal(nack_deadline(n), NS_NEVER);
    nack_counters(n, &c);
    assert_int_equal(c.gaps, 2);
    assert_int_equal(c.requests, 5);
    assert_int_equal(c.recovered, 2);
    assert_int_equal(c.given_up, 0);
    nack_free(n);
}

static void reordered_before_it_was_asked_for(void **state)
{
    struct nack *n = fresh();
    struct nack_counters c;
    uint16_t seqs[4];

    (void)state;
    nack_recv(n, 0, 0);
    nack_recv(n, 2, 0);
    nack_recv(n, 1, 0);
    assert_int_equal(nack_due(n, seqs, 4, 0), 0);
    assert_int_equal(nack_deadline(n), NS_NEVER);
    nack_recv(n, 1, 0); /* a duplicate */
    nack_counters(n, &c);
    assert_int_equal(c.recovered, 0);
    nack_free(n);
}

static void ten_times_and_no_more(void **state)
{
    struct nack *n = fresh();
    struct nack_counters c;
    uint16_t seqs[4];
    ns_t now = 0;
    int asked = 0;

    (void)state;
    nack_recv(n, 0, 0);
    nack_recv(n, 2, 0);
    for (; nack_deadline(n) != NS_NEVER; now = nack_deadline(n)) {
        size_t due = nack_due(n, seqs, 4, now);

        assert_true(due == 1 && now < 10 * NS_PER_S);
        asked++;
    }
    assert_int_equal(asked, NACK_TRIES_MAX);
    assert_false(nack_wants_key_frame(n));
    nack_counters(n, &c);
    assert_int_equal(c.given_up, 1);
    nack_free(n);
}

static void a_long_list_in_pieces(void **state)
{
    struct nack *n = fresh();
    uint16_t seqs[64];
    uint32_t next = 1;
    size_t got;

    (void)state;
    nack_recv(n, 0, 0);
    nack_recv(n, NACK_MISSING_MAX + 1, 0);
    for (int round = 0; round < 2; round++) {
        next = 1;
        do {
            got = nack_due(n, seqs, 64, round * 120 * MS);
            for (size_t i = 0; i < got; i++) {
                assert_int_equal(seqs[i], next);
                next++;
            }
        } while (got == 64);
        assert_int_equal(next, NACK_MISSING_MAX + 1);
    }
    assert_false(nack_wants_key_frame(n));
    nack_free(n);
}

static void more_than_can_be_asked_for(void **state)
{
    struct nack *n = fresh();
    struct nack_counters c;
    uint16_t seqs[4];

    (void)state;
    nack_recv(n, 0, 0);
    nack_recv(n, 2, 0);
    nack_recv(n, NACK_MISSING_MAX + 3, 0); /* one with the thousand behind it */
    assert_true(nack_wants_key_frame(n));
    assert_false(nack_wants_key_frame(n)); /* told once */
    assert_int_equal(nack_due(n, seqs, 4, 0), 0);
    nack_counters(n, &c);
    assert_int_equal(c.given_up, NACK_MISSING_MAX + 1);
    /* it goes on after that */
    nack_recv(n, NACK_MISSING_MAX + 5, MS);
    assert_int_equal(nack_due(n, seqs, 4, MS), 1);
    assert_int_equal(seqs[0], NACK_MISSING_MAX + 4);
    nack_free(n);
}

static void old_ones_are_given_up(void **state)
{
    struct nack *n = fresh();
    struct nack_counters c;
    uint16_t seqs[4];

    (void)state;
    nack_recv(n, 0, 0);
    nack_recv(n, 2, 0);
    assert_int_equal(nack_due(n, seqs, 4, 0), 1);
    for (int seq = 3; seq < NACK_AGE_MAX + 10; seq++) {
        nack_recv(n, (uint16_t)seq, 0);
    }
    assert_false(nack_wants_key_frame(n));
    nack_counters(n, &c);
    assert_int_equal(c.given_up, 1);
    nack_free(n);
}

static void what_is_of_no_use_any_more(void **state)
{
    struct nack *n = fresh();
    uint16_t seqs[4];

    (void)state;
    nack_forget_before(n, 5);
    nack_recv(n, 65534, 0);
    nack_recv(n, 4, 0);
    nack_forget_before(n, 2);
    assert_int_equal(nack_due(n, seqs, 4, 0), 2);
    assert_int_equal(seqs[0], 2);
    assert_int_equal(seqs[1], 3);
    assert_false(nack_wants_key_frame(n));
    nack_free(n);
}

/* Over a link that loses packets and repetitions alike, the deadline never stands still, nothing
 * that came is asked for, and nearly everything comes in the end. */
static void over_a_lossy_link(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        static bool here[70000];
        struct nack *n = fresh();
        struct prng prng;
        int64_t sent = 0, late = 0;
        ns_t now = 0;

        memset(here, 0, sizeof here);
        prng_init(&prng, seed, "nack");
        while (sent < 3000 || nack_deadline(n) != NS_NEVER) {
            ns_t packet = sent < 3000 ? sent * 2 * MS : NS_NEVER;
            uint16_t seqs[8];
            size_t due;

            assert_true(nack_deadline(n) >= now || nack_deadline(n) <= packet);
            now = ns_max(now, ns_min(packet, nack_deadline(n)));
            if (now == packet) {
                if (!sent || prng_u32(&prng) % 5) {
                    here[sent] = true;
                    nack_recv(n, (uint16_t)(sent + 64000), now);
                }
                sent++;
            }
            do {
                due = nack_due(n, seqs, 8, now);
                for (size_t i = 0; i < due; i++) {
                    uint16_t seq = (uint16_t)(seqs[i] - 64000);

                    assert_false(here[seq]);
                    if (prng_u32(&prng) % 5) {
                        here[seq] = true;
                        nack_recv(n, seqs[i], now);
                        late++;
                    }
                }
            } while (due == 8);
        }
        assert_true(late > 500);
        assert_false(nack_wants_key_frame(n)); /* 0.2^10 */
        nack_free(n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_gap_no_request),
        cmocka_unit_test(a_gap_is_asked_for_at_once_and_after_each_round_trip),
        cmocka_unit_test(reordered_before_it_was_asked_for),
        cmocka_unit_test(ten_times_and_no_more),
        cmocka_unit_test(a_long_list_in_pieces),
        cmocka_unit_test(more_than_can_be_asked_for),
        cmocka_unit_test(old_ones_are_given_up),
        cmocka_unit_test(what_is_of_no_use_any_more),
        cmocka_unit_test(over_a_lossy_link),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
