/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/quic/quic_play.h"

#include "agents/base/err.h"
#include "agents/quic/quic_play_private.h"

#include <stdlib.h>
#include <string.h>

/* How long a server goes on after the players' latest end, and after the last connection without
 * having been told by all players: thinking is longer than so many of its mean once in 10^8 times.
 */
#define SERVER_GRACE (5 * NS_PER_S)
#define ALONE_MIN (60 * NS_PER_S)
#define ALONE_THINKS 20

static struct quic_play *self(struct agent *a)
{
    return (struct quic_play *)(void *)a;
}

static const struct quic_play *const_self(const struct agent *a)
{
    return (const struct quic_play *)(const void *)a;
}

/* ---- what a connection reports ---- */

static void handshake_done(void *ctx)
{
    struct quic_play_conn *c = ctx;
    ns_t now = c->conn.current.now;

    c->owner->connections++;
    record_put_named(c->owner->env.rec, RECORD_EVENT, "handshake-complete", now,
                     now - c->conn.started);
}

static int on_datagram(void *ctx, const uint8_t *data, size_t len)
{
    struct quic_play_conn *c = ctx;

    (void)data, (void)len;
    c->owner->bad_requests++;
    quic_conn_fail(&c->conn, FETCH_MALFORMED, "peer sent a datagram");
    return -1;
}

static int on_stream_data(void *ctx, void **user, bool fin, const uint8_t *data, size_t len)
{
    struct quic_play_conn *c = ctx;

    return c->owner->server ? quic_play_server_data(c, user, fin, data, len)
                            : quic_play_client_data(c, *user, fin, data, len);
}

static void on_stream_closed(void *ctx, void *user)
{
    struct quic_play_conn *c = ctx;

    if (user && c->owner->server) {
        quic_play_server_closed(c, user);
    } else if (user) {
        quic_play_client_closed(c, user);
    }
}

static void on_packet(void *ctx, int64_t packet)
{
    (void)ctx, (void)packet; /* rate control is ngtcp2's own */
}

static void on_lost(void *ctx, int64_t packet)
{
    struct quic_play_conn *c = ctx;

    if (c->owner->server) {
        record_put(c->owner->env.rec, RECORD_PACKET_LOST, c->conn.current.now, packet, RECORD_NONE,
                   RECORD_NONE);
    }
}

static void on_timestamp(void *ctx, int64_t packet, int64_t time_us)
{
    (void)ctx, (void)packet, (void)time_us; /* not negotiated with these presets */
}

static void on_rtt(void *ctx)
{
    struct quic_play_conn *c = ctx;

    if (c->owner->server) {
        record_put(c->owner->env.rec, RECORD_RTT, c->conn.current.now,
                   quic_conn_latest_rtt(&c->conn), quic_conn_smoothed_rtt(&c->conn));
    }
}

static const struct quic_conn_events events = {
    .handshake_done = handshake_done,
    .datagram = on_datagram,
    .stream_data = on_stream_data,
    .stream_closed = on_stream_closed,
    .acked = on_packet,
    .lost = on_lost,
    .timestamp = on_timestamp,
    .rtt = on_rtt,
};

/* ---- connections ---- */

struct quic_play_conn *quic_play_add(struct quic_play *q)
{
    for (int i = 0; i < QUIC_PLAY_CONNS_MAX; i++) {
        struct quic_play_conn *c;

        if (q->conns[i]) {
            continue;
        }
        c = calloc(1, sizeof *c);
        if (!c) {
            return NULL;
        }
        quic_conn_init(&c->conn, &q->cfg, &q->env, &events, c);
        c->conn.server = q->server;
        c->conn.alpn = QUIC_FETCH_ALPN;
        c->conn.bidi_streams = QUIC_PLAY_STREAMS_MAX;
        c->conn.cid_tag = i;
        c->conn.mend_bbr = true;
        c->owner = q;
        c->dirty = true;
        q->conns[i] = c;
        return c;
    }
    return NULL;
}

