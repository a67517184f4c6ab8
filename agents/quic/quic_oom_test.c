/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The QUIC agent with each allocation failing in turn: its own, and those of ngtcp2 and wolfSSL on
 * its behalf. Left out is the handshake itself: when wolfSSL 5.7.2 cannot allocate for the keys
 * that ngtcp2 asks it to derive, it goes on without them, and ngtcp2 1.11 then follows a pointer
 * that is NULL (ngtcp2_conn_get_expiry). */
#include "agents/base/oom_test.h"

#include "agents/agent.h"
#include "agents/base/err.h"
#include "agents/base/prng.h"
#include "agents/quic/qdc.h"
#include "agents/quic/quic_agent.h"
#include "agents/quic/quic_sent.h"
#include "agents/quic/roq.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* Of a whole call so many allocations are tried, evenly spread. */
#define CALL_TRIES 150

static struct oom_report check(const char *name, int (*body)(void *ctx), void *ctx, size_t step,
                               bool tolerant)
{
    struct oom_report r = oom_each(name, body, ctx, step, tolerant);

    assert_true(r.ran);
    assert_true(r.allocations > 0 && r.refusals >= 2 * (r.allocations / step));
    assert_int_equal(r.leaks, 0);
    return r;
}

static int reorder_body(void *ctx)
{
    struct qdc_reorder *r = NULL;
    uint8_t *data;
    uint64_t seq;
    size_t len;
    int rv = qdc_reorder_new(&r, true, 1 << 20, 1000);

    (void)ctx;
    for (uint64_t i = 0; rv == 0 && i < 100; i++) {
        data = malloc(10);
        rv = data ? qdc_reorder_put(r, 99 - i, data, 10) : ERR_NOMEM;
        if (rv) {
            free(data);
        }
    }
    for (uint64_t i = 0; rv == 0 && i < 100; i++) {
        rv = qdc_reorder_get(r, &seq, &data, &len) == 1 && seq == i ? 0 : ERR_LIMIT;
        if (rv == 0) {
            free(data);
        }
    }
    qdc_reorder_free(r);
    return rv;
}

static int reader_body(void *ctx)
{
    struct roq_stream_reader r;
    static uint8_t stream[70000] = {0x80, 0, 0xff, 0xff}; /* a packet of 65535 bytes */
    const uint8_t *data = stream;
    size_t left = 4 + 65535;
    int rv = 0;

    (void)ctx;
    roq_stream_reader_init(&r);
    while (left && rv == 0) {
        size_t n = left < 1000 ? left : 1000, given = n;
        rv = roq_stream_reader_next(&r, &data, &n);
        left -= given - n;
    }
    rv = rv == 1 && r.packet_len == 65535 ? 0 : rv < 0 ? rv : ERR_LIMIT;
    roq_stream_reader_fini(&r);
    return rv;
}

static int sent_body(void *ctx)
{
    const struct cc_packet *packets;
    struct quic_sent s;
    int rv = quic_sent_init(&s);

    (void)ctx;
    if (rv) {
        return rv;
    }
    for (int64_t i = 0; i < 1000; i++) {
        quic_sent_add(&s, i, 1200, CC_NO_PROBE, i * NS_PER_MS);
        quic_sent_timestamp(&s, i, i);
        quic_sent_acked(&s, i, false, i * NS_PER_MS);
    }
    rv = quic_sent_take(&s, &packets) == 1000 ? 0 : ERR_NOMEM;
    quic_sent_fini(&s);
    return rv;
}

static void test_parts(void **state)
{
    (void)state;
    assert_int_equal(check("qdc_reorder", reorder_body, NULL, 1, false).unnoticed, 0);
    assert_int_equal(check("roq_stream_reader", reader_body, NULL, 1, false).unnoticed, 0);
    assert_int_equal(check("quic_sent", sent_body, NULL, 1, false).unnoticed, 0);
}

/* ---- a whole call ---- */

struct call {
    enum agent_mapping mapping;
    bool only_new;
    int handshakes;          /* complete in this run, of 2 */
    bool refusing, finished; /* may allocations fail; the file has arrived */
};

static void random_bytes(void *ctx, void *out, size_t len)
{
    prng_fill(ctx, out, len);
}

static void put(void *ctx, enum record_kind kind, const char *name, const int64_t *v)
{
    struct call *c = ctx;

    c->handshakes += kind == RECORD_EVENT && strcmp(name, "handshake-complete") == 0;
    if (kind == RECORD_FILE && v[2] == 1) { /* time, channel, stage */
        c->finished = true;
    }
}

