/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/webrtc/webrtc_agent_private.h"

#include "agents/base/err.h"

#include <stdlib.h>
#include <string.h>

/* How long the sender waits for its last data to be acknowledged before it closes. */
#define DRAIN_RTTS 6
#define DRAIN_MIN (500 * NS_PER_MS)
/* BYE is followed by the connection's end; should that get lost, nothing more will come. */
#define BYE_PATIENCE NS_PER_S

static void fail(struct webrtc_agent *w, int code)
{
    if (w->fatal == 0 && code) {
        w->fatal = code;
        webrtc_conn_fail(&w->conn, err_text(code), w->now);
    }
}

/* ---- what the connection reports ---- */

static int start_flows(struct webrtc_agent *w)
{
    size_t tag = webrtc_srtp_tag_bytes(webrtc_dtls_profile(w->conn.dtls));
    int rv = 0;

    if (w->has_media) {
        rv = webrtc_media_tx_init(&w->media_tx, &w->cfg, &w->env, tag, w->now);
    }
    if (rv == 0 && w->has_media && w->signalled) {
        webrtc_media_tx_numbers(&w->media_tx, w->session.payload_type, w->session.rtx_payload_type,
                                w->session.twcc_id);
    }
    if (rv == 0 && w->has_data) {
        rv = webrtc_channels_init(&w->channels, &w->cfg, w->conn.server, w->env.seed, w->env.rec);
    }
    w->running = rv == 0;
    return rv;
}

static void on_established(void *ctx)
{
    struct webrtc_agent *w = ctx;

    if (!w->sender) {
        return;
    }
    fail(w, start_flows(w));
    if (w->running && w->has_data) {
        webrtc_conn_associate(&w->conn, w->now);
    }
}

static void on_rtp(void *ctx, const uint8_t *data, size_t len, int64_t datagram, size_t ip_bytes,
                   ns_t arrival)
{
    struct webrtc_agent *w = ctx;

    if (!w->sender) {
        w->media_rx.ecn_bits = w->conn.rx_bits;
        fail(w, webrtc_media_rx_rtp(&w->media_rx, data, len, datagram, ip_bytes, arrival, w->now));
    }
}

static void on_rtcp(void *ctx, const uint8_t *data, size_t len)
{
    struct webrtc_agent *w = ctx;

    if (!w->sender) {
        if (webrtc_media_rx_rtcp(&w->media_rx, data, len, w->now)) {
            w->bye_until = ns_min(w->bye_until, w->now + BYE_PATIENCE);
        }
    } else if (w->running && w->has_media) {
        webrtc_media_tx_rtcp(&w->media_tx, data, len, w->now);
    }
}

static void on_data_sent(void *ctx, const struct webrtc_sctp_sent *part)
{
    struct webrtc_agent *w = ctx;

    if (w->sender && w->running && w->has_data) {
        webrtc_channels_sent(&w->channels, part, w->now);
    }
}

static void on_given_up(void *ctx, uint16_t stream, uint32_t context)
{
    struct webrtc_agent *w = ctx;

    if (w->sender && w->running && w->has_data) {
        webrtc_channels_given_up(&w->channels, stream, context, w->now);
    }
}

static void on_message(void *ctx, uint16_t stream, uint32_t ppid, const uint8_t *data, size_t len)
{
    struct webrtc_agent *w = ctx;
    int rv;

    if (w->sender) {
        webrtc_channels_message(&w->channels, stream, ppid, data, len);
        return;
    }
    rv = webrtc_data_rx_message(&w->data_rx, stream, ppid, data, len, w->now);
    /* the association cannot be ended from within: after_event does */
    w->breach |= rv == ERR_PROTOCOL;
    w->no_memory |= rv == ERR_NOMEM;
}

static void on_reset(void *ctx, uint16_t stream, bool incoming)
{
    struct webrtc_agent *w = ctx;

    if (w->sender && incoming) {
        webrtc_channels_reset(&w->channels, stream);
    } else if (!w->sender && incoming) {
        webrtc_data_rx_reset(&w->data_rx, stream);
    }
}