static void drop(struct quic_play *q, int i)
{
    struct quic_play_conn *c = q->conns[i];

    q->conns[i] = NULL;
    if (!q->server) {
        quic_play_client_forget(q, c);
    }
    q->datagrams_garbage += c->conn.datagrams_garbage;
    /* ngtcp2 may still look at what is on the streams: it goes first */
    quic_conn_fini(&c->conn);
    while (c->outs) {
        quic_play_server_closed(c, c->outs);
    }
    while (c->ins) {
        struct quic_play_in *in = c->ins;

        c->ins = in->next;
        free(in);
    }
    free(c);
}

/* Did the peer end it with this code? */
static bool ended_with(const struct quic_play_conn *c, uint64_t code)
{
    const ngtcp2_ccerr *e;

    if (!c->conn.conn || c->conn.closing) {
        return false;
    }
    e = ngtcp2_conn_get_ccerr(c->conn.conn);
    return e->type == NGTCP2_CCERR_TYPE_APPLICATION && e->error_code == code;
}

/* Frees what is over, and keeps account of why. */
static void reap(struct quic_play *q, ns_t now)
{
    bool any = false;

    for (int i = 0; i < QUIC_PLAY_CONNS_MAX; i++) {
        struct quic_play_conn *c = q->conns[i];

        if (c && c->conn.closed) {
            bool done = ended_with(c, FETCH_DONE);

            q->players_done += q->server && done;
            q->connections_failed += c->conn.failed && !done;
            drop(q, i);
        } else if (c && !c->conn.conn && q->server) {
            drop(q, i); /* it only looked like a client */
        }
        any |= q->conns[i] != NULL;
    }
    if (any || !q->connections) {
        q->alone = NS_NEVER;
    } else {
        q->alone = ns_min(q->alone, now);
    }
}

/* Whose is a datagram with a long header? Clients choose the first ids for themselves. */
static struct quic_play_conn *find_long(struct quic_play *q, const ngtcp2_cid *dcid)
{
    for (int i = 0; i < QUIC_PLAY_CONNS_MAX; i++) {
        struct quic_play_conn *c = q->conns[i];
        ngtcp2_cid ids[8];
        size_t n;

        if (!c || !c->conn.conn) {
            continue;
        }
        if (q->server && ngtcp2_cid_eq(ngtcp2_conn_get_client_initial_dcid(c->conn.conn), dcid)) {
            return c;
        }
        n = ngtcp2_conn_get_scid(c->conn.conn, NULL);
        if (n <= sizeof ids / sizeof *ids) {
            ngtcp2_conn_get_scid(c->conn.conn, ids);
            for (size_t k = 0; k < n; k++) {
                if (ngtcp2_cid_eq(&ids[k], dcid)) {
                    return c;
                }
            }
        }
    }
    return NULL;
}

/* The connection a datagram belongs to, for a server perhaps a new one; NULL: nobody's. */
static struct quic_play_conn *route(struct quic_play *q, const struct dgram *d)
{
    struct quic_play_conn *c = NULL;
    ngtcp2_version_cid v;
    ngtcp2_cid dcid;

    if (ngtcp2_pkt_decode_version_cid(&v, d->data, d->len, QUIC_CONN_CID_BYTES) != 0 ||
        v.dcidlen > NGTCP2_MAX_CIDLEN || v.dcidlen == 0) {
        return NULL;
    }
    if (!v.scid) {
        return v.dcid[0] < QUIC_PLAY_CONNS_MAX ? q->conns[v.dcid[0]] : NULL;
    }
    ngtcp2_cid_init(&dcid, v.dcid, v.dcidlen);
    c = find_long(q, &dcid);
    if (!c && q->server && !q->stopping && v.version == NGTCP2_PROTO_VER_V1) {
        c = quic_play_add(q);
    }
    return c;
}

/* ---- the end ---- */

/* When the configuration ends the run for the players. */
static ns_t end_time(const struct quic_play *q)
{
    ns_t end = q->cfg.duration == NS_NEVER ? q->cfg.time_limit : q->cfg.duration;

    return q->server ? ns_add(end, SERVER_GRACE) : end;
}

static ns_t alone_end(const struct quic_play *q)
{
    return q->server && q->alone != NS_NEVER
               ? ns_add(q->alone, ns_max(ALONE_MIN, q->cfg.play.think * ALONE_THINKS))
               : NS_NEVER;
}

