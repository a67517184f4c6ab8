/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A receiving agent against a client that breaks the rules: a bare connection of our own, over a
 * path without loss or delay, on which the test writes what it likes. */
#include "agents/agent.h"
#include "agents/base/err.h"
#include "agents/base/prng.h"
#include "agents/quic/qdc.h"
#include "agents/quic/quic_agent.h"
#include "agents/quic/quic_conn.h"
#include "agents/quic/roq.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct rogue {
    struct agent_config client_cfg, server_cfg;
    struct agent_env client_env, server_env;
    struct record_sink sink;
    struct prng keys[2];
    struct quic_conn conn;
    struct agent *server;
    ns_t now;
    int64_t counters[8]; /* of the server, in the order of counter_names */
    bool handshake_done;
    int key_lines;
    size_t qlog_bytes;
    char qlog_first;
};

static const char *const counter_names[8] = {
    "unknown-flow-ids", "bad-framing",   "bad-transfer",      "bidirectional-streams",
    "bad-rtp",          "data-messages", "datagrams-garbage", "timestamps-malformed"};

enum { UNKNOWN_FLOW, BAD_FRAMING, BAD_TRANSFER, BIDIRECTIONAL, BAD_RTP };

static void put(void *ctx, enum record_kind kind, const char *name, const int64_t *v)
{
    struct rogue *r = ctx;

    for (size_t i = 0; kind == RECORD_COUNTER && i < 8; i++) {
        if (strcmp(name, counter_names[i]) == 0) {
            r->counters[i] = v[0];
        }
    }
}

static void random_bytes(void *ctx, void *out, size_t len)
{
    prng_fill(ctx, out, len);
}

static struct rogue *rogue_of(void *keys)
{
    return (struct rogue *)(void *)((char *)keys - offsetof(struct rogue, keys));
}

static void keylog(void *ctx, const char *line)
{
    char label[64], random[80], secret[120];

    assert_int_equal(sscanf(line, "%63s %79s %119s", label, random, secret), 3);
    assert_int_equal(strlen(random), 64);
    assert_int_equal(strlen(secret), 64);
    rogue_of(ctx)->key_lines +=
        strncmp(label, "CLIENT_", 7) == 0 || strncmp(label, "SERVER_", 7) == 0;
}

static void qlog(void *ctx, const void *data, size_t len)
{
    struct rogue *r = rogue_of(ctx);

    if (!r->qlog_bytes) {
        r->qlog_first = *(const char *)data;
    }
    r->qlog_bytes += len;
}

static void handshake_done(void *ctx)
{
    ((struct rogue *)ctx)->handshake_done = true;
}

static int no_datagram(void *ctx, const uint8_t *data, size_t len)
{
    (void)ctx, (void)data, (void)len;
    return 0;
}

static int no_stream(void *ctx, void **user, bool fin, const uint8_t *data, size_t len)
{
    (void)ctx, (void)user, (void)fin, (void)data, (void)len;
    return 0;
}

static void no_close(void *ctx, void *user)
{
    (void)ctx, (void)user;
}

static void no_packet(void *ctx, int64_t packet)
{
    (void)ctx, (void)packet;
}

static void no_timestamp(void *ctx, int64_t packet, int64_t time_us)
{
    (void)ctx, (void)packet, (void)time_us;
}

static void no_rtt(void *ctx)
{
    (void)ctx;
}

static const struct quic_conn_events events = {.handshake_done = handshake_done,
                                               .datagram = no_datagram,
                                               .stream_data = no_stream,
                                               .stream_closed = no_close,
                                               .acked = no_packet,
                                               .lost = no_packet,
                                               .timestamp = no_timestamp,
                                               .rtt = no_rtt};

static void to_server(struct rogue *r, struct dgram *d)
{
    d->arrival = r->now;
    agent_recv(r->server, d, r->now);
}