/* Hands all that from has to say to to. */
static int carry(struct agent *from, struct agent *to, ns_t now)
{
    uint8_t buf[AGENT_DATAGRAM_MAX];
    struct dgram d = {.data = buf};
    int rv;

    while ((rv = agent_poll(from, &d, now)) > 0) {
        d.arrival = now;
        rv = agent_recv(to, &d, now);
        if (rv) {
            break;
        }
    }
    return rv;
}

static int talk(struct call *c, struct agent *sender, struct agent *receiver)
{
    int rv = 0;

    for (ns_t now = 0; rv == 0 && now < 20 * NS_PER_S; now += 5 * NS_PER_MS) {
        oom.armed = c->refusing && c->handshakes == 2;
        rv = agent_expire(sender, now);
        rv = rv ? rv : agent_expire(receiver, now);
        rv = rv ? rv : carry(sender, receiver, now);
        rv = rv ? rv : carry(receiver, sender, now);
        if (agent_done(sender) && agent_done(receiver)) {
            break;
        }
        if (agent_done(sender) != agent_done(receiver) && now > 10 * NS_PER_S) {
            break; /* the other has died without a word */
        }
    }
    oom.armed = c->refusing;
    if (rv == 0 && (agent_error(sender) || agent_error(receiver))) {
        rv = ERR_PROTOCOL;
    }
    return rv == 0 && !(agent_done(sender) && agent_done(receiver)) ? ERR_LIMIT : rv;
}

/* Makes both agents and, unless told not to, lets them talk. */
static int call_body(void *ctx)
{
    struct call *c = ctx;
    struct agent_config cfg[2] = {agent_config_default(), agent_config_default()};
    const struct record_sink sink = {.put = put, .ctx = c};
    struct prng keys[2];
    struct agent_env env[2];
    struct agent *a[2] = {NULL, NULL};
    int rv = 0;

    c->finished = false;
    c->handshakes = 0;
    c->refusing = oom.armed;
    for (int i = 0; rv == 0 && i < 2; i++) {
        prng_init(&keys[i], (uint64_t)i, "keys");
        env[i] = (struct agent_env){.random = random_bytes, .ctx = &keys[i], .rec = &sink};
        cfg[i].role = i == 0 ? AGENT_ROLE_SENDER : AGENT_ROLE_RECEIVER;
        cfg[i].media = 1;
        cfg[i].mapping = c->mapping;
        cfg[i].data = AGENT_DATA_FILE;
        cfg[i].data_bytes = 20000;
        cfg[i].message_bytes = 4000;
        cfg[i].duration = 500 * NS_PER_MS;
        rv = addr_parse(&cfg[i].local, i == 0 ? "192.0.2.1:1" : "192.0.2.2:2");
        rv = rv ? rv : addr_parse(&cfg[i].remote, i == 0 ? "192.0.2.2:2" : "192.0.2.1:1");
        rv = rv ? rv : agent_new(&a[i], &cfg[i], &env[i], 0);
    }
    rv = rv || c->only_new ? rv : talk(c, a[0], a[1]);
    for (int i = 0; i < 2; i++) {
        if (a[i]) {
            agent_free(a[i]);
        }
    }
    return rv == 0 && !c->finished && !c->only_new ? ERR_LIMIT : rv;
}

static void try_call(const char *name, enum agent_mapping mapping)
{
    struct call c = {.mapping = mapping};
    struct oom_report r;
    size_t step;

    assert_int_equal(oom_run(call_body, &c, 0, false), 0);
    step = oom.seen / CALL_TRIES;
    r = check(name, call_body, &c, step ? step : 1, true);
    print_message("%s: %zu allocations, %zu refusals, of which %zu did no harm\n", name,
                  r.allocations, r.refusals, r.unnoticed);
}

static void test_new(void **state)
{
    struct call c = {.only_new = true};

    (void)state;
    check("agents", call_body, &c, 1, true);
}

static void test_call_datagrams(void **state)
{
    (void)state;
    try_call("call with datagrams", AGENT_MAPPING_DATAGRAM);
}

static void test_call_streams(void **state)
{
    (void)state;
    try_call("call with streams", AGENT_MAPPING_STREAM_PER_PACKET);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_new),
        cmocka_unit_test(test_call_datagrams),
        cmocka_unit_test(test_call_streams),
    };

    return cmocka_run_group_tests_name("quic out of memory", tests, NULL, NULL);
}
