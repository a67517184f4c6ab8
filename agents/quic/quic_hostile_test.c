/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Agents of both roles against peers that break the rules: a table of faults, each with the error
 * code the agent must close with and the counter that must tell of it. */
#include "agents/quic/quic_hostile_test.h"

#include "agents/quic/roq.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define TRANSPORT NGTCP2_CCERR_TYPE_TRANSPORT

static void begin(struct hostile *h, enum agent_role role)
{
    assert_int_equal(hostile_prepare(h, role), 0);
    h->agent_cfg.media = 1;
}

static void check_closed(struct hostile *h, const struct quic_attack *f)
{
    const ngtcp2_ccerr *e = ngtcp2_conn_get_ccerr(h->conn.conn);
    bool right = agent_done(h->agent) && agent_error(h->agent) && h->conn.closed &&
                 (int)e->type == f->type && e->error_code == f->code;

    if (!right) {
        print_message("%s: done %d, error %s, close type %d code %#llx\n", f->name,
                      agent_done(h->agent), agent_error(h->agent), (int)e->type,
                      (unsigned long long)e->error_code);
    }
    hostile_end(h);
    if (right && hostile_counter(h, f->counter) != 1) {
        print_message("%s: %s is %lld\n", f->name, f->counter,
                      (long long)hostile_counter(h, f->counter));
        right = false;
    }
    assert_true(right);
}

static bool is_for(const struct quic_attack *a, enum agent_role role)
{
    return a->victim == QUIC_ATTACK_BOTH ||
           a->victim == (role == AGENT_ROLE_RECEIVER ? QUIC_ATTACK_RECEIVER : QUIC_ATTACK_SENDER);
}

static void run(enum agent_role role)
{
    static struct hostile h;

    for (size_t i = 0; i < quic_attack_count; i++) {
        const struct quic_attack *f = &quic_attacks[i];
        if (!is_for(f, role)) {
            continue;
        }
        begin(&h, role);
        if (f->max_per_ack) {
            h.agent_cfg.timestamps_per_ack = f->max_per_ack;
        }
        h.agent_cfg.timestamp_exponent = f->exponent;
        assert_int_equal(hostile_start(&h), 0);
        assert_true(h.handshake_done);
        assert_false(agent_done(h.agent));
        assert_int_equal(hostile_attack(&h, f), 0);
        /* only reading: the agent has packets of ours that the connection knows nothing of */
        for (int turn = 0; turn < 80; turn++) {
            /* a late fault is acknowledged first, by numbers that the connection does not know */
            hostile_read(&h, !f->late || turn > 7);
            /* whatever happens, the agent never wants to be called at once again */
            assert_true(agent_done(h.agent) || agent_deadline(h.agent) > h.now);
            h.now += HOSTILE_TURN;
        }
        check_closed(&h, f);
    }
}

static void test_receiver(void **state)
{
    (void)state;
    run(AGENT_ROLE_RECEIVER);
}

static void test_sender(void **state)
{
    (void)state;
    run(AGENT_ROLE_SENDER);
}

/* The agent goes on. */
static void test_harmless(void **state)
{
    static struct hostile h;

    (void)state;
    for (size_t i = 0; i < quic_attack_count; i++) {
        const struct quic_attack *f = &quic_attacks[i];
        if (f->victim != QUIC_ATTACK_HARMLESS) {
            continue;
        }
        begin(&h, AGENT_ROLE_RECEIVER);
        assert_int_equal(hostile_start(&h), 0);
        assert_int_equal(hostile_attack(&h, f), 0);
        hostile_read(&h, false);
        if (agent_done(h.agent)) {
            print_message("%s: %s\n", f->name, agent_error(h.agent));
        }
        assert_false(agent_done(h.agent));
        hostile_end(&h);
        assert_int_equal(hostile_counter(&h, "bad-rtp"), f->counter != NULL);
    }
}

