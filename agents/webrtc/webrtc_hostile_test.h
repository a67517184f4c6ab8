/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A real agent and a peer that completes the handshake and then does as a test likes: the peer is
 * the connection alone (webrtc_conn.h), what it sends above that each test makes by hand. Include
 * it after cmocka.h. */
#ifndef AGENTS_WEBRTC_WEBRTC_HOSTILE_TEST_H
#define AGENTS_WEBRTC_WEBRTC_HOSTILE_TEST_H

#include "agents/agent_pair_test.h"
#include "agents/base/prng.h"
#include "agents/webrtc/dcep.h"
#include "agents/webrtc/webrtc_conn.h"

#define STEP NS_PER_MS

PAIR_UNUSED static struct agent_config webrtc_config(int role)
{
    struct agent_config c = pair_config(role);

    c.stack = AGENT_STACK_WEBRTC;
    return c;
}

/* One real agent and one rogue connection, without delay between them. */
struct rogue {
    struct agent *agent;
    struct pair_seen seen;
    struct record_sink sink;
    struct prng keys[2], random;
    struct agent_env env;
    struct agent_config cfg; /* of the rogue */
    struct webrtc_conn conn;
    ns_t now;
    bool up;
    size_t messages, rtcp;
};

PAIR_UNUSED static void on_established(void *ctx)
{
    ((struct rogue *)ctx)->up = true;
}

PAIR_UNUSED static void on_rtp(void *ctx, const uint8_t *data, size_t len, int64_t datagram,
                               size_t ip_bytes, ns_t arrival)
{
    (void)ctx, (void)data, (void)len, (void)datagram, (void)ip_bytes, (void)arrival;
}

PAIR_UNUSED static void on_rtcp(void *ctx, const uint8_t *data, size_t len)
{
    (void)data, (void)len;
    ((struct rogue *)ctx)->rtcp++;
}

PAIR_UNUSED static void on_data_sent(void *ctx, const struct webrtc_sctp_sent *part)
{
    (void)ctx, (void)part;
}

PAIR_UNUSED static void on_given_up(void *ctx, uint16_t stream, uint32_t context)
{
    (void)ctx, (void)stream, (void)context;
}

PAIR_UNUSED static void on_message(void *ctx, uint16_t stream, uint32_t ppid, const uint8_t *data,
                                   size_t len)
{
    (void)stream, (void)ppid, (void)data, (void)len;
    ((struct rogue *)ctx)->messages++;
}

PAIR_UNUSED static void on_reset(void *ctx, uint16_t stream, bool incoming)
{
    (void)ctx, (void)stream, (void)incoming;
}

PAIR_UNUSED static const struct webrtc_conn_events events = {
    .established = on_established,
    .rtp = on_rtp,
    .rtcp = on_rtcp,
    .data_sent = on_data_sent,
    .given_up = on_given_up,
    .message = on_message,
    .reset = on_reset,
};

/* Lets both exchange what they have for a while. */
PAIR_UNUSED static void run(struct rogue *r, ns_t duration)
{
    uint8_t buf[AGENT_DATAGRAM_MAX];
    ns_t end = r->now + duration;

    for (; r->now < end; r->now += STEP) {
        struct dgram d = {.data = buf};
        while (webrtc_conn_poll(&r->conn, &d, r->now) == 1) {
            d.arrival = r->now;
            agent_recv(r->agent, &d, r->now);
        }
        while (agent_poll(r->agent, &d, r->now) == 1) {
            d.arrival = r->now;
            webrtc_conn_recv(&r->conn, &d, r->now);
        }
        if (agent_deadline(r->agent) <= r->now) {
            agent_expire(r->agent, r->now);
        }
        if (webrtc_conn_deadline(&r->conn) <= r->now) {
            webrtc_conn_expire(&r->conn, r->now);
        }
    }
}

/* Up to the end of the handshake. */
PAIR_UNUSED static void rogue_begin(struct rogue *r, int agent_role)
{
    struct agent_config cfg = webrtc_config(agent_role);
    struct agent_env env = {.seed = 1, .random = pair_random, .epoch_s = 1700000000};

    memset(r, 0, sizeof *r);
    prng_init(&r->keys[0], 1, "agent");
    prng_init(&r->keys[1], 1, "rogue");
    prng_init(&r->random, 1, "test");
    r->seen.everything = digest_new();
    r->seen.datagrams = digest_new();
    assert_true(r->seen.everything && r->seen.datagrams);
    r->sink = (struct record_sink){.put = pair_put, .ctx = &r->seen};
    env.ctx = &r->keys[0];
    env.rec = &r->sink;
    cfg.media = agent_role == SENDER;
    cfg.data = agent_role == SENDER ? AGENT_DATA_FILE : AGENT_DATA_NONE;
    cfg.data_bytes = 100000;
    cfg.linger = 1000 * NS_PER_S;
    assert_int_equal(agent_new(&r->agent, &cfg, &env, 0), 0);
    r->cfg = webrtc_config(!agent_role);
    r->env = env;
    r->env.ctx = &r->keys[1];
    r->env.rec = NULL;
    assert_int_equal(webrtc_conn_init(&r->conn, &r->cfg, &r->env, &events, r, 0), 0);
    if (agent_role == RECEIVER) {
        webrtc_conn_start(&r->conn, 0);
    }
    run(r, 200 * NS_PER_MS);
    assert_true(r->up);
}

/* And with an association, the connection's own. */
PAIR_UNUSED static void rogue_init(struct rogue *r, int agent_role)
{
    rogue_begin(r, agent_role);
    if (agent_role == RECEIVER) {
        webrtc_conn_associate(&r->conn, r->now);
    }
    run(r, 200 * NS_PER_MS);
    assert_true(r->conn.sctp && webrtc_sctp_up(r->conn.sctp));
}

PAIR_UNUSED static void rogue_fini(struct rogue *r)
{
    webrtc_conn_fini(&r->conn);
    agent_free(r->agent);
    digest_free(r->seen.everything);
    digest_free(r->seen.datagrams);
}

PAIR_UNUSED static void write_message(struct rogue *r, uint16_t stream, uint32_t ppid,
                                      const void *data, size_t len)
{
    assert_int_equal(webrtc_sctp_write(r->conn.sctp, stream, ppid, data, len, r->now), len);
    run(r, 20 * NS_PER_MS);
}

PAIR_UNUSED static void open_channel(struct rogue *r, uint16_t stream)
{
    struct dcep_open open = {.channel = DCEP_RELIABLE, .label = "x"};
    uint8_t data[64];
    int n = dcep_write_open(&open, data, sizeof data);

    assert_true(n > 0);
    write_message(r, stream, DCEP_PPID_DCEP, data, (size_t)n);
}

PAIR_UNUSED static void reset_stream(struct rogue *r, uint16_t stream)
{
    assert_int_equal(webrtc_sctp_reset(r->conn.sctp, &stream, 1, r->now), 0);
}

PAIR_UNUSED static void rtcp(struct rogue *r, const uint8_t *data, size_t len)
{
    uint8_t packet[AGENT_DATAGRAM_MAX] __attribute__((aligned(4)));

    memcpy(packet, data, len);
    webrtc_conn_send_rtcp(&r->conn, packet, len, r->now);
    run(r, 2 * NS_PER_MS);
}

#endif