static void close_all(struct quic_play *q, ns_t now)
{
    for (int i = 0; i < QUIC_PLAY_CONNS_MAX; i++) {
        if (q->conns[i]) {
            quic_conn_close(&q->conns[i]->conn, FETCH_NO_ERROR, now);
        }
    }
}

static bool any_conn(const struct quic_play *q)
{
    for (int i = 0; i < QUIC_PLAY_CONNS_MAX; i++) {
        if (q->conns[i]) {
            return true;
        }
    }
    return false;
}

/* Looks at what has changed. */
static void advance(struct quic_play *q, ns_t now)
{
    if (end_time(q) <= now || q->fatal) {
        q->stopping = true;
    }
    for (int i = 0; i < QUIC_PLAY_CONNS_MAX; i++) {
        struct quic_conn *c = q->conns[i] ? &q->conns[i]->conn : NULL;

        if (c && c->failed && !c->closing && !c->closed) {
            quic_conn_shut(c, now); /* a failure of our own */
        }
    }
    if (q->server) {
        q->stopping |= q->players_done >= q->cfg.play.players || alone_end(q) <= now;
        if (q->stopping) {
            close_all(q, now);
        }
    } else {
        quic_play_client_advance(q, now);
    }
    reap(q, now);
    if (!q->server) {
        quic_play_client_advance(q, now); /* players whose connection has just gone */
    }
    if (q->fatal) {
        q->done = true;
    } else if (!any_conn(q)) {
        q->done = q->server ? q->stopping : quic_play_client_idle(q);
    }
}

/* ---- the contract ---- */

static int recv_op(struct agent *a, const struct dgram *d, ns_t now)
{
    struct quic_play *q = self(a);
    struct quic_play_conn *c;
    int rv = 0;

    q->now = now;
    if (q->done) {
        return 0;
    }
    q->datagrams_in++;
    c = route(q, d);
    if (c) {
        c->dirty = true;
        rv = quic_conn_recv(&c->conn, d, now);
    } else {
        q->datagrams_garbage++;
    }
    if (rv) {
        q->fatal = rv;
    }
    advance(q, now);
    return q->fatal;
}

/* As ngtcp2's own programs do: packets are written until there is nothing more to write or a send
 * quantum is full, then the pacing timer is set for all of them together. */
static void pace(struct quic_play_conn *c, size_t n, ns_t now)
{
    size_t quantum = ngtcp2_conn_get_send_quantum(c->conn.conn);

    c->burst_bytes += n;
    if (c->burst_bytes &&
        (!n || c->burst_bytes + (size_t)c->owner->cfg.udp_payload_bytes > quantum)) {
        ngtcp2_conn_update_pkt_tx_time(c->conn.conn, (ngtcp2_tstamp)now);
        c->burst_bytes = 0;
    }
}

static int write_one(struct quic_play_conn *c, struct dgram *out, ns_t now)
{
    struct quic_conn_parts parts = {.packet = RECORD_NONE};
    size_t cap = (size_t)c->owner->cfg.udp_payload_bytes;
    struct quic_current *before = quic_current_enter(&c->conn.current, now);
    int64_t last = quic_internals_last_packet(c->conn.conn);
    ngtcp2_ssize n = c->owner->server ? quic_play_server_write(c, out->data, cap, now)
                                      : quic_play_client_write(c, out->data, cap, now);

    if (n > 0) {
        if (quic_internals_last_packet(c->conn.conn) > last) {
            parts.packet = quic_internals_last_packet(c->conn.conn);
        }
        quic_conn_sent(&c->conn, out, (size_t)n, &parts, now);
    } else if (n < 0) {
        quic_conn_library_error(&c->conn, (int)n, now);
    }
    if (n >= 0) {
        pace(c, (size_t)n, now);
    }
    if (n == 0 && c->owner->server && !quic_play_server_waits(c)) {
        quic_internals_app_limited(c->conn.conn);
    }
    quic_current_leave(before);
    return n > 0;
}

