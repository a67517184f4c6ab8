/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/quic/quic_agent.h"

#include "agents/agent_media.h"
#include "agents/agent_private.h"
#include "agents/base/err.h"
#include "agents/quic/quic_conn.h"
#include "agents/quic/quic_mux.h"
#include "agents/quic/quic_rx.h"
#include "agents/quic/roq.h"

#include <stdlib.h>
#include <string.h>

/* How long the sender waits for its last data to be acknowledged before it closes. */
#define DRAIN_PTOS 3
#define DRAIN_MIN (500 * NS_PER_MS)

enum phase {
    PHASE_RUN,
    PHASE_DRAIN, /* sender: CLOSE of the data channel is under way */
    PHASE_CLOSE, /* the connection's own end */
    PHASE_DONE,
};

struct quic_agent {
    struct agent agent; /* first */
    struct agent_config cfg;
    struct agent_env env;
    struct quic_conn conn;
    bool sender;
    bool mux_started;
    union {
        struct quic_mux mux; /* sender */
        struct quic_rx rx;   /* receiver */
    };
    enum phase phase;
    ns_t now;
    ns_t drain_until, delivered;
    bool ended;                /* the receiver's media has been finished */
    bool unfinished;           /* file-unfinished has been recorded */
    uint64_t unexpected_flows; /* what a peer has sent to a sender */
    int fatal;
};

static struct quic_agent *self(struct agent *a)
{
    return (struct quic_agent *)(void *)a;
}

static const struct quic_agent *const_self(const struct agent *a)
{
    return (const struct quic_agent *)(const void *)a;
}

/* ---- what the connection reports ---- */

static void handshake_done(void *ctx)
{
    struct quic_agent *q = ctx;

    record_put_named(q->env.rec, RECORD_EVENT, "handshake-complete", q->now,
                     q->now - q->conn.started);
}

static int on_datagram(void *ctx, const uint8_t *data, size_t len)
{
    struct quic_agent *q = ctx;

    int rv;

    if (!q->sender) {
        return quic_rx_datagram(&q->rx, data, len);
    }
    rv = quic_mux_datagram(&q->mux, data, len);
    q->unexpected_flows += rv != 0;
    return rv;
}

static int on_stream_data(void *ctx, void **user, bool fin, const uint8_t *data, size_t len)
{
    struct quic_agent *q = ctx;

    if (q->sender) {
        q->unexpected_flows++;
        quic_conn_fail(&q->conn, ROQ_UNKNOWN_FLOW_ID, "peer sent a stream to a sender");
        return -1;
    }
    return quic_rx_stream_data(&q->rx, user, fin, data, len);
}

static void on_stream_closed(void *ctx, void *user)
{
    struct quic_agent *q = ctx;

    if (q->sender) {
        quic_mux_stream_closed(&q->mux, user);
    } else {
        quic_rx_stream_closed(&q->rx, user);
    }
}

static void on_acked(void *ctx, int64_t packet)
{
    struct quic_agent *q = ctx;

    if (q->sender) {
        quic_mux_acked(&q->mux, packet);
    }
}

static void on_lost(void *ctx, int64_t packet)
{
    struct quic_agent *q = ctx;

    if (q->sender) {
        quic_mux_lost(&q->mux, packet);
    }
}

static void on_timestamp(void *ctx, int64_t packet, int64_t time_us)
{
    struct quic_agent *q = ctx;

    if (q->sender) {
        quic_mux_timestamp(&q->mux, packet, time_us);
    }
}

static void on_rtt(void *ctx)
{
    struct quic_agent *q = ctx;

    if (q->sender) {
        quic_mux_rtt(&q->mux);
    }
}

static const struct quic_conn_events events = {
    .handshake_done = handshake_done,
    .datagram = on_datagram,
    .stream_data = on_stream_data,
    .stream_closed = on_stream_closed,
    .acked = on_acked,
    .lost = on_lost,
    .timestamp = on_timestamp,
    .rtt = on_rtt,
};

/* ---- the end ---- */

static void fail(struct quic_agent *q, int code)
{
    if (q->fatal == 0) {
        q->fatal = code;
        quic_conn_fail(&q->conn, ROQ_INTERNAL_ERROR, err_text(code));
    }
    q->phase = PHASE_DONE;
}

/* The sender's flows end and CLOSE of the data channel goes out; the receiver has nothing to say.
 */
