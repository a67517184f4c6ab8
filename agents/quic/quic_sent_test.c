/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/quic/quic_sent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct cc_packet *batch;

static void fill(struct quic_sent *s, int64_t n)
{
    assert_int_equal(quic_sent_init(s), 0);
    for (int64_t i = 0; i < n; i++) {
        quic_sent_add(s, i, 1000 + (int32_t)i, i == 3 ? 7 : CC_NO_PROBE, i * NS_PER_MS);
    }
}

static void test_timestamp_then_ack(void **state)
{
    struct quic_sent s;

    (void)state;
    fill(&s, 5);
    assert_true(quic_sent_outstanding(&s));
    quic_sent_timestamp(&s, 3, 250);
    assert_int_equal(quic_sent_take(&s, &batch), 0); /* no acknowledgement yet */
    quic_sent_acked(&s, 3, NS_NEVER, NS_PER_S);
    assert_int_equal(quic_sent_take(&s, &batch), 1);
    assert_int_equal(batch[0].sent, 3 * NS_PER_MS);
    assert_int_equal(batch[0].arrival, 250 * NS_PER_US);
    assert_int_equal(batch[0].bytes, 1003);
    assert_int_equal(batch[0].probe, 7);
    assert_false(batch[0].lost);
    assert_true(quic_sent_outstanding(&s));
    quic_sent_acked(&s, 4, 1900 * NS_PER_MS, 2 * NS_PER_S);
    assert_int_equal(quic_sent_take(&s, &batch), 1);
    assert_int_equal(batch[0].arrival, 1900 * NS_PER_MS); /* untimed: as told */
    assert_false(quic_sent_outstanding(&s));
    assert_int_equal(s.last_ack, 2 * NS_PER_S);
    quic_sent_fini(&s);
}

static void test_late_timestamp(void **state)
{
    struct quic_sent s;

    (void)state;
    fill(&s, 3);
    quic_sent_acked(&s, 1, NS_NEVER, 1);
    assert_int_equal(quic_sent_take(&s, &batch), 0);
    quic_sent_timestamp(&s, 1, 40);
    assert_int_equal(quic_sent_take(&s, &batch), 1);
    quic_sent_timestamp(&s, 1, 50); /* repeated until acknowledged: once is enough */
    quic_sent_acked(&s, 1, NS_NEVER, 2);
    assert_int_equal(quic_sent_take(&s, &batch), 0);
    quic_sent_fini(&s);
}

static void test_order_and_loss(void **state)
{
    struct quic_sent s;

    (void)state;
    fill(&s, 6);
    for (int64_t i = 5; i >= 0; i--) {
        quic_sent_timestamp(&s, i, 100 + i);
    }
    quic_sent_acked(&s, 5, NS_NEVER, 1);
    quic_sent_acked(&s, 2, NS_NEVER, 1);
    quic_sent_lost(&s, 3);
    quic_sent_lost(&s, 3);
    assert_int_equal(quic_sent_take(&s, &batch), 3);
    assert_int_equal(batch[0].bytes, 1002);
    assert_int_equal(batch[1].bytes, 1003);
    assert_true(batch[1].lost);
    assert_int_equal(batch[2].bytes, 1005);
    /* lost by mistake: it is reported again, as arrived */
    quic_sent_acked(&s, 3, NS_NEVER, 2);
    assert_int_equal(quic_sent_take(&s, &batch), 1);
    assert_false(batch[0].lost);
    assert_int_equal(s.spurious, 1);
    quic_sent_fini(&s);
}

static void test_forgotten(void **state)
{
    struct quic_sent s;

    (void)state;
    fill(&s, QUIC_SENT_MAX + 2);
    quic_sent_acked(&s, 2, NS_NEVER, 1); /* its timestamp never comes */
    quic_sent_timestamp(&s, 0, 1);       /* no longer remembered */
    quic_sent_timestamp(&s, -1, 1);
    quic_sent_acked(&s, 1, NS_NEVER, 1);
    assert_null(quic_sent_lost(&s, 0));
    assert_int_equal(quic_sent_take(&s, &batch), 0);
    quic_sent_add(&s, QUIC_SENT_MAX + 2, 1, CC_NO_PROBE, 0);
    assert_int_equal(s.acked_untimed, 1);
    quic_sent_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timestamp_then_ack), cmocka_unit_test(test_late_timestamp),
        cmocka_unit_test(test_order_and_loss), cmocka_unit_test(test_forgotten)};

    return cmocka_run_group_tests_name("quic sent", tests, NULL, NULL);
}