/* Lets both sides talk until they are silent. */
static void settle(struct rogue *r)
{
    uint8_t buf[AGENT_DATAGRAM_MAX];
    struct dgram d = {.data = buf};

    for (int turn = 0; turn < 20; turn++) {
        ngtcp2_ssize n = 1;
        r->now += 5 * NS_PER_MS;
        while (n > 0 && !r->conn.closing && !r->conn.closed) {
            struct quic_current *before = quic_current_enter(&r->conn.current, r->now);
            struct quic_conn_parts parts = {.packet = RECORD_NONE};
            n = ngtcp2_conn_write_pkt(r->conn.conn, NULL, NULL, buf, 1452, (ngtcp2_tstamp)r->now);
            quic_current_leave(before);
            if (n > 0) {
                quic_conn_sent(&r->conn, &d, (size_t)n, &parts, r->now);
                to_server(r, &d);
            }
        }
        if (quic_conn_poll_close(&r->conn, &d, r->now) > 0) {
            to_server(r, &d);
        }
        quic_conn_expire(&r->conn, r->now);
        agent_expire(r->server, r->now);
        while (agent_poll(r->server, &d, r->now) > 0) {
            quic_conn_recv(&r->conn, &d, r->now);
        }
    }
}

static void start_with(struct rogue *r, const char *alpn, const uint8_t *fingerprint)
{
    memset(r, 0, sizeof *r);
    r->sink = (struct record_sink){.put = put, .ctx = r};
    r->client_cfg = r->server_cfg = agent_config_default();
    r->server_cfg.role = AGENT_ROLE_RECEIVER;
    assert_int_equal(addr_parse(&r->client_cfg.local, "[2001:db8::1]:1000"), 0);
    assert_int_equal(addr_parse(&r->client_cfg.remote, "[2001:db8::2]:2000"), 0);
    r->server_cfg.local = r->client_cfg.remote;
    r->server_cfg.remote = r->client_cfg.local;
    prng_init(&r->keys[0], 1, "client");
    prng_init(&r->keys[1], 1, "server");
    r->client_env =
        (struct agent_env){.random = random_bytes, .ctx = r->keys, .keylog = keylog, .qlog = qlog};
    r->server_env = (struct agent_env){.random = random_bytes, .ctx = &r->keys[1], .rec = &r->sink};
    assert_int_equal(quic_agent_new(&r->server, &r->server_cfg, &r->server_env, 0), 0);
    quic_conn_init(&r->conn, &r->client_cfg, &r->client_env, &events, r);
    r->conn.alpn = alpn;
    r->conn.peer_fingerprint = fingerprint;
    assert_int_equal(quic_conn_connect(&r->conn, 0), 0);
    settle(r);
}

static void start(struct rogue *r, const char *alpn)
{
    start_with(r, alpn, NULL);
}

static void end(struct rogue *r)
{
    agent_free(r->server);
    quic_conn_fini(&r->conn);
}

/* The server must have closed with the code, and counted it under the name. */
static void expect_close(struct rogue *r, uint64_t code, int counter)
{
    const ngtcp2_ccerr *e = ngtcp2_conn_get_ccerr(r->conn.conn);

    assert_true(agent_done(r->server));
    assert_non_null(agent_error(r->server));
    assert_true(r->conn.closed);
    assert_int_equal(e->type, NGTCP2_CCERR_TYPE_APPLICATION);
    assert_int_equal(e->error_code, code);
    end(r);
    assert_int_equal(r->counters[counter], 1);
}

static void send_datagram(struct rogue *r, const void *data, size_t len)
{
    uint8_t buf[AGENT_DATAGRAM_MAX], copy[64];
    struct dgram d = {.data = buf};
    struct quic_conn_parts parts = {.packet = RECORD_NONE};
    ngtcp2_vec v = {.base = copy, .len = len};
    struct quic_current *before = quic_current_enter(&r->conn.current, r->now);
    int accepted;
    ngtcp2_ssize n;

    memcpy(copy, data, len);
    n = ngtcp2_conn_writev_datagram(r->conn.conn, NULL, NULL, buf, 1452, &accepted, 0, 0, &v, 1,
                                    (ngtcp2_tstamp)r->now);
    quic_current_leave(before);
    assert_true(n > 0 && accepted);
    quic_conn_sent(&r->conn, &d, (size_t)n, &parts, r->now);
    to_server(r, &d);
    settle(r);
}