static void begin_end(struct quic_agent *q, ns_t now)
{
    int rv;

    if (q->phase != PHASE_RUN) {
        return;
    }
    if (!q->conn.conn) {
        q->phase = PHASE_DONE;
        return;
    }
    if (!q->mux_started) {
        q->phase = PHASE_CLOSE;
        quic_conn_close(&q->conn, ROQ_NO_ERROR, now);
        return;
    }
    q->phase = PHASE_DRAIN;
    q->drain_until = now + ns_max(DRAIN_PTOS * 2 * quic_conn_smoothed_rtt(&q->conn), DRAIN_MIN);
    rv = quic_mux_stop(&q->mux, now);
    if (rv) {
        fail(q, rv);
    }
}

static void finish_media(struct quic_agent *q, ns_t now)
{
    if (!q->sender && !q->ended) {
        q->ended = true;
        playout_finish(q->rx.playout, now);
    }
}

/* The end has come: was there a file that has not arrived? Said once. */
static void note_unfinished(struct quic_agent *q, ns_t now)
{
    if (q->sender && !q->unfinished && agent_config_wants_file(&q->cfg) &&
        q->delivered == NS_NEVER) {
        q->unfinished = true;
        record_put_named(q->env.rec, RECORD_EVENT, "file-unfinished", now, 1);
    }
}

/* When the sender's configuration ends the run. */
static ns_t end_time(const struct quic_agent *q)
{
    if (!q->sender || q->phase != PHASE_RUN) {
        return NS_NEVER;
    }
    return agent_config_end(&q->cfg, q->delivered);
}

/* Looks at what has changed and moves through the phases. */
static void advance(struct quic_agent *q, ns_t now)
{
    if (q->phase == PHASE_DONE) {
        return;
    }
    if (q->sender && q->mux_started && q->delivered == NS_NEVER &&
        quic_channels_delivered(&q->mux.data)) {
        q->delivered = now;
    }
    if (q->conn.failed && !q->conn.closing && !q->conn.closed) {
        /* a failure of our own, not one that reading or writing has reported */
        quic_conn_shut(&q->conn, now);
    }
    if (end_time(q) <= now) {
        if (!q->mux_started) {
            quic_conn_fail(&q->conn, ROQ_GENERAL_ERROR, "no answer before the end of the run");
        }
        note_unfinished(q, now);
        begin_end(q, now);
    }
    if (q->phase == PHASE_DRAIN && (quic_mux_drained(&q->mux) || now >= q->drain_until)) {
        q->phase = PHASE_CLOSE;
        quic_conn_close(&q->conn, ROQ_NO_ERROR, now);
    }
    if (q->conn.closed) {
        q->phase = PHASE_DONE;
        note_unfinished(q, now); /* the peer may have ended it */
        finish_media(q, now);
    }
}

/* ---- the contract ---- */

static int agent_result(const struct quic_agent *q)
{
    return q->fatal;
}

static int recv_op(struct agent *a, const struct dgram *d, ns_t now)
{
    struct quic_agent *q = self(a);
    int rv;

    q->now = now;
    if (q->phase == PHASE_DONE) {
        return 0;
    }
    rv = quic_conn_recv(&q->conn, d, now);
    if (rv == 0 && q->sender && q->conn.handshake_done && !q->mux_started) {
        rv = quic_mux_start(&q->mux, now);
        q->mux_started = rv == 0;
    }
    if (rv) {
        fail(q, rv);
    } else if (q->mux_started && !q->conn.closed) {
        quic_mux_feedback(&q->mux, now);
    } else if (!q->sender && !q->conn.closed) {
        quic_rx_expire(&q->rx, now);
    }
    advance(q, now);
    return agent_result(q);
}

static bool rtcp_waits(const struct quic_agent *q)
{
    return !q->sender && q->rx.rtcp.len && q->conn.handshake_done;
}

/* A packet with the receiver's report and whatever else there is. */
static ngtcp2_ssize write_rtcp(struct quic_agent *q, struct dgram *out, ns_t now)
{
    struct quic_rtcp *r = &q->rx.rtcp;
    ngtcp2_pkt_info *info = quic_conn_begin(&q->conn);
    ngtcp2_vec v = {.base = r->packet, .len = r->len};
    int accepted;
    ngtcp2_ssize n;

    n = ngtcp2_conn_writev_datagram(q->conn.conn, NULL, info, out->data,
                                    (size_t)q->cfg.udp_payload_bytes, &accepted, 0, 0, &v, 1,
                                    (ngtcp2_tstamp)now);
    if (accepted) {
        quic_rtcp_taken(r);
    } else if (n == NGTCP2_ERR_INVALID_STATE || n == NGTCP2_ERR_INVALID_ARGUMENT) {
        r->len = 0; /* the peer takes no datagrams, or no such */
        n = 0;
    }
    return n;
}

