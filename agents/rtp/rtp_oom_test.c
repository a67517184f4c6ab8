/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What this room keeps about packets, with each allocation failing in turn. */
#include "agents/base/oom_test.h"

#include "agents/base/err.h"
#include "agents/rtp/ccfb.h"
#include "agents/rtp/nack.h"
#include "agents/rtp/rtx.h"
#include "agents/rtp/twcc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define PACKETS 100

static void check(const char *name, int (*body)(void *ctx), size_t allocations)
{
    struct oom_report r = oom_each(name, body, NULL, 1, false);

    assert_true(r.ran);
    assert_int_equal(r.allocations, allocations);
    assert_int_equal(r.refusals, 2 * allocations);
    assert_int_equal(r.unnoticed, 0);
    assert_int_equal(r.leaks, 0);
}

static int history_body(void *ctx)
{
    const struct rtx_history_config cfg = {.packets_max = 64, .age_max = NS_PER_S};
    struct rtx_history *h = NULL;
    uint8_t packet[RTX_PACKET_BYTES_MAX] = {0x80};
    size_t len;
    int rv = rtx_history_new(&h, &cfg);

    (void)ctx;
    for (uint16_t i = 0; rv == 0 && i < PACKETS; i++) {
        packet[1] = (uint8_t)i;
        rv = rtx_history_put(h, i, packet, sizeof packet, i);
        if (rv) {
            /* what was kept before is still there, what was not is not */
            const uint8_t *before = i ? rtx_history_resend(h, i - 1, 0, i, &len) : packet;
            rv = before && !rtx_history_resend(h, i, 0, i, &len) ? rv : 0;
        }
    }
    rtx_history_free(h);
    return rv;
}

static void test_history(void **state)
{
    (void)state;
    check("rtx_history", history_body, 1 + 64);
}

static int nack_body(void *ctx)
{
    struct nack *n = NULL;
    uint16_t seqs[PACKETS];
    int rv = nack_new(&n);

    (void)ctx;
    if (rv == 0) {
        nack_recv(n, 0, 0);
        nack_recv(n, PACKETS, NS_PER_MS);
        rv = nack_due(n, seqs, PACKETS, NS_PER_S) == PACKETS - 1 ? 0 : ERR_LIMIT;
    }
    nack_free(n);
    return rv;
}

static int twcc_body(void *ctx)
{
    struct twcc_receiver *r = NULL;
    uint8_t out[1200];
    int rv = twcc_receiver_new(&r);

    (void)ctx;
    for (uint16_t i = 0; rv == 0 && i < PACKETS; i++) {
        twcc_receiver_recv(r, i, i * NS_PER_MS);
    }
    if (rv == 0) {
        rv = twcc_receiver_feedback(r, 1, 2, out, sizeof out) > PACKETS ? 0 : ERR_LIMIT;
    }
    twcc_receiver_free(r);
    return rv;
}

static int ccfb_body(void *ctx)
{
    struct ccfb_receiver *r = NULL;
    uint8_t out[1200];
    int rv = ccfb_receiver_new(&r, CCFB_NUM_REPORTS_COUNT);

    (void)ctx;
    for (uint16_t i = 0; rv == 0 && i < PACKETS; i++) {
        rv = ccfb_receiver_recv(r, 1 + i % 3, i, 0, i * NS_PER_MS);
    }
    if (rv == 0) {
        rv = ccfb_receiver_feedback(r, 9, out, sizeof out, NS_PER_S) > PACKETS ? 0 : ERR_LIMIT;
    }
    ccfb_receiver_free(r);
    return rv;
}

static void test_receivers(void **state)
{
    (void)state;
    check("nack", nack_body, 1);
    check("twcc_receiver", twcc_body, 1);
    check("ccfb_receiver", ccfb_body, 1 + 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_history),
        cmocka_unit_test(test_receivers),
    };

    return cmocka_run_group_tests_name("rtp out of memory", tests, NULL, NULL);
}
