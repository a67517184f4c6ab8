/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The link model with each allocation failing in turn: no packet may be lost to its owner or freed
 * twice. */
#include "agents/base/oom_test.h"

#include "agents/base/err.h"
#include "testbed/link/link.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define PACKETS 1000

static int link_body(void *ctx)
{
    const struct link_config cfg = {.rate = 10000000,
                                    .burst_bytes = link_burst_bytes(10000000),
                                    .queue_bytes = 100 * PACKETS,
                                    .delay = 10 * NS_PER_MS};
    struct link *l = NULL;
    int rv = link_new(&l, &cfg), out = 0;
    void *packet;

    (void)ctx;
    for (int i = 0; rv == 0 && i < PACKETS; i++) {
        packet = malloc(100);
        rv = packet ? link_send(l, packet, 100, 0) : ERR_NOMEM;
    }
    for (; rv == 0 && out < PACKETS / 2; out++) {
        packet = link_recv(l, NS_PER_S); /* the other half is the link's to free */
        rv = packet ? 0 : ERR_LIMIT;
        free(packet);
    }
    link_free(l);
    return rv;
}

static void test_link(void **state)
{
    struct oom_report r;

    (void)state;
    r = oom_each("link", link_body, NULL, 1, false);
    assert_true(r.ran);
    assert_true(r.allocations > PACKETS + 2); /* the ring has grown */
    assert_int_equal(r.refusals, 2 * r.allocations);
    assert_int_equal(r.unnoticed, 0);
    assert_int_equal(r.leaks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_link)};

    return cmocka_run_group_tests_name("link out of memory", tests, NULL, NULL);
}