/* Everything before and besides the scheduler: handshake, and the receiver's acknowledgements. */
static int poll_plain(struct quic_agent *q, struct dgram *out, ns_t now)
{
    struct quic_conn *c = &q->conn;
    struct quic_conn_parts parts = {.packet = RECORD_NONE};
    ngtcp2_pkt_info *info = quic_conn_begin(c);
    struct quic_current *before;
    int64_t last;
    ngtcp2_ssize n;

    if (!c->conn || (c->server && now < quic_conn_ack_due(c) && !rtcp_waits(q))) {
        return 0;
    }
    before = quic_current_enter(&c->current, now);
    last = quic_internals_last_packet(c->conn);
    n = rtcp_waits(q) ? write_rtcp(q, out, now)
                      : ngtcp2_conn_write_pkt(c->conn, NULL, info, out->data,
                                              (size_t)q->cfg.udp_payload_bytes, (ngtcp2_tstamp)now);
    if (n > 0) {
        if (quic_internals_last_packet(c->conn) > last) {
            parts.packet = quic_internals_last_packet(c->conn);
        }
        quic_conn_sent(c, out, (size_t)n, &parts, now);
    } else if (n < 0) {
        quic_conn_library_error(c, (int)n, now);
    }
    quic_current_leave(before);
    return n > 0;
}

static int poll_op(struct agent *a, struct dgram *out, ns_t now)
{
    struct quic_agent *q = self(a);
    int rv;

    q->now = now;
    if (q->phase == PHASE_DONE) {
        return 0;
    }
    if (!q->conn.closing) {
        rv = q->mux_started ? quic_mux_poll(&q->mux, out, now) : poll_plain(q, out, now);
        if (rv < 0) {
            fail(q, rv);
            return rv;
        }
        if (rv > 0) {
            return rv;
        }
    }
    rv = quic_conn_poll_close(&q->conn, out, now);
    advance(q, now);
    return rv;
}

static ns_t deadline_op(const struct agent *a)
{
    const struct quic_agent *q = const_self(a);
    ns_t t;

    if (q->phase == PHASE_DONE) {
        return NS_NEVER;
    }
    t = quic_conn_deadline(&q->conn);
    if (!q->sender && !q->conn.closing && quic_conn_ack_due(&q->conn) > q->now) {
        t = quic_conn_ack_due(&q->conn); /* ngtcp2's own timer would be earlier */
    }
    t = ns_min(t, end_time(q));
    if (q->phase == PHASE_DRAIN) {
        t = ns_min(t, q->drain_until);
    }
    if (q->mux_started && !q->conn.closing) {
        t = ns_min(t, quic_mux_deadline(&q->mux, q->now));
    }
    if (!q->sender) {
        t = ns_min(t, quic_rx_deadline(&q->rx));
    }
    return t;
}

static int expire_op(struct agent *a, ns_t now)
{
    struct quic_agent *q = self(a);
    int rv = 0;

    q->now = now;
    if (q->phase == PHASE_DONE) {
        return 0;
    }
    quic_conn_expire(&q->conn, now);
    if (!q->sender) {
        quic_rx_expire(&q->rx, now);
    } else if (q->mux_started && !q->conn.closing && !q->conn.closed) {
        rv = quic_mux_expire(&q->mux, now);
        /* losses found by the timer */
        quic_mux_feedback(&q->mux, now);
    }
    if (rv) {
        fail(q, rv);
    }
    advance(q, now);
    return agent_result(q);
}

static void stop_op(struct agent *a, ns_t now)
{
    struct quic_agent *q = self(a);

    q->now = now;
    if (q->phase == PHASE_RUN) {
        note_unfinished(q, now);
    }
    begin_end(q, now);
    advance(q, now);
}

static bool done_op(const struct agent *a)
{
    return const_self(a)->phase == PHASE_DONE;
}

static const char *error_op(const struct agent *a)
{
    const struct quic_agent *q = const_self(a);

    return q->phase == PHASE_DONE && q->conn.failed ? q->conn.error : NULL;
}

