/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/quic/quic_conn.h"

#include "agents/agent_media.h"
#include "agents/base/digest.h"
#include "agents/base/err.h"
#include "agents/quic/quic_agent.h"
#include "agents/quic/quic_conn_callbacks.h"
#include "agents/quic/quic_path.h"
#include "agents/quic/roq.h"

#include <string.h>

/* Windows so large that they never limit: 8 MB are 640 ms at 100 Mbit/s. */
#define WINDOW_CONNECTION (8u << 20)
#define WINDOW_STREAM (1u << 20)
#define IDLE_TIMEOUT (30 * NS_PER_S)
#define KEEP_ALIVE (10 * NS_PER_S)
#define HANDSHAKE_TIMEOUT (30 * NS_PER_S)
/* An acknowledgement after so many packets or so long; at once when there is a gap (RFC 9000
 * section 13.2). Rate control by timestamps wants feedback every few tens of ms, not every other
 * packet. The delay promised to the peer has some room for a late timer. The prototype's peer keeps
 * the usual rule (section 13.2.2) and the promised delay. */
#define ACK_THRESHOLD 8
#define ACK_DELAY (20 * NS_PER_MS)
#define ACK_THRESHOLD_USUAL 2
#define MAX_ACK_DELAY (25 * NS_PER_MS)

static ngtcp2_conn *get_conn(ngtcp2_crypto_conn_ref *ref)
{
    return ((struct quic_conn *)ref->user_data)->conn;
}

/* ---- hooks: from the current connection's to the owner's ---- */

static void sent_hook(void *ctx, int64_t packet, size_t bytes)
{
    struct quic_conn *c = ctx;

    (void)packet;
    c->sent_eliciting = true;
    c->sent_bytes = bytes;
}

static void acked_hook(void *ctx, int64_t packet)
{
    struct quic_conn *c = ctx;

    c->events->acked(c->ctx, packet);
}

static void lost_hook(void *ctx, int64_t packet)
{
    struct quic_conn *c = ctx;

    c->events->lost(c->ctx, packet);
}

static void rtt_hook(void *ctx)
{
    struct quic_conn *c = ctx;

    c->events->rtt(c->ctx);
}

static void timestamp_hook(void *ctx, int64_t packet, int64_t time_us)
{
    struct quic_conn *c = ctx;

    c->events->timestamp(c->ctx, packet, time_us);
}

static void packet_hook(void *ctx, int64_t packet)
{
    struct quic_conn *c = ctx;

    c->rx_packet = packet;
    c->rx_gap |= packet != c->rx_expected;
    if (packet >= c->rx_expected) {
        c->rx_expected = packet + 1;
    }
    if (c->rx_unacked++ == 0) {
        c->rx_first = c->current.now;
    }
}

/* ---- making it ---- */

bool quic_conn_is_windowed(const struct agent_config *cfg)
{
    return cfg->preset == AGENT_PRESET_RENO || cfg->preset == AGENT_PRESET_CUBIC ||
           cfg->preset == AGENT_PRESET_BBR;
}

static unsigned ack_threshold(const struct quic_conn *c)
{
    bool usual = c->cfg->preset == AGENT_PRESET_PROTOTYPE || !c->ack_ext.local.offered;

    return usual ? ACK_THRESHOLD_USUAL : ACK_THRESHOLD;
}

static ngtcp2_cc_algo cc_algo(const struct agent_config *cfg)
{
    switch (cfg->preset) {
    case AGENT_PRESET_RENO: return NGTCP2_CC_ALGO_RENO;
    case AGENT_PRESET_BBR: return NGTCP2_CC_ALGO_BBR;
    default: return NGTCP2_CC_ALGO_CUBIC; /* also what ours takes the place of */
    }
}

