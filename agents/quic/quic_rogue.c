/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/quic/quic_rogue.h"

#include "agents/base/err.h"
#include "agents/quic/quic_conn.h"
#include "agents/quic/roq.h"

#include <stdlib.h>

#define PACKET_BYTES 1452

struct quic_rogue {
    struct agent_config cfg;
    struct agent_env env, random; /* the connection's; whose random() serves it */
    struct quic_conn conn;
    uint8_t secret[QUIC_ATTACK_SECRET_BYTES];
    int64_t next_packet;
    bool up, deaf, broken; /* deaf: neither reads nor writes any more */
};

static void take_key(void *ctx, const char *line)
{
    struct quic_rogue *r = ctx;

    quic_attack_secret(r->secret, line, r->conn.server);
}

static void fill(void *ctx, void *out, size_t len)
{
    const struct quic_rogue *r = ctx;

    r->random.random(r->random.ctx, out, len);
}

static void on_handshake_done(void *ctx)
{
    ((struct quic_rogue *)ctx)->up = true;
}

static int on_datagram(void *ctx, const uint8_t *data, size_t len)
{
    (void)ctx, (void)data, (void)len;
    return 0;
}

static int on_stream(void *ctx, void **user, bool fin, const uint8_t *data, size_t len)
{
    (void)ctx, (void)user, (void)fin, (void)data, (void)len;
    return 0;
}

static void on_stream_closed(void *ctx, void *user)
{
    (void)ctx, (void)user;
}

static void on_packet(void *ctx, int64_t packet)
{
    (void)ctx, (void)packet;
}

static void on_timestamp(void *ctx, int64_t packet, int64_t time_us)
{
    (void)ctx, (void)packet, (void)time_us;
}

static void on_rtt(void *ctx)
{
    (void)ctx;
}

static const struct quic_conn_events events = {
    .handshake_done = on_handshake_done,
    .datagram = on_datagram,
    .stream_data = on_stream,
    .stream_closed = on_stream_closed,
    .acked = on_packet,
    .lost = on_packet,
    .timestamp = on_timestamp,
    .rtt = on_rtt,
};

int quic_rogue_new(struct quic_rogue **out, const struct agent_config *cfg,
                   const struct agent_env *env, ns_t now)
{
    struct quic_rogue *r = calloc(1, sizeof *r);
    int rv;

    if (!r) {
        return ERR_NOMEM;
    }
    r->cfg = *cfg;
    r->next_packet = QUIC_ATTACK_FIRST_PACKET;
    /* the two functions have one context, so the caller's is kept for random() */
    r->random = *env;
    r->env = (struct agent_env){
        .seed = env->seed, .epoch_s = env->epoch_s, .random = fill, .keylog = take_key, .ctx = r};
    quic_conn_init(&r->conn, &r->cfg, &r->env, &events, r);
    rv = r->conn.server ? 0 : quic_conn_connect(&r->conn, now);
    if (rv) {
        quic_rogue_free(r);
        return rv;
    }
    *out = r;
    return 0;
}

void quic_rogue_free(struct quic_rogue *r)
{
    if (r) {
        quic_conn_fini(&r->conn);
        free(r);
    }
}

void quic_rogue_fall_silent(struct quic_rogue *r)
{
    r->deaf = true;
}

bool quic_rogue_ready(const struct quic_rogue *r)
{
    return r->up;
}

const char *quic_rogue_error(const struct quic_rogue *r)
{
    return r->conn.error;
}

void quic_rogue_recv(struct quic_rogue *r, const struct dgram *d, ns_t now)
{
    if (!r->deaf) {
        r->broken |= quic_conn_recv(&r->conn, d, now) != 0;
    }
}

int quic_rogue_poll(struct quic_rogue *r, struct dgram *out, ns_t now)
{
    struct quic_conn_parts parts = {.packet = RECORD_NONE};
    struct quic_current *before;
    ngtcp2_ssize n;

    if (r->conn.closing) {
        return quic_conn_poll_close(&r->conn, out, now);
    }
    if (!r->conn.conn || r->broken || r->deaf || r->conn.closed) {
        return 0;
    }
    before = quic_current_enter(&r->conn.current, now);
    n = ngtcp2_conn_write_pkt(r->conn.conn, NULL, NULL, out->data, PACKET_BYTES,
                              (ngtcp2_tstamp)now);
    quic_current_leave(before);
    if (n <= 0) {
        r->broken |= n < 0;
        return 0;
    }
    quic_conn_sent(&r->conn, out, (size_t)n, &parts, now);
    return 1;
}

void quic_rogue_expire(struct quic_rogue *r, ns_t now)
{
    if (!r->deaf && quic_conn_deadline(&r->conn) <= now) {
        quic_conn_expire(&r->conn, now);
    }
}

int quic_rogue_attack(struct quic_rogue *r, const struct quic_attack *a, struct dgram *out,
                      ns_t now)
{
    return quic_attack_packet(&r->conn, r->secret, &r->next_packet, a, out, now);
}

void quic_rogue_close(struct quic_rogue *r, ns_t now)
{
    quic_conn_close(&r->conn, ROQ_NO_ERROR, now);
}

bool quic_rogue_closed(const struct quic_rogue *r)
{
    return r->conn.closed || r->broken;
}

bool quic_rogue_closed_with(const struct quic_rogue *r, const struct quic_attack *a)
{
    const ngtcp2_ccerr *e = r->conn.conn ? ngtcp2_conn_get_ccerr(r->conn.conn) : NULL;

    return r->conn.closed && e && (int)e->type == a->type && e->error_code == a->code;
}