static void put_ecn_counters(const struct quic_agent *q)
{
    const struct quic_conn *c = &q->conn;

    if (q->cfg.ecn == AGENT_ECN_OFF) {
        return;
    }
    record_put_counter(q->env.rec, "ecn-sent", c->ecn_sent);
    record_put_counter(q->env.rec, "ecn-received-not-ect", c->rx_ecn[AGENT_MEDIA_NOT_ECT]);
    record_put_counter(q->env.rec, "ecn-received-ect0", c->rx_ecn[AGENT_MEDIA_ECT0]);
    record_put_counter(q->env.rec, "ecn-received-ect1", c->rx_ecn[AGENT_MEDIA_ECT1]);
    record_put_counter(q->env.rec, "ecn-received-ce", c->rx_ecn[AGENT_MEDIA_CE]);
    record_put_counter(q->env.rec, "ecn-marks-reported", c->ack_ext.rx_ce);
    record_put_counter(q->env.rec, "ecn-failed", c->conn && quic_internals_ecn_failed(c->conn));
}

static void put_counters(const struct quic_agent *q)
{
    const struct quic_conn *c = &q->conn;

    record_put_counter(q->env.rec, "datagrams-sent", c->datagrams_out);
    record_put_counter(q->env.rec, "datagrams-received", c->datagrams_in);
    record_put_counter(q->env.rec, "datagrams-garbage", c->datagrams_garbage);
    record_put_counter(q->env.rec, "bytes-sent", c->bytes_out);
    record_put_counter(q->env.rec, "bytes-received", c->bytes_in);
    record_put_counter(q->env.rec, "acks-with-timestamps-sent", c->ack_ext.acks_extended);
    record_put_counter(q->env.rec, "acks-without-timestamps-sent", c->ack_ext.acks_plain);
    record_put_counter(q->env.rec, "timestamps-sent", c->ack_ext.timestamps_sent);
    record_put_counter(q->env.rec, "timestamps-received", c->ack_ext.timestamps_received);
    record_put_counter(q->env.rec, "timestamps-overflowed", c->ack_ext.log.overflowed);
    record_put_counter(q->env.rec, "timestamps-malformed", c->ack_ext.malformed);
    record_put_counter(q->env.rec, "timestamps-excessive", c->ack_ext.excessive);
    record_put_counter(q->env.rec, "bidirectional-streams", c->bidirectional_streams);
    put_ecn_counters(q);
    record_put_counter(q->env.rec, "unexpected-flows", q->unexpected_flows);
    record_put_counter(q->env.rec, "bad-parameters", c->bad_parameters);
    record_put_counter(q->env.rec, "tls-failures", c->tls_failures);
    record_put_counter(q->env.rec, "transport-violations", c->transport_violations);
    if (!q->sender) {
        quic_rx_counters(&q->rx);
    } else if (q->mux_started) {
        quic_mux_counters(&q->mux);
    }
}

static void free_op(struct agent *a)
{
    struct quic_agent *q = self(a);

    finish_media(q, q->now);
    put_counters(q);
    /* ngtcp2 may still close streams, whose owners must be there: the connection goes first */
    quic_conn_fini(&q->conn);
    if (q->sender) {
        quic_mux_fini(&q->mux);
    } else {
        quic_rx_fini(&q->rx);
    }
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

int quic_agent_new(struct agent **out, const struct agent_config *cfg, const struct agent_env *env,
                   ns_t now)
{
    struct quic_agent *q = calloc(1, sizeof *q);
    int rv;

    if (!q) {
        return ERR_NOMEM;
    }
    q->agent.ops = &ops;
    q->cfg = *cfg;
    q->env = *env;
    q->now = now;
    q->sender = cfg->role == AGENT_ROLE_SENDER;
    q->delivered = NS_NEVER;
    quic_conn_init(&q->conn, &q->cfg, &q->env, &events, q);
    rv = q->sender ? quic_mux_init(&q->mux, &q->cfg, &q->env, &q->conn)
                   : quic_rx_init(&q->rx, &q->conn);
    if (rv) {
        free(q);
        return rv;
    }
    rv = q->sender ? quic_conn_connect(&q->conn, now) : 0;
    if (rv) {
        quic_mux_fini(&q->mux);
        free(q);
        return rv;
    }
    *out = &q->agent;
    return 0;
}