void quic_conn_init(struct quic_conn *c, const struct agent_config *cfg,
                    const struct agent_env *env, const struct quic_conn_events *events, void *ctx)
{
    bool timestamps = cfg->timestamps_per_ack > 0 && !quic_conn_is_windowed(cfg);
    struct receive_ts_params ts = {.offered = timestamps,
                                   .max_per_ack = (uint64_t)cfg->timestamps_per_ack,
                                   .exponent = (uint64_t)cfg->timestamp_exponent};

    memset(c, 0, sizeof *c);
    c->cfg = cfg;
    c->env = env;
    c->events = events;
    c->ctx = ctx;
    c->server = cfg->role == AGENT_ROLE_RECEIVER;
    c->alpn = QUIC_AGENT_ALPN;
    c->cid_tag = -1;
    c->local = cfg->local;
    c->remote = cfg->remote;
    c->ref = (ngtcp2_crypto_conn_ref){.get_conn = get_conn, .user_data = c};
    quic_ack_ext_init(&c->ack_ext, &ts);
    c->ack_ext.l4s = cfg->ecn == AGENT_ECN_L4S;
    c->ack_ext.ctx = c;
    c->ack_ext.on_timestamp = timestamp_hook;
    c->ack_ext.on_packet = packet_hook;
    c->hooks = (struct quic_hooks){
        .ctx = c, .sent = sent_hook, .acked = acked_hook, .lost = lost_hook, .rtt = rtt_hook};
    c->current = (struct quic_current){.random = env->random,
                                       .random_ctx = env->ctx,
                                       .epoch_s = env->epoch_s,
                                       .ack_ext = &c->ack_ext,
                                       .hooks = &c->hooks};
    ngtcp2_ccerr_default(&c->close_error);
}

/* Frees the connection, not the object. */
static void drop(struct quic_conn *c)
{
    ngtcp2_conn_del(c->conn);
    c->conn = NULL;
    quic_tls_free(c->tls);
    c->tls = NULL;
}

void quic_conn_fini(struct quic_conn *c)
{
    struct quic_current *before = quic_current_enter(&c->current, c->current.now);

    drop(c);
    quic_current_leave(before);
}

static void fill_settings(struct quic_conn *c, ngtcp2_settings *s, ngtcp2_transport_params *p,
                          ns_t now)
{
    ngtcp2_settings_default(s);
    s->initial_ts = (ngtcp2_tstamp)now;
    s->rand_ctx.native_handle = c;
    s->qlog_write = c->env->qlog ? quic_conn_callbacks_qlog : NULL;
    s->max_tx_udp_payload_size = (size_t)c->cfg->udp_payload_bytes;
    s->no_tx_udp_payload_size_shaping = 1;
    s->no_pmtud = 1;
    s->handshake_timeout = HANDSHAKE_TIMEOUT;
    s->ack_thresh = ack_threshold(c);
    s->cc_algo = cc_algo(c->cfg);

    ngtcp2_transport_params_default(p);
    p->initial_max_data = WINDOW_CONNECTION;
    p->initial_max_stream_data_uni = WINDOW_STREAM;
    p->initial_max_streams_uni = QUIC_CONN_STREAMS_MAX;
    /* enough to see a peer break the rule, and to tell it so in RoQ's words */
    p->initial_max_streams_bidi = c->bidi_streams ? c->bidi_streams : 1;
    p->initial_max_stream_data_bidi_remote = 1024;
    p->initial_max_stream_data_bidi_local = c->bidi_streams ? WINDOW_STREAM : 0;
    p->max_idle_timeout = IDLE_TIMEOUT;
    p->max_ack_delay = MAX_ACK_DELAY;
    p->max_datagram_frame_size = AGENT_DATAGRAM_MAX;
    p->active_connection_id_limit = 2;
    p->disable_active_migration = 1;
}

static int make_tls(struct quic_conn *c)
{
    struct quic_tls_config cfg = {.server = c->server,
                                  .alpn = c->alpn,
                                  .conn_ref = &c->ref,
                                  .keylog = c->env->keylog,
                                  .keylog_ctx = c->env->ctx,
                                  .peer_fingerprint = c->peer_fingerprint};
    int rv = quic_tls_new(&c->tls, &cfg);

    if (rv == 0) {
        ngtcp2_conn_set_tls_native_handle(c->conn, quic_tls_handle(c->tls));
        if (quic_conn_is_windowed(c->cfg)) {
            quic_internals_observe(c->conn, &c->hooks);
            if (c->mend_bbr && c->cfg->preset == AGENT_PRESET_BBR) {
                quic_internals_mend_bbr(c->conn, &c->hooks);
            }
        } else {
            quic_internals_take_over(c->conn);
        }
    }
    return rv;
}

static void random_cid(struct quic_conn *c, ngtcp2_cid *cid)
{
    uint8_t data[QUIC_CONN_CID_BYTES];

    c->env->random(c->env->ctx, data, sizeof data);
    ngtcp2_cid_init(cid, data, sizeof data);
}