/* Bytes that no key of ours made. */
static void test_garbage(void **state)
{
    static struct hostile h;
    uint8_t buf[AGENT_DATAGRAM_MAX];
    struct prng noise;

    (void)state;
    prng_init(&noise, 1, "noise");
    for (int role = AGENT_ROLE_SENDER; role <= AGENT_ROLE_RECEIVER; role++) {
        begin(&h, role);
        assert_int_equal(hostile_start(&h), 0);
        for (size_t len = 0; len < sizeof buf; len += 7) {
            struct dgram d = {.from = h.conn.local, .to = h.conn.remote, .data = buf, .len = len};
            prng_fill(&noise, buf, sizeof buf);
            hostile_to_agent(&h, &d);
            d.from.port++; /* and from somewhere else */
            hostile_to_agent(&h, &d);
        }
        hostile_settle(&h);
        assert_false(agent_done(h.agent));
        quic_conn_close(&h.conn, ROQ_NO_ERROR, h.now);
        hostile_settle(&h);
        assert_true(agent_done(h.agent));
        assert_null(agent_error(h.agent));
        hostile_end(&h);
        assert_true(hostile_counter(&h, "datagrams-garbage") > 200);
    }
}

/* A message that never ends: refused at its limit, and so are many at theirs. */
static void test_oversized(void **state)
{
    static struct hostile h;
    static uint8_t frame[1300];

    (void)state;
    for (unsigned streams = 1; streams <= 4; streams += 3) {
        size_t room = sizeof frame - 7, sent = 0;
        begin(&h, AGENT_ROLE_RECEIVER);
        h.agent_cfg.media = 0;
        assert_int_equal(hostile_start(&h), 0);
        for (uint64_t at = 0; !agent_done(h.agent) && sent < (64u << 20); at += room) {
            for (unsigned s = 0; s < streams && !agent_done(h.agent); s++) {
                frame[0] = 0x0c; /* to the packet's end, with an offset */
                frame[1] = (uint8_t)(2 + 4 * s);
                frame[2] = (uint8_t)(0x80 | at >> 24);
                frame[3] = (uint8_t)(at >> 16);
                frame[4] = (uint8_t)(at >> 8);
                frame[5] = (uint8_t)at;
                memcpy(frame + 6, "\x00\x06\x00", at ? 0 : 3);
                assert_int_equal(hostile_send(&h, frame, 6 + room), 0);
                sent += room;
                hostile_read(&h, false); /* lets it open its windows */
            }
            memset(frame + 6, 0, 3);
            if (sent % 64 == 0) {
                h.now += HOSTILE_TURN;
            }
        }
        assert_true(sent > (streams == 1 ? 17u : 51u) << 20);
        assert_true(sent < (streams == 1 ? 18u : 52u) << 20);
        hostile_end(&h);
        assert_int_equal(hostile_counter(&h, "oversized-messages"), 1);
    }
}

/* ---- the handshake ---- */

static void settle_long(struct hostile *h)
{
    for (int i = 0; i < 4; i++) { /* the closing packet is repeated */
        hostile_settle(h);
    }
}

static void test_wrong_alpn(void **state)
{
    static struct hostile h;

    (void)state;
    for (int role = AGENT_ROLE_SENDER; role <= AGENT_ROLE_RECEIVER; role++) {
        begin(&h, role);
        h.conn.alpn = "h3";
        assert_int_equal(hostile_start(&h), 0);
        settle_long(&h);
        assert_false(h.handshake_done);
        assert_true(agent_done(h.agent));
        assert_true(h.conn.closed && h.conn.failed);
        if (role == AGENT_ROLE_RECEIVER) {
            assert_string_equal(agent_error(h.agent), "TLS handshake failed, alert 120");
        } else {
            assert_string_equal(agent_error(h.agent), "peer closed with transport error 0x178");
        }
        hostile_end(&h);
        assert_int_equal(hostile_counter(&h, "tls-failures"), role == AGENT_ROLE_RECEIVER);
    }
}