static void send_stream(struct rogue *r, bool bidirectional, const void *data, size_t len, bool fin)
{
    uint8_t buf[AGENT_DATAGRAM_MAX];
    static uint8_t copy[64]; /* ngtcp2 keeps a pointer until it is acknowledged */
    struct dgram d = {.data = buf};
    struct quic_conn_parts parts = {.packet = RECORD_NONE};
    ngtcp2_vec v = {.base = copy, .len = len};
    struct quic_current *before = quic_current_enter(&r->conn.current, r->now);
    int64_t id;
    ngtcp2_ssize n, written;

    memcpy(copy, data, len);
    assert_int_equal(bidirectional ? ngtcp2_conn_open_bidi_stream(r->conn.conn, &id, NULL)
                                   : ngtcp2_conn_open_uni_stream(r->conn.conn, &id, NULL),
                     0);
    n = ngtcp2_conn_writev_stream(r->conn.conn, NULL, NULL, buf, 1452, &written,
                                  fin ? NGTCP2_WRITE_STREAM_FLAG_FIN : 0, id, &v, 1,
                                  (ngtcp2_tstamp)r->now);
    quic_current_leave(before);
    assert_true(n > 0 && written == (ngtcp2_ssize)len);
    quic_conn_sent(&r->conn, &d, (size_t)n, &parts, r->now);
    to_server(r, &d);
    settle(r);
}

static void test_wrong_alpn(void **state)
{
    struct rogue r;

    (void)state;
    start(&r, "h3");
    settle(&r); /* the closing packet is repeated */
    settle(&r);
    settle(&r);
    assert_false(r.handshake_done);
    assert_true(agent_done(r.server));
    assert_string_equal(agent_error(r.server), "TLS handshake failed, alert 120");
    assert_true(r.conn.closed && r.conn.failed);
    end(&r);
}

static void test_wrong_certificate(void **state)
{
    static const uint8_t other[QUIC_TLS_FINGERPRINT_BYTES] = {1};
    struct rogue r;

    (void)state;
    start_with(&r, QUIC_AGENT_ALPN, other);
    settle(&r);
    settle(&r);
    settle(&r);
    assert_false(r.handshake_done);
    assert_true(r.conn.failed && agent_done(r.server));
    assert_non_null(agent_error(r.server));
    end(&r);
}

static void test_logs(void **state)
{
    struct rogue r;

    (void)state;
    start(&r, QUIC_AGENT_ALPN);
    assert_int_equal(r.key_lines, 4);     /* handshake and traffic secrets of both sides */
    assert_int_equal(r.qlog_first, 0x1e); /* JSON-SEQ */
    assert_true(r.qlog_bytes > 1000);
    end(&r);
}

static void test_unknown_flow_datagram(void **state)
{
    struct rogue r;

    (void)state;
    start(&r, QUIC_AGENT_ALPN);
    assert_true(r.handshake_done);
    send_datagram(&r, "\x06rtp", 4);
    expect_close(&r, ROQ_UNKNOWN_FLOW_ID, UNKNOWN_FLOW);
}

static void test_unknown_flow_stream(void **state)
{
    struct rogue r;

    (void)state;
    start(&r, QUIC_AGENT_ALPN);
    send_stream(&r, false, "\x0b\x04test", 6, false);
    expect_close(&r, ROQ_UNKNOWN_FLOW_ID, UNKNOWN_FLOW);
}

static void test_unknown_channel(void **state)
{
    struct rogue r;

    (void)state;
    start(&r, QUIC_AGENT_ALPN);
    send_stream(&r, false, "\x04\x06\x00x", 4, true);
    expect_close(&r, ROQ_UNKNOWN_FLOW_ID, UNKNOWN_FLOW);
}

static void test_bidirectional(void **state)
{
    struct rogue r;

    (void)state;
    start(&r, QUIC_AGENT_ALPN);
    send_stream(&r, true, "\x02\x04test", 6, true);
    expect_close(&r, ROQ_STREAM_CREATION_ERROR, BIDIRECTIONAL);
}