static const struct webrtc_conn_events events = {
    .established = on_established,
    .rtp = on_rtp,
    .rtcp = on_rtcp,
    .data_sent = on_data_sent,
    .given_up = on_given_up,
    .message = on_message,
    .reset = on_reset,
};

/* ---- work that follows from any event ---- */

static void send_reports(struct webrtc_agent *w)
{
    uint8_t packet[AGENT_DATAGRAM_MAX] __attribute__((aligned(4)));
    size_t cap = (size_t)w->cfg.udp_payload_bytes - WEBRTC_SRTP_TRAILER_MAX;
    size_t n;

    if (!w->conn.srtp || w->conn.closing) {
        return;
    }
    if (!w->sender) {
        while ((n = webrtc_media_rx_report(&w->media_rx, packet, cap, w->now)) > 0) {
            webrtc_conn_send_rtcp(&w->conn, packet, n, w->now);
        }
    } else if (w->running && w->has_media &&
               (n = webrtc_media_tx_report(&w->media_tx, packet, cap, w->now)) > 0) {
        webrtc_conn_send_rtcp(&w->conn, packet, n, w->now);
    }
}

static void pump(struct webrtc_agent *w)
{
    struct webrtc_sctp *sctp = w->conn.sctp;

    if (!sctp || w->conn.closing) {
        return;
    }
    if (!w->sender) {
        webrtc_data_rx_pump(&w->data_rx, sctp, w->now);
    } else if (w->running && w->has_data) {
        fail(w, webrtc_channels_pump(&w->channels, sctp, w->now));
    }
}

/* ---- the end ---- */

static ns_t round_trip(const struct webrtc_agent *w)
{
    return w->running && w->has_media ? w->media_tx.smoothed_rtt : 0;
}

static void begin_close(struct webrtc_agent *w)
{
    uint8_t packet[AGENT_DATAGRAM_MAX] __attribute__((aligned(4)));
    size_t n;

    w->phase = WEBRTC_PHASE_CLOSE;
    if (w->running && w->has_media) {
        n = webrtc_media_tx_bye(&w->media_tx, packet,
                                (size_t)w->cfg.udp_payload_bytes - WEBRTC_SRTP_TRAILER_MAX, w->now);
        webrtc_conn_send_rtcp(&w->conn, packet, n, w->now);
    }
    webrtc_conn_close(&w->conn, round_trip(w), w->now);
}

/* The sender's flows end and the stream's reset goes out; the receiver has nothing to say. */
static void begin_end(struct webrtc_agent *w)
{
    if (w->phase != WEBRTC_PHASE_RUN) {
        return;
    }
    if (!w->running) {
        begin_close(w);
        return;
    }
    w->phase = WEBRTC_PHASE_DRAIN;
    w->drain_until = w->now + ns_max(DRAIN_RTTS * round_trip(w), DRAIN_MIN);
    if (w->has_media) {
        webrtc_media_tx_stop(&w->media_tx);
    }
    if (w->has_data) {
        webrtc_channels_stop(&w->channels);
        pump(w);
    }
}

static bool drained(const struct webrtc_agent *w)
{
    return (!w->has_media || webrtc_media_tx_drained(&w->media_tx)) &&
           (!w->has_data || w->conn.lost || webrtc_channels_closed(&w->channels));
}

static void finish_media(struct webrtc_agent *w)
{
    if (!w->sender && !w->ended) {
        w->ended = true;
        playout_finish(w->media_rx.playout, w->now);
    }
}

/* The end has come: was there a file that has not arrived? Said once. */
static void note_unfinished(struct webrtc_agent *w)
{
    if (w->sender && !w->unfinished && agent_config_wants_file(&w->cfg) &&
        w->delivered == NS_NEVER) {
        w->unfinished = true;
        record_put_named(w->env.rec, RECORD_EVENT, "file-unfinished", w->now, 1);
    }
}

/* When the sender's configuration ends the run, or the peer's BYE does. */
static ns_t end_time(const struct webrtc_agent *w)
{
    if (w->phase != WEBRTC_PHASE_RUN) {
        return NS_NEVER;
    }
    if (!w->sender) {
        return w->bye_until;
    }
    return agent_config_end(&w->cfg, w->delivered);
}

