/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plans, link models and captures with each allocation failing in turn. */
#include "agents/base/oom_test.h"

#include "agents/base/err.h"
#include "testbed/capture/pcap_dump.h"
#include "testbed/link/link.h"
#include "testbed/scenario/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

/* unnoticed: how many allocations the body can do without. */
static void check(const char *name, int (*body)(void *ctx), void *ctx, size_t at_least,
                  size_t unnoticed)
{
    struct oom_report r = oom_each(name, body, ctx, 1, unnoticed > 0);

    assert_true(r.ran);
    assert_true(r.allocations >= at_least && r.refusals == 2 * r.allocations);
    assert_int_equal(r.unnoticed, 2 * unnoticed);
    assert_int_equal(r.leaks, 0);
}

static void *copy_byte(const void *packet)
{
    (void)packet;
    return malloc(1);
}

static int link_body(void *ctx)
{
    const enum aqm_kind *kind = ctx;
    const struct link_config cfg = {.rate = 1000000,
                                    .burst_bytes = 1600,
                                    .queue_bytes = 100000,
                                    .impair = {.delay = 10 * NS_PER_MS, .duplicate = 0.5},
                                    .copy = copy_byte,
                                    .aqm = {.kind = *kind}};
    struct link *l = NULL;
    size_t received = 0;
    int rv = link_new(&l, &cfg);

    for (int i = 0; rv == 0 && i < 300; i++) {
        void *packet = malloc(1);
        rv = packet ? link_send(l, packet, 300, 0) : ERR_NOMEM;
    }
    while (rv == 0 && link_next(l) != NS_NEVER && received < 150) {
        free(link_recv(l, link_next(l)));
        received++;
    }
    if (l) {
        link_free(l); /* and what is still inside */
    }
    return rv == 0 && received < 150 ? ERR_LIMIT : rv;
}

static void test_link(void **state)
{
    (void)state;
    for (enum aqm_kind kind = AQM_DROP_TAIL; kind < AQM_MODELS_END; kind++) {
        check(aqm_kind_name(kind), link_body, &kind, 300, 0);
    }
}

static int capture_body(void *ctx)
{
    struct pcap_dump *d = NULL;
    struct addr a, b;
    uint8_t payload[1000] = {0};
    int rv = addr_parse(&a, "192.0.2.1:1"), end;

    rv = rv ? rv : addr_parse(&b, "192.0.2.2:2");
    rv = rv ? rv : pcap_dump_begin(&d, ctx);
    for (int i = 0; rv == 0 && i < 100; i++) {
        rv = pcap_dump_udp(d, i, &a, &b, 0, 64, payload, sizeof payload);
    }
    end = pcap_dump_end(d);
    return rv ? rv : end;
}

static void test_capture(void **state)
{
    char path[] = "/tmp/testbed_oom_test-XXXXXX";
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    check("pcap_dump", capture_body, path, 1, 0);
    unlink(path);
}

static int plan_body(void *ctx)
{
    FILE *sink = fopen("/dev/null", "we");
    struct plan *p = NULL;
    int rv = sink ? plan_parse(&p, "some.yaml", ctx, strlen(ctx), NULL, sink) : ERR_OS;

    plan_free(p);
    if (sink) {
        fclose(sink);
    }
    return rv;
}

static void test_plan(void **state)
{
    static char text[] = "name: some\n"
                         "share: 0.5\n"
                         "flows:\n"
                         "  - {kind: media}\n"
                         "  - {kind: data, size: 1MB, start: 3s}\n"
                         "runs: 2\n"
                         "grid:\n"
                         "  path.rate: [1mbit, 5mbit]\n"
                         "  path.delay: [10ms, 25ms, 50ms]\n";

    (void)state;
    /* without memory to compare cells' names, cells are numbered */
    check("plan", plan_body, text, 10, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_link),
        cmocka_unit_test(test_capture),
        cmocka_unit_test(test_plan),
    };

    return cmocka_run_group_tests_name("testbed out of memory", tests, NULL, NULL);
}
