/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A real agent of either role against a peer that breaks the rules: a bare connection of our own,
 * over a path without loss or delay, which completes the handshake and then sends packets whose
 * frames the test writes byte by byte, under the connection's own keys (RFC 9001 section 5). */
#ifndef AGENTS_QUIC_QUIC_HOSTILE_TEST_H
#define AGENTS_QUIC_QUIC_HOSTILE_TEST_H

#include "agents/agent.h"
#include "agents/base/prng.h"
#include "agents/quic/quic_agent.h"
#include "agents/quic/quic_attack.h"
#include "agents/quic/quic_conn.h"

#include <stdio.h>
#include <string.h>

#define HOSTILE_COUNTERS_MAX 96
#define HOSTILE_TURN (5 * NS_PER_MS)

struct hostile {
    /* The peer: ours to misuse. Between hostile_prepare and hostile_start a test may change it. */
    struct agent_config cfg;
    struct agent_env env;
    struct quic_conn conn;
    struct prng keys[2];
    bool handshake_done, broken;              /* of the peer itself: it can write no more */
    uint8_t secret[QUIC_ATTACK_SECRET_BYTES]; /* our traffic secret */
    int key_lines;
    size_t qlog_bytes;
    char qlog_first;
    int64_t next_packet; /* of those the test writes; far above what the connection itself sent */

    /* The agent: the real thing. */
    struct agent_config agent_cfg;
    struct agent_env agent_env;
    struct record_sink sink;
    struct agent *agent;
    struct {
        char name[40];
        int64_t value;
    } counters[HOSTILE_COUNTERS_MAX]; /* filled in by hostile_end */
    size_t counter_count;

    ns_t now;
};

static inline void hostile_put(void *ctx, enum record_kind kind, const char *name, const int64_t *v)
{
    struct hostile *h = ctx;

    if (kind == RECORD_COUNTER && h->counter_count < HOSTILE_COUNTERS_MAX) {
        snprintf(h->counters[h->counter_count].name, sizeof h->counters[0].name, "%s", name);
        h->counters[h->counter_count++].value = v[0];
    }
}

/* After hostile_end: a counter of the agent, -1 if it has none of that name. */
static inline int64_t hostile_counter(const struct hostile *h, const char *name)
{
    for (size_t i = 0; i < h->counter_count; i++) {
        if (strcmp(h->counters[i].name, name) == 0) {
            return h->counters[i].value;
        }
    }
    return -1;
}

static inline void hostile_random(void *ctx, void *out, size_t len)
{
    prng_fill(ctx, out, len);
}

static inline struct hostile *hostile_of(void *keys)
{
    return (struct hostile *)(void *)((char *)keys - offsetof(struct hostile, keys));
}

static inline void hostile_keylog(void *ctx, const char *line)
{
    struct hostile *h = hostile_of(ctx);

    h->key_lines += strncmp(line, "CLIENT_", 7) == 0 || strncmp(line, "SERVER_", 7) == 0;
    quic_attack_secret(h->secret, line, h->conn.server);
}

static inline void hostile_qlog(void *ctx, const void *data, size_t len)
{
    struct hostile *h = hostile_of(ctx);

    if (!h->qlog_bytes) {
        h->qlog_first = *(const char *)data;
    }
    h->qlog_bytes += len;
}

static inline void hostile_handshake_done(void *ctx)
{
    ((struct hostile *)ctx)->handshake_done = true;
}

static inline int hostile_no_datagram(void *ctx, const uint8_t *data, size_t len)
{
    (void)ctx, (void)data, (void)len;
    return 0;
}

static inline int hostile_no_stream(void *ctx, void **user, bool fin, const uint8_t *data,
                                    size_t len)
{
    (void)ctx, (void)user, (void)fin, (void)data, (void)len;
    return 0;
}

static inline void hostile_no_close(void *ctx, void *user)
{
    (void)ctx, (void)user;
}

static inline void hostile_no_packet(void *ctx, int64_t packet)
{
    (void)ctx, (void)packet;
}

static inline void hostile_no_timestamp(void *ctx, int64_t packet, int64_t time_us)
{
    (void)ctx, (void)packet, (void)time_us;
}

static inline void hostile_no_rtt(void *ctx)
{
    (void)ctx;
}

static const struct quic_conn_events hostile_events = {.handshake_done = hostile_handshake_done,
                                                       .datagram = hostile_no_datagram,
                                                       .stream_data = hostile_no_stream,
                                                       .stream_closed = hostile_no_close,
                                                       .acked = hostile_no_packet,
                                                       .lost = hostile_no_packet,
                                                       .timestamp = hostile_no_timestamp,
                                                       .rtt = hostile_no_rtt};