/* Looks at what has changed and moves through the phases. */
static void advance(struct webrtc_agent *w)
{
    if (w->phase == WEBRTC_PHASE_DONE) {
        return;
    }
    if (w->sender && w->running && w->has_data && w->delivered == NS_NEVER && w->conn.sctp &&
        webrtc_channels_delivered(&w->channels, w->conn.sctp)) {
        w->delivered = w->now;
    }
    if (end_time(w) <= w->now) {
        if (w->sender && !w->running) {
            webrtc_conn_fail(&w->conn, "no answer before the end of the run", w->now);
        }
        note_unfinished(w);
        begin_end(w);
    }
    if (w->phase == WEBRTC_PHASE_DRAIN && (drained(w) || w->now >= w->drain_until)) {
        begin_close(w);
    }
    if (w->conn.closed) {
        w->phase = WEBRTC_PHASE_DONE;
        note_unfinished(w); /* the peer may have ended it */
        finish_media(w);
    }
}

static int after_event(struct webrtc_agent *w)
{
    if (w->breach) {
        webrtc_conn_fail(&w->conn, "peer's data-channel messages are no transfer", w->now);
    }
    if (w->no_memory || w->conn.no_memory) {
        fail(w, ERR_NOMEM);
    }
    pump(w);
    send_reports(w);
    advance(w);
    return w->fatal;
}

/* ---- the contract ---- */

static int recv_op(struct agent *a, const struct dgram *d, ns_t now)
{
    struct webrtc_agent *w = webrtc_agent_self(a);

    w->now = now;
    if (w->phase == WEBRTC_PHASE_DONE) {
        return 0;
    }
    webrtc_conn_recv(&w->conn, d, now);
    return after_event(w);
}

static int poll_media(struct webrtc_agent *w, struct dgram *out)
{
    struct webrtc_media_out info;
    size_t len;
    int rv;

    if (!w->sender || !w->running || !w->has_media || w->conn.closing) {
        return 0;
    }
    rv =
        webrtc_media_tx_poll(&w->media_tx, w->conn.packet, AGENT_DATAGRAM_MAX, &len, &info, w->now);
    if (rv <= 0) {
        return rv;
    }
    rv = webrtc_conn_send_rtp(&w->conn, w->conn.packet, len, info.rtp_bytes, info.padding_bytes,
                              out, w->now);
    if (rv) {
        return rv;
    }
    webrtc_media_tx_sent(&w->media_tx, &info, w->conn.sent - 1,
                         out->len + RATE_UDP_IP_OVERHEAD_BYTES, w->now);
    return 1;
}

static int poll_op(struct agent *a, struct dgram *out, ns_t now)
{
    struct webrtc_agent *w = webrtc_agent_self(a);
    int rv;

    w->now = now;
    if (w->phase == WEBRTC_PHASE_DONE) {
        return 0;
    }
    if (w->sender || w->signalled) {
        webrtc_conn_start(&w->conn, now);
    }
    rv = webrtc_conn_poll(&w->conn, out, now);
    if (rv == 0) {
        rv = poll_media(w, out);
    }
    if (rv < 0) {
        fail(w, rv);
    }
    advance(w);
    return rv;
}

static ns_t future(ns_t t, ns_t now)
{
    return t > now ? t : NS_NEVER; /* what is due already waits for an event, not for time */
}

static ns_t deadline_op(const struct agent *a)
{
    const struct webrtc_agent *w = webrtc_agent_const_self(a);
    ns_t t;

    if (w->phase == WEBRTC_PHASE_DONE) {
        return NS_NEVER;
    }
    if (w->conn.head) {
        return w->now;
    }
    t = ns_min(webrtc_conn_deadline(&w->conn), end_time(w));
    if (w->phase == WEBRTC_PHASE_DRAIN) {
        t = ns_min(t, w->drain_until);
    }
    if (w->conn.closing) {
        return t;
    }
    if (w->running && w->has_media) {
        t = ns_min(t, webrtc_media_tx_deadline(&w->media_tx, w->now));
    }
    if (w->running && w->has_data) {
        t = ns_min(t, future(webrtc_channels_deadline(&w->channels), w->now));
    }
    if (!w->sender && w->conn.srtp) {
        t = ns_min(t, webrtc_media_rx_deadline(&w->media_rx));
    }
    return t;
}