static int make_client(struct quic_conn *c, ns_t now)
{
    ngtcp2_settings settings;
    ngtcp2_transport_params params;
    ngtcp2_cid dcid, scid;
    int rv;

    fill_settings(c, &settings, &params, now);
    random_cid(c, &dcid);
    random_cid(c, &scid);
    quic_conn_callbacks_tag(c, &scid);
    rv = ngtcp2_conn_client_new(&c->conn, &dcid, &scid, &c->path, NGTCP2_PROTO_VER_V1,
                                &quic_conn_callbacks, &settings, &params, NULL, c);
    if (rv) {
        c->conn = NULL; /* it points to what is freed already */
        return ERR_NOMEM;
    }
    rv = make_tls(c);
    if (rv == 0) {
        /* a run may be silent for longer than the idle timeout before its first flow starts */
        ngtcp2_conn_set_keep_alive_timeout(c->conn, KEEP_ALIVE);
    }
    return rv;
}

int quic_conn_connect(struct quic_conn *c, ns_t now)
{
    struct quic_current *before;
    int rv;

    if (quic_path_set(&c->path, &c->local_sa, &c->local, &c->remote_sa, &c->remote) != 0) {
        return ERR_CONFIG;
    }
    before = quic_current_enter(&c->current, now);
    c->started = now;
    rv = make_client(c, now);
    if (rv) {
        drop(c);
    }
    quic_current_leave(before);
    return rv;
}

static int make_server(struct quic_conn *c, const ngtcp2_pkt_hd *hd, ns_t now)
{
    ngtcp2_settings settings;
    ngtcp2_transport_params params;
    ngtcp2_cid scid;

    fill_settings(c, &settings, &params, now);
    params.original_dcid = hd->dcid;
    params.original_dcid_present = 1;
    random_cid(c, &scid);
    quic_conn_callbacks_tag(c, &scid);
    if (ngtcp2_conn_server_new(&c->conn, &hd->scid, &scid, &c->path, hd->version,
                               &quic_conn_callbacks, &settings, &params, NULL, c) != 0) {
        c->conn = NULL; /* it points to what is freed already */
        return ERR_NOMEM;
    }
    return make_tls(c);
}

/* A datagram for a server without a connection. Returns 1 when it opens one, 0 when it is not the
 * beginning of anything, or a fatal error. */
static int accept_client(struct quic_conn *c, const struct dgram *d, ns_t now)
{
    ngtcp2_pkt_hd hd;
    int rv;

    if (ngtcp2_accept(&hd, d->data, d->len) != 0 || hd.version != NGTCP2_PROTO_VER_V1) {
        c->datagrams_garbage++;
        return 0;
    }
    if (d->to.family) {
        c->local = d->to;
    }
    c->remote = d->from;
    if (quic_path_set(&c->path, &c->local_sa, &c->local, &c->remote_sa, &c->remote) != 0) {
        c->datagrams_garbage++;
        return 0;
    }
    c->started = now;
    rv = make_server(c, &hd, now);
    if (rv) {
        drop(c);
        return rv;
    }
    return 1;
}

/* ---- reading ---- */

static void read_datagram(struct quic_conn *c, const struct dgram *d, ns_t now)
{
    ngtcp2_pkt_info info = {.ecn = d->ecn};
    int rv;

    c->rx_packet = -1;
    c->ack_ext.rx_arrival = d->arrival;
    c->rx_ecn[d->ecn & NGTCP2_ECN_MASK]++;
    rv = ngtcp2_conn_read_pkt(c->conn, &c->path, &info, d->data, d->len, (ngtcp2_tstamp)now);
    /* the first mark is told of at once (RFC 9000 section 13.2.1) */
    c->rx_gap |= info.ecn == NGTCP2_ECN_CE && !c->rx_marked && c->rx_packet >= 0;
    c->rx_marked = info.ecn == NGTCP2_ECN_CE;
    record_put(c->env->rec, RECORD_PACKET_RECEIVED, now,
               c->rx_packet < 0 ? RECORD_NONE : c->rx_packet, (int64_t)d->len,
               (int64_t)digest64(d->data, d->len));
    if (rv == NGTCP2_ERR_DROP_CONN && c->server && !c->handshake_done) {
        /* it only looked like a client */
        c->datagrams_garbage++;
        drop(c);
        return;
    }
    if (rv) {
        quic_conn_library_error(c, rv, now);
    }
}