static int poll_conn(struct quic_play_conn *c, struct dgram *out, ns_t now)
{
    if (c->conn.closing) {
        return quic_conn_poll_close(&c->conn, out, now);
    }
    if (!c->dirty || !c->conn.conn || c->conn.closed) {
        return 0;
    }
    c->dirty = write_one(c, out, now);
    return c->dirty;
}

static int poll_op(struct agent *a, struct dgram *out, ns_t now)
{
    struct quic_play *q = self(a);

    q->now = now;
    for (int k = 0; k < QUIC_PLAY_CONNS_MAX && !q->done; k++) {
        size_t i = (q->turn + (size_t)k) % QUIC_PLAY_CONNS_MAX;

        if (q->conns[i] && poll_conn(q->conns[i], out, now)) {
            q->turn = i + 1;
            q->datagrams_out++;
            return 1;
        }
    }
    if (!q->done) {
        advance(q, now);
    }
    return q->fatal;
}

static ns_t deadline_op(const struct agent *a)
{
    const struct quic_play *q = const_self(a);
    ns_t t;

    if (q->done) {
        return NS_NEVER;
    }
    t = q->stopping ? NS_NEVER : ns_min(end_time(q), alone_end(q));
    for (int i = 0; i < QUIC_PLAY_CONNS_MAX; i++) {
        if (q->conns[i]) {
            t = ns_min(t, quic_conn_deadline(&q->conns[i]->conn));
        }
    }
    return q->server ? t : ns_min(t, quic_play_client_deadline(q));
}

static int expire_op(struct agent *a, ns_t now)
{
    struct quic_play *q = self(a);

    q->now = now;
    if (q->done) {
        return 0;
    }
    for (int i = 0; i < QUIC_PLAY_CONNS_MAX; i++) {
        struct quic_play_conn *c = q->conns[i];

        if (c && quic_conn_deadline(&c->conn) <= now) {
            quic_conn_expire(&c->conn, now);
            c->dirty = true;
        }
    }
    advance(q, now);
    return q->fatal;
}

static void stop_op(struct agent *a, ns_t now)
{
    struct quic_play *q = self(a);

    q->now = now;
    q->stopping = true;
    advance(q, now);
}

static bool done_op(const struct agent *a)
{
    return const_self(a)->done;
}

static const char *error_op(const struct agent *a)
{
    const struct quic_play *q = const_self(a);

    return q->done && q->fatal ? err_text(q->fatal) : NULL;
}

static void free_op(struct agent *a)
{
    struct quic_play *q = self(a);

    for (int i = 0; i < q->cfg.play.players && !q->server; i++) {
        player_stop(&q->players[i], q->now); /* its play is on record, however it ended */
    }
    for (int i = 0; i < QUIC_PLAY_CONNS_MAX; i++) {
        if (q->conns[i]) {
            drop(q, i);
        }
    }
    record_put_counter(q->env.rec, "datagrams-sent", q->datagrams_out);
    record_put_counter(q->env.rec, "datagrams-received", q->datagrams_in);
    record_put_counter(q->env.rec, "datagrams-garbage", q->datagrams_garbage);
    record_put_counter(q->env.rec, "connections", q->connections);
    record_put_counter(q->env.rec, "connections-failed", q->connections_failed);
    record_put_counter(q->env.rec, "bad-requests", q->bad_requests);
    free(q);
}

static const struct agent_ops ops = {
    .recv = recv_op,
    .poll = poll_op,
    .deadline = deadline_op,
    .expire = expire_op,
    .stop = stop_op,
    .done = done_op,
    .error = error_op,
    .free = free_op,
};

int quic_play_new(struct agent **out, const struct agent_config *cfg, const struct agent_env *env,
                  ns_t now)
{
    struct quic_play *q;

    if (!quic_conn_is_windowed(cfg)) {
        return ERR_CONFIG;
    }
    q = calloc(1, sizeof *q);
    if (!q) {
        return ERR_NOMEM;
    }
    q->agent.ops = &ops;
    q->cfg = *cfg;
    q->env = *env;
    q->now = now;
    q->server = cfg->role == AGENT_ROLE_SENDER;
    q->alone = NS_NEVER;
    if (!q->server) {
        quic_play_client_init(q, now);
        quic_play_client_advance(q, now);
    }
    *out = &q->agent;
    return 0;
}