static int expire_op(struct agent *a, ns_t now)
{
    struct webrtc_agent *w = webrtc_agent_self(a);

    w->now = now;
    if (w->phase == WEBRTC_PHASE_DONE) {
        return 0;
    }
    webrtc_conn_expire(&w->conn, now);
    if (!w->sender) {
        webrtc_media_rx_expire(&w->media_rx, now);
    } else if (w->running && w->has_media && !w->conn.closing) {
        fail(w, webrtc_media_tx_expire(&w->media_tx, now));
    }
    return after_event(w);
}

static void stop_op(struct agent *a, ns_t now)
{
    struct webrtc_agent *w = webrtc_agent_self(a);

    w->now = now;
    if (w->phase == WEBRTC_PHASE_RUN) {
        note_unfinished(w);
    }
    begin_end(w);
    advance(w);
}

static bool done_op(const struct agent *a)
{
    return webrtc_agent_const_self(a)->phase == WEBRTC_PHASE_DONE;
}

static const char *error_op(const struct agent *a)
{
    const struct webrtc_agent *w = webrtc_agent_const_self(a);

    return w->phase == WEBRTC_PHASE_DONE && w->conn.failed ? w->conn.error : NULL;
}

static void put_counters(const struct webrtc_agent *w)
{
    webrtc_conn_counters(&w->conn);
    if (w->sender && w->running && w->has_media) {
        webrtc_media_tx_counters(&w->media_tx);
    }
    if (w->sender && w->running && w->has_data) {
        webrtc_channels_counters(&w->channels);
    }
    if (!w->sender) {
        webrtc_media_rx_counters(&w->media_rx);
        record_put_counter(w->env.rec, "data-messages", w->data_rx.messages);
        record_put_counter(w->env.rec, "data-bytes", (uint64_t)webrtc_data_rx_bytes(&w->data_rx));
        record_put_counter(w->env.rec, "unknown-streams", w->data_rx.unknown_streams);
        record_put_counter(w->env.rec, "bad-transfer", w->data_rx.malformed);
    }
}

static void free_op(struct agent *a)
{
    struct webrtc_agent *w = webrtc_agent_self(a);

    finish_media(w);
    put_counters(w);
    webrtc_conn_fini(&w->conn);
    webrtc_media_tx_fini(&w->media_tx);
    webrtc_channels_fini(&w->channels);
    webrtc_media_rx_fini(&w->media_rx);
    webrtc_data_rx_fini(&w->data_rx);
    free(w);
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

static int init_receiver(struct webrtc_agent *w, ns_t now)
{
    uint32_t ssrc;
    int rv;

    w->env.random(w->env.ctx, &ssrc, sizeof ssrc);
    rv = webrtc_media_rx_init(&w->media_rx, &w->cfg, w->env.rec, ssrc, now);
    if (rv == 0) {
        webrtc_data_rx_init(&w->data_rx, w->env.rec);
    }
    return rv;
}

int webrtc_agent_new(struct agent **out, const struct agent_config *cfg,
                     const struct agent_env *env, ns_t now)
{
    struct webrtc_agent *w = calloc(1, sizeof *w);
    int rv;

    if (!w) {
        return ERR_NOMEM;
    }
    w->agent.ops = &ops;
    w->cfg = *cfg;
    w->env = *env;
    w->now = now;
    w->sender = cfg->role == AGENT_ROLE_SENDER;
    w->has_media = w->sender && cfg->media;
    w->has_data = w->sender && webrtc_channels_wanted(cfg);
    w->delivered = w->bye_until = NS_NEVER;
    rv = webrtc_conn_init(&w->conn, &w->cfg, &w->env, &events, w, now);
    if (rv == 0 && !w->sender) {
        rv = init_receiver(w, now);
    }
    if (rv) {
        webrtc_media_rx_fini(&w->media_rx);
        webrtc_conn_fini(&w->conn);
        free(w);
        return rv;
    }
    *out = &w->agent;
    return 0;
}