static inline void hostile_to_agent(struct hostile *h, struct dgram *d)
{
    d->arrival = h->now;
    agent_recv(h->agent, d, h->now);
}

/* What the bare connection has to say by itself. */
static inline void hostile_write(struct hostile *h)
{
    uint8_t buf[AGENT_DATAGRAM_MAX];
    struct dgram d = {.data = buf};
    struct quic_conn_parts parts = {.packet = RECORD_NONE};
    ngtcp2_ssize n = 1;

    while (n > 0 && h->conn.conn && !h->broken && !h->conn.closing && !h->conn.closed) {
        struct quic_current *before = quic_current_enter(&h->conn.current, h->now);
        n = ngtcp2_conn_write_pkt(h->conn.conn, NULL, NULL, buf, 1452, (ngtcp2_tstamp)h->now);
        quic_current_leave(before);
        if (n > 0) {
            quic_conn_sent(&h->conn, &d, (size_t)n, &parts, h->now);
            hostile_to_agent(h, &d);
        }
        h->broken |= n < 0;
    }
    if (quic_conn_poll_close(&h->conn, &d, h->now) > 0) {
        hostile_to_agent(h, &d);
    }
}

/* What the agent has to say; the connection reads it if listen. */
static inline void hostile_read(struct hostile *h, bool listen)
{
    uint8_t buf[AGENT_DATAGRAM_MAX];
    struct dgram d = {.data = buf};

    agent_expire(h->agent, h->now);
    while (agent_poll(h->agent, &d, h->now) > 0) {
        if (listen) {
            quic_conn_recv(&h->conn, &d, h->now);
        }
    }
}

/* Lets both sides talk for a while. */
static inline void hostile_settle(struct hostile *h)
{
    for (int turn = 0; turn < 20; turn++) {
        h->now += HOSTILE_TURN;
        hostile_write(h);
        quic_conn_expire(&h->conn, h->now);
        hostile_read(h, true);
    }
}

static inline int hostile_prepare(struct hostile *h, enum agent_role agent_role)
{
    memset(h, 0, sizeof *h);
    h->next_packet = QUIC_ATTACK_FIRST_PACKET;
    h->sink = (struct record_sink){.put = hostile_put, .ctx = h};
    h->cfg = h->agent_cfg = agent_config_default();
    h->agent_cfg.role = agent_role;
    h->cfg.role = agent_role == AGENT_ROLE_SENDER ? AGENT_ROLE_RECEIVER : AGENT_ROLE_SENDER;
    if (addr_parse(&h->cfg.local, "[2001:db8::1]:1000") ||
        addr_parse(&h->cfg.remote, "[2001:db8::2]:2000")) {
        return -1;
    }
    h->agent_cfg.local = h->cfg.remote;
    h->agent_cfg.remote = h->cfg.local;
    prng_init(&h->keys[0], 1, "peer");
    prng_init(&h->keys[1], 1, "agent");
    h->env = (struct agent_env){
        .random = hostile_random, .ctx = h->keys, .keylog = hostile_keylog, .qlog = hostile_qlog};
    h->agent_env =
        (struct agent_env){.random = hostile_random, .ctx = &h->keys[1], .rec = &h->sink};
    quic_conn_init(&h->conn, &h->cfg, &h->env, &hostile_events, h);
    return 0;
}

/* Makes the agent and lets the handshake take place. */
static inline int hostile_start(struct hostile *h)
{
    int rv = quic_agent_new(&h->agent, &h->agent_cfg, &h->agent_env, 0);

    if (rv == 0 && h->agent_cfg.role == AGENT_ROLE_RECEIVER) {
        rv = quic_conn_connect(&h->conn, 0);
    }
    if (rv == 0) {
        hostile_settle(h);
    }
    return rv;
}

static inline void hostile_end(struct hostile *h)
{
    agent_free(h->agent);
    quic_conn_fini(&h->conn);
}

/* Sends the packet of an attack. Returns 0, or an error if it could not be made. */
static inline int hostile_attack(struct hostile *h, const struct quic_attack *a)
{
    uint8_t buf[AGENT_DATAGRAM_MAX];
    struct dgram d = {.data = buf};
    int rv = quic_attack_packet(&h->conn, h->secret, &h->next_packet, a, &d, h->now);

    if (rv == 0) {
        hostile_to_agent(h, &d);
    }
    return rv;
}

/* Sends one packet of these frames, with PADDING before them. */
static inline int hostile_send(struct hostile *h, const void *frames, size_t len)
{
    return hostile_attack(h, &(struct quic_attack){.bytes = frames, .len = len});
}

#endif
