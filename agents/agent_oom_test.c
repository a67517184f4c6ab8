/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Everything below the stacks that allocates, with each allocation failing in turn. */
#include "agents/base/oom_test.h"

#include "agents/base/digest.h"
#include "agents/base/err.h"
#include "agents/base/heap.h"
#include "agents/cc/cc.h"
#include "agents/io/udp_sock.h"
#include "agents/media/bulk.h"
#include "agents/media/encoder.h"
#include "agents/media/frame_trace.h"
#include "agents/media/numbered.h"
#include "agents/media/packetizer.h"
#include "agents/media/playout.h"
#include "agents/record/record_csv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* Every allocation that fails must be noticed, and there must be some. */
static void check(const char *name, int (*body)(void *ctx), void *ctx, size_t at_least)
{
    struct oom_report r = oom_each(name, body, ctx, 1, false);

    assert_true(r.ran);
    assert_true(r.allocations >= at_least && r.refusals == 2 * r.allocations);
    assert_int_equal(r.unnoticed, 0);
    assert_int_equal(r.leaks, 0);
}

static int heap_body(void *ctx)
{
    struct heap h;
    int rv = 0;

    heap_init(&h);
    for (int i = 0; rv == 0 && i < 1000; i++) {
        rv = heap_push(&h, 1000 - i, ctx);
    }
    for (int i = 0; rv == 0 && i < 1000; i++) {
        rv = heap_pop(&h) == ctx ? 0 : ERR_LIMIT;
    }
    heap_fini(&h);
    return rv;
}

static void test_heap(void **state)
{
    (void)state;
    check("heap", heap_body, &(int){0}, 2);
}

static int bulk_body(void *ctx)
{
    struct bulk_source *source = NULL;
    struct bulk_sink *sink = NULL;
    uint8_t message[256];
    bool intact = false;
    size_t n;
    int rv = bulk_source_new(&source, 1, 1000, sizeof message);

    (void)ctx;
    rv = rv ? rv : bulk_sink_new(&sink);
    while (rv == 0 && (n = bulk_source_next(source, message)) > 0) {
        rv = bulk_sink_recv(sink, message, n);
    }
    if (rv == 0 && !(bulk_sink_done(sink, &intact) && intact)) {
        rv = ERR_LIMIT;
    }
    bulk_sink_free(sink);
    bulk_source_free(source);
    return rv;
}

static void test_bulk(void **state)
{
    (void)state;
    check("bulk", bulk_body, NULL, 2);
}

static int numbered_body(void *ctx)
{
    struct numbered_source *source = NULL;
    struct numbered_sink *sink = NULL;
    uint8_t message[256];
    size_t n;
    int rv = numbered_source_new(&source, 1, 1000000, sizeof message);

    (void)ctx;
    rv = rv ? rv : numbered_sink_new(&sink);
    while (rv == 0 && (n = numbered_source_next(source, message)) > 0) {
        rv = numbered_sink_recv(sink, message, n);
        if (rv == ERR_NOMEM && numbered_sink_recv(sink, message, n) == ERR_MALFORMED) {
            rv = 0; /* noted as seen all the same, so the error was none */
        }
    }
    if (rv == 0 && !(numbered_sink_done(sink) &&
                     numbered_sink_digest(sink) == numbered_source_digest(source))) {
        rv = ERR_LIMIT;
    }
    numbered_sink_free(sink);
    numbered_source_free(source);
    return rv;
}

static void test_numbered(void **state)
{
    (void)state;
    check("numbered", numbered_body, NULL, 3);
}

static int trace_body(void *ctx)
{
    static const char head[] = "muxbed-trace 1\nfps 30\nrate 200000\n";
    static char text[20000];
    struct frame_trace *t = NULL;
    char message[100];
    size_t len = (size_t)snprintf(text, sizeof text, "%s", head);
    int rv;

    (void)ctx;
    while (len < sizeof text - 10) {
        len += (size_t)snprintf(text + len, sizeof text - len, "1000\n");
    }
    rv = frame_trace_parse(&t, text, len, message, sizeof message);
    if (rv == 0) {
        frame_trace_free(t);
    }
    return rv;
}

static void test_trace(void **state)
{
    (void)state;
    check("frame_trace", trace_body, NULL, 3);
}

static int media_body(void *ctx)
{
    const struct encoder_config ec = {
        .fps = 30, .min_rate = 100000, .max_rate = 1000000, .start_rate = 500000, .stop = NS_PER_S};
    const struct playout_config pc = {.delay = 100 * NS_PER_MS};
    static struct packetizer_packet p;
    struct playout_counters counters = {0};
    struct packetizer packetizer;
    struct encoder *e = NULL;
    struct playout *out = NULL;
    struct encoder_frame f;
    int rv = encoder_new(&e, &ec);

    (void)ctx;
    packetizer_init(&packetizer, 1, 1000);
    rv = rv ? rv : playout_new(&out, &pc);
    for (ns_t now = 0; rv == 0 && now < NS_PER_S; now += 10 * NS_PER_MS) {
        while (rv == 0 && encoder_next(e, &f, now)) {
            for (int64_t i = 0; rv == 0 && i < packetizer_count(&packetizer, &f); i++) {
                rv = packetizer_next(&packetizer, &f, i, &p);
                rv = rv ? rv : playout_recv(out, p.data, p.len, 0, now, now);
            }
        }
    }
    if (rv == 0) {
        playout_finish(out, NS_PER_S);
        playout_counters(out, &counters);
        rv = counters.frames_complete > 20 ? 0 : ERR_LIMIT;
    }
    playout_free(out);
    encoder_free(e);
    return rv;
}