static void test_wrong_certificate(void **state)
{
    static const uint8_t other[QUIC_TLS_FINGERPRINT_BYTES] = {1};
    static struct hostile h;

    (void)state;
    begin(&h, AGENT_ROLE_RECEIVER);
    h.conn.peer_fingerprint = other;
    assert_int_equal(hostile_start(&h), 0);
    settle_long(&h);
    assert_false(h.handshake_done);
    assert_true(h.conn.failed && agent_done(h.agent));
    assert_non_null(agent_error(h.agent));
    hostile_end(&h);
}

/* Parameters of the timestamp extension that the draft forbids. */
static void test_bad_parameters(void **state)
{
    static struct hostile h;

    (void)state;
    for (int role = AGENT_ROLE_SENDER; role <= AGENT_ROLE_RECEIVER; role++) {
        begin(&h, role);
        h.conn.ack_ext.local.exponent = RECEIVE_TS_EXPONENT_MAX + 1;
        assert_int_equal(hostile_start(&h), 0);
        settle_long(&h);
        assert_true(agent_done(h.agent));
        assert_string_equal(agent_error(h.agent), "peer sent malformed timestamp parameters");
        assert_true(h.conn.closed);
        assert_int_equal(ngtcp2_conn_get_ccerr(h.conn.conn)->type, TRANSPORT);
        assert_int_equal(ngtcp2_conn_get_ccerr(h.conn.conn)->error_code,
                         NGTCP2_TRANSPORT_PARAMETER_ERROR);
        hostile_end(&h);
        assert_int_equal(hostile_counter(&h, "bad-parameters"), 1);
    }
}

static void test_logs(void **state)
{
    static struct hostile h;

    (void)state;
    begin(&h, AGENT_ROLE_RECEIVER);
    assert_int_equal(hostile_start(&h), 0);
    assert_int_equal(h.key_lines, 4);     /* handshake and traffic secrets of both sides */
    assert_int_equal(h.qlog_first, 0x1e); /* JSON-SEQ */
    assert_true(h.qlog_bytes > 1000);
    hostile_end(&h);
}

/* A sender that nobody answers, for a run of duration; returns how many datagrams it sent. */
static int call_nobody(struct hostile *h, ns_t duration)
{
    uint8_t buf[AGENT_DATAGRAM_MAX];
    struct dgram d = {.data = buf};
    int sent = 0;

    begin(h, AGENT_ROLE_SENDER);
    h->agent_cfg.duration = duration;
    assert_int_equal(quic_agent_new(&h->agent, &h->agent_cfg, &h->agent_env, 0), 0);
    while (!agent_done(h->agent)) {
        while (agent_poll(h->agent, &d, h->now) > 0) {
            sent++;
        }
        if (agent_done(h->agent)) {
            break;
        }
        assert_true(agent_deadline(h->agent) != NS_NEVER);
        h->now = ns_max(h->now, agent_deadline(h->agent));
        agent_expire(h->agent, h->now);
    }
    assert_non_null(agent_error(h->agent));
    return sent;
}

static void test_nobody_there(void **state)
{
    static struct hostile h;

    (void)state;
    assert_in_range(call_nobody(&h, NS_NEVER), 3, 50);
    assert_in_range(h.now, NS_PER_S, 60 * NS_PER_S);
    hostile_end(&h);
    /* a run shorter than its patience is no success either */
    call_nobody(&h, NS_PER_S);
    assert_string_equal(agent_error(h.agent), "no answer before the end of the run");
    assert_in_range(h.now, NS_PER_S, 3 * NS_PER_S);
    hostile_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_receiver),
        cmocka_unit_test(test_sender),
        cmocka_unit_test(test_harmless),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_oversized),
        cmocka_unit_test(test_wrong_alpn),
        cmocka_unit_test(test_wrong_certificate),
        cmocka_unit_test(test_bad_parameters),
        cmocka_unit_test(test_logs),
        cmocka_unit_test(test_nobody_there),
    };

    return cmocka_run_group_tests_name("quic hostile", tests, NULL, NULL);
}