int quic_conn_recv(struct quic_conn *c, const struct dgram *d, ns_t now)
{
    struct quic_current *before = quic_current_enter(&c->current, now);
    int rv = 1;

    c->datagrams_in++;
    c->bytes_in += d->len;
    if (!c->conn) {
        rv = c->server && !c->closed ? accept_client(c, d, now) : 0;
    }
    if (rv > 0 && !addr_equal(&d->from, &c->remote)) {
        c->datagrams_garbage++;
        rv = 0;
    }
    if (rv > 0 && !c->closing && !c->closed) {
        read_datagram(c, d, now);
    }
    quic_current_leave(before);
    return rv < 0 ? rv : 0;
}

/* ---- time ---- */

ns_t quic_conn_deadline(const struct quic_conn *c)
{
    ngtcp2_tstamp t;

    if (!c->conn || c->closed) {
        return NS_NEVER;
    }
    if (c->closing) {
        return c->close_next;
    }
    t = ngtcp2_conn_get_expiry(c->conn);
    return t >= (ngtcp2_tstamp)NS_NEVER ? NS_NEVER : (ns_t)t;
}

void quic_conn_expire(struct quic_conn *c, ns_t now)
{
    struct quic_current *before;
    int rv;

    if (!c->conn || c->closing || c->closed || quic_conn_deadline(c) > now) {
        return;
    }
    before = quic_current_enter(&c->current, now);
    rv = ngtcp2_conn_handle_expiry(c->conn, (ngtcp2_tstamp)now);
    if (rv) {
        quic_conn_library_error(c, rv, now);
    }
    quic_current_leave(before);
}

ns_t quic_conn_ack_due(const struct quic_conn *c)
{
    unsigned threshold = ack_threshold(c);
    /* the first packets belong to the handshake, whose end should be confirmed soon */
    bool now = !c->ack_ext.local.offered || !c->ack_ext.peer.offered || !c->rx_unacked ||
               c->rx_expected <= ACK_THRESHOLD || c->rx_gap || c->rx_unacked >= threshold;

    return now ? 0 : c->rx_first + (threshold == ACK_THRESHOLD ? ACK_DELAY : MAX_ACK_DELAY);
}

ns_t quic_conn_smoothed_rtt(const struct quic_conn *c)
{
    ngtcp2_conn_info info;

    ngtcp2_conn_get_conn_info(c->conn, &info);
    return (ns_t)info.smoothed_rtt;
}

ns_t quic_conn_latest_rtt(const struct quic_conn *c)
{
    ngtcp2_conn_info info;

    ngtcp2_conn_get_conn_info(c->conn, &info);
    return (ns_t)info.latest_rtt;
}

ns_t quic_conn_ack_delay(const struct quic_conn *c)
{
    const ngtcp2_transport_params *p = ngtcp2_conn_get_remote_transport_params(c->conn);
    uint64_t exponent = p ? p->ack_delay_exponent : NGTCP2_DEFAULT_ACK_DELAY_EXPONENT;
    uint64_t raw = c->ack_ext.rx_ack_delay;

    /* RFC 9000 section 18.2: no peer may wait longer than 2^14 ms */
    return raw > (UINT64_C(1) << 24) >> exponent ? NS_PER_MS << 14
                                                 : (ns_t)(raw << exponent) * NS_PER_US;
}

/* ---- writing ---- */

ngtcp2_pkt_info *quic_conn_begin(struct quic_conn *c)
{
    c->tx_info.ecn = NGTCP2_ECN_NOT_ECT;
    return c->cfg->ecn == AGENT_ECN_OFF ? NULL : &c->tx_info;
}

/* What ngtcp2 sends with ECT(0) leaves with what is configured. */
static uint8_t ecn_bits(struct quic_conn *c)
{
    if (c->tx_info.ecn == NGTCP2_ECN_NOT_ECT) {
        return NGTCP2_ECN_NOT_ECT;
    }
    c->ecn_sent++;
    return agent_media_ect(c->cfg);
}

void quic_conn_sent(struct quic_conn *c, struct dgram *out, size_t len,
                    const struct quic_conn_parts *parts, ns_t now)
{
    out->from = c->local;
    out->to = c->remote;
    out->ecn = ecn_bits(c);
    out->arrival = now;
    out->len = len;
    c->rx_unacked = 0;
    c->rx_gap = false;
    c->datagrams_out++;
    c->bytes_out += len;
    record_put(c->env->rec, RECORD_PACKET_SENT, now, parts->packet, (int64_t)len, parts->rtp_bytes,
               parts->data_bytes, parts->padding_bytes, (int64_t)digest64(out->data, len));
}