static void test_media(void **state)
{
    (void)state;
    check("media", media_body, NULL, 2);
}

/* ctx: not NULL for the prototype's. */
static int cc_body(void *ctx)
{
    const struct cc_config cfg = {.start_rate = 1000000, .min_rate = 100000, .max_rate = 10000000};
    struct cc_packet packets[8];
    struct cc *c = NULL;
    int rv = ctx ? cc_prototype_new(&c, &cfg, 0) : cc_libwebrtc_new(&c, &cfg, 0);

    for (ns_t now = NS_PER_MS; rv == 0 && now < 5 * NS_PER_S; now += 20 * NS_PER_MS) {
        for (int i = 0; i < 8; i++) {
            cc_on_sent(c, 1200, now);
            packets[i] = (struct cc_packet){.sent = now + i * NS_PER_MS,
                                            .arrival = now + (i + 10) * NS_PER_MS,
                                            .bytes = 1200,
                                            .probe = CC_NO_PROBE};
        }
        cc_on_feedback(c, packets, 8, 20 * NS_PER_MS, now + 20 * NS_PER_MS);
        rv = cc_target(c) >= cfg.min_rate ? 0 : ERR_LIMIT;
    }
    cc_free(c);
    return rv;
}

static void test_cc(void **state)
{
    (void)state;
    check("cc_libwebrtc", cc_body, NULL, 1);
    check("cc_prototype", cc_body, &(int){1}, 1);
}

static int socket_body(void *ctx)
{
    struct udp_sock *s = NULL;
    struct addr any;
    int rv = addr_parse(&any, "127.0.0.1:0");

    (void)ctx;
    rv = rv ? rv : udp_sock_open(&s, &any);
    if (rv == 0) {
        udp_sock_close(s);
    }
    return rv;
}

static void test_socket(void **state)
{
    (void)state;
    check("udp_sock", socket_body, NULL, 1);
}

static int record_body(void *ctx)
{
    struct record_csv *c = NULL;
    int closed, rv = record_csv_open(&c, ctx, "sender");

    if (rv) {
        return rv;
    }
    for (ns_t t = 0; t < 1000; t++) {
        record_put(record_csv_sink(c), RECORD_RTT, t, 1, 2);
        record_put_named(record_csv_sink(c), RECORD_EVENT, "event", t, 1);
    }
    closed = record_csv_close(c);
    return closed;
}

static void test_record(void **state)
{
    char dir[] = "/tmp/agent_oom_test-XXXXXX", path[64];

    (void)state;
    assert_non_null(mkdtemp(dir));
    check("record_csv", record_body, dir, 1);
    snprintf(path, sizeof path, "%s/sender.rtt.csv", dir);
    unlink(path);
    snprintf(path, sizeof path, "%s/sender.event.csv", dir);
    unlink(path);
    assert_int_equal(rmdir(dir), 0);
}

/* The instrument itself: what it must find, it finds. */
static int careless_body(void *ctx)
{
    static void *volatile seen; /* or the compiler does without the memory */
    char *first, *second;

    (void)ctx;
    seen = malloc(10);
    free(seen); /* and the failure ignored */
    seen = first = malloc(20);
    seen = second = realloc(first, 40);
    if (!second) {
        return ERR_NOMEM; /* first is lost when there is one */
    }
    free(second);
    return 0;
}

static void test_instrument(void **state)
{
    struct oom_report r;

    (void)state;
#if defined(__SANITIZE_ADDRESS__)
    print_message("LeakSanitizer would find the planted leak as well\n");
    skip();
#endif
    r = oom_each("careless", careless_body, NULL, 1, true);
    assert_true(r.ran);
    assert_int_equal(r.allocations, 3);
    assert_int_equal(r.refusals, 6);
    assert_int_equal(r.unnoticed, 2); /* the first alone; the second alone: realloc(NULL) works */
    assert_int_equal(r.leaks, 2);     /* the third */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_instrument), cmocka_unit_test(test_heap),
        cmocka_unit_test(test_bulk),       cmocka_unit_test(test_numbered),
        cmocka_unit_test(test_trace),      cmocka_unit_test(test_media),
        cmocka_unit_test(test_cc),         cmocka_unit_test(test_socket),
        cmocka_unit_test(test_record),
    };

    return cmocka_run_group_tests_name("agent out of memory", tests, NULL, NULL);
}