static void test_bad_framing(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
    } streams[] = {
        {"\x02\x00", 2},        /* a packet of length 0 */
        {"\x02\x10short", 7},   /* ends inside a packet */
        {"\xc0", 1},            /* ends inside the identifier */
        {"", 0},                /* nothing at all */
        {"\x00\x09", 2},        /* no such message type */
        {"\x00\x06", 2},        /* ends before the sequence number */
        {"\x00\x00\x80\x00", 4} /* ends inside OPEN */
    };
    struct rogue r;

    (void)state;
    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++) {
        start(&r, QUIC_AGENT_ALPN);
        send_stream(&r, false, streams[i].bytes, streams[i].len, true);
        expect_close(&r, ROQ_PACKET_ERROR, BAD_FRAMING);
    }
    start(&r, QUIC_AGENT_ALPN);
    send_datagram(&r, "\x02", 1);
    expect_close(&r, ROQ_PACKET_ERROR, BAD_FRAMING);
}

static void test_bad_transfer(void **state)
{
    struct qdc_header open = {.type = QDC_TYPE_OPEN};
    uint8_t bytes[64];
    int n = qdc_header_write(&open, bytes, sizeof bytes);
    struct rogue r;

    (void)state;
    assert_true(n > 0);
    start(&r, QUIC_AGENT_ALPN);
    send_stream(&r, false, bytes, (size_t)n, true);
    assert_false(agent_done(r.server));
    send_stream(&r, false, "\x00\x06\x00no transfer", 14, true);
    expect_close(&r, ROQ_GENERAL_ERROR, BAD_TRANSFER);
}

/* RTP that is none harms nobody but itself. */
static void test_bad_rtp(void **state)
{
    struct rogue r;

    (void)state;
    start(&r, QUIC_AGENT_ALPN);
    send_datagram(&r, "\x02junk", 5);
    send_stream(&r, false, "\x02\x04junk", 6, true);
    assert_false(agent_done(r.server));
    quic_conn_close(&r.conn, ROQ_NO_ERROR, r.now);
    settle(&r);
    assert_true(agent_done(r.server));
    assert_null(agent_error(r.server));
    end(&r);
    assert_int_equal(r.counters[BAD_RTP], 2);
}

/* A sender that nobody answers. */
static void test_nobody_there(void **state)
{
    struct agent_config cfg = agent_config_default();
    struct prng keys;
    struct agent_env env = {.random = random_bytes, .ctx = &keys};
    uint8_t buf[AGENT_DATAGRAM_MAX];
    struct dgram d = {.data = buf};
    struct agent *a;
    ns_t now = 0;
    int sent = 0;

    (void)state;
    prng_init(&keys, 1, "client");
    assert_int_equal(addr_parse(&cfg.local, "192.0.2.1:1"), 0);
    assert_int_equal(addr_parse(&cfg.remote, "192.0.2.2:1"), 0);
    assert_int_equal(quic_agent_new(&a, &cfg, &env, 0), 0);
    while (!agent_done(a)) {
        while (agent_poll(a, &d, now) > 0) {
            sent++;
        }
        assert_true(agent_deadline(a) != NS_NEVER || agent_done(a));
        now = ns_max(now, agent_deadline(a));
        agent_expire(a, now);
    }
    assert_in_range(now, NS_PER_S, 60 * NS_PER_S);
    assert_in_range(sent, 3, 50);
    assert_non_null(agent_error(a));
    agent_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_certificate),   cmocka_unit_test(test_logs),
        cmocka_unit_test(test_wrong_alpn),          cmocka_unit_test(test_unknown_flow_datagram),
        cmocka_unit_test(test_unknown_flow_stream), cmocka_unit_test(test_unknown_channel),
        cmocka_unit_test(test_bidirectional),       cmocka_unit_test(test_bad_framing),
        cmocka_unit_test(test_bad_transfer),        cmocka_unit_test(test_bad_rtp),
        cmocka_unit_test(test_nobody_there),
    };

    return cmocka_run_group_tests_name("quic rogue", tests, NULL, NULL);
}
