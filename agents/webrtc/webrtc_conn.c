/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/webrtc/webrtc_conn.h"

#include "agents/agent_media.h"
#include "agents/base/digest.h"
#include "agents/base/err.h"
#include "agents/base/rate.h"
#include "agents/webrtc/demux.h"
#include "agents/webrtc/stun.h"
#include "agents/webrtc/webrtc_conn_out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HANDSHAKE_TIMEOUT (30 * NS_PER_S)
#define SILENCE_TIMEOUT (30 * NS_PER_S) /* consent expires (RFC 7675 section 5.1) */
#define DTLS_HANDSHAKE 22               /* content type */
#define GOODBYE_COPIES 2
#define GOODBYE_INTERVAL_MAX (100 * NS_PER_MS)

/* ---- the layers' callbacks ---- */

static void dtls_send(void *ctx, const uint8_t *data, size_t len)
{
    struct webrtc_conn *c = ctx;

    webrtc_conn_push(c, data, len, c->user_bytes);
}

static void dtls_recv(void *ctx, const uint8_t *data, size_t len)
{
    struct webrtc_conn *c = ctx;

    if (c->closing) {
        return;
    }
    webrtc_conn_associate(c, c->current.now); /* the peer has begun it */
    if (c->sctp) {
        webrtc_sctp_recv(c->sctp, data, len, c->current.now);
    }
}

static void sctp_send(void *ctx, const uint8_t *data, size_t len, size_t user_bytes)
{
    struct webrtc_conn *c = ctx;

    c->user_bytes = user_bytes;
    if (webrtc_dtls_write(c->dtls, data, len) != 0 && !c->closing) {
        c->unsent++; /* lost, and sent again */
    }
    c->user_bytes = 0;
}

static void sctp_sent(void *ctx, const struct webrtc_sctp_sent *part)
{
    struct webrtc_conn *c = ctx;

    c->events->data_sent(c->ctx, part);
}

static void sctp_given_up(void *ctx, uint16_t stream, uint32_t context)
{
    struct webrtc_conn *c = ctx;

    c->events->given_up(c->ctx, stream, context);
}

static void sctp_message(void *ctx, uint16_t stream, uint32_t ppid, const uint8_t *data, size_t len)
{
    struct webrtc_conn *c = ctx;

    c->events->message(c->ctx, stream, ppid, data, len);
}

static void sctp_reset(void *ctx, uint16_t stream, bool incoming)
{
    struct webrtc_conn *c = ctx;

    c->events->reset(c->ctx, stream, incoming);
}

static enum webrtc_srtp_profile profile(const struct webrtc_conn *c)
{
    return c->cfg->webrtc_srtp == AGENT_SRTP_AES128_CM_SHA1_80 ? WEBRTC_SRTP_AES128_CM_SHA1_80
                                                               : WEBRTC_SRTP_AEAD_AES_128_GCM;
}

/* ---- making it ---- */

int webrtc_conn_init(struct webrtc_conn *c, const struct agent_config *cfg,
                     const struct agent_env *env, const struct webrtc_conn_events *events,
                     void *ctx, ns_t now)
{
    struct webrtc_dtls_config dc = {.server = cfg->role == AGENT_ROLE_RECEIVER,
                                    .datagram_bytes_max = (size_t)cfg->udp_payload_bytes,
                                    .send = dtls_send,
                                    .recv = dtls_recv,
                                    .keylog = env->keylog,
                                    .ctx = c,
                                    .keylog_ctx = env->ctx};
    char ufrag[ICE_UFRAG_MAX + 1], pwd[ICE_PWD_MAX + 1];
    struct tls_current *before;
    uint8_t random[32];
    int rv;

    memset(c, 0, sizeof *c);
    c->cfg = cfg;
    c->env = env;
    c->events = events;
    c->ctx = ctx;
    c->server = dc.server;
    c->local = cfg->local;
    c->remote = cfg->remote;
    c->current = (struct tls_current){
        .random = env->random, .random_ctx = env->ctx, .epoch_s = env->epoch_s};
    dc.profile = profile(c);
    env->random(env->ctx, random, sizeof random);
    ice_lite_credentials(random, ufrag, pwd);
    rv = ice_lite_init(&c->ice, ufrag, pwd, NULL);
    if (rv == 0) {
        rv = webrtc_srtp_prepare();
    }
    if (rv == 0) {
        before = tls_current_enter(&c->current, now);
        rv = webrtc_dtls_new(&c->dtls, &dc);
        tls_current_leave(before);
    }
    return rv;
}

void webrtc_conn_fini(struct webrtc_conn *c)
{
    struct tls_current *before = tls_current_enter(&c->current, c->current.now);

    webrtc_sctp_free(c->sctp, c->current.now);
    webrtc_srtp_free(c->srtp);
    webrtc_dtls_free(c->dtls);
    c->sctp = NULL;
    c->srtp = NULL;
    c->dtls = NULL;
    while (c->head) {
        struct webrtc_conn_datagram *d = c->head;
        c->head = d->next;
        free(d);
    }
    c->tail = NULL;
    tls_current_leave(before);
}

int webrtc_conn_agree(struct webrtc_conn *c, const struct webrtc_session *session)
{
    char ufrag[ICE_UFRAG_MAX + 1], pwd[ICE_PWD_MAX + 1];

    memcpy(ufrag, c->ice.ufrag, sizeof ufrag);
    memcpy(pwd, c->ice.pwd, sizeof pwd);
    if (ice_lite_init(&c->ice, ufrag, pwd, session->peer_ufrag)) {
        return ERR_CONFIG;
    }
    c->signalled = true;
    c->wait_until = NS_NEVER;
    c->server = session->dtls_server;
    webrtc_dtls_set_server(c->dtls, c->server);
    webrtc_dtls_any_profile(c->dtls);
    webrtc_dtls_expect(c->dtls, session->peer_fingerprint);
    return 0;
}

void webrtc_conn_start(struct webrtc_conn *c, ns_t now)
{
    struct tls_current *before;

    if (c->started || c->closing) {
        return;
    }
    if (c->signalled && c->wait_until == NS_NEVER) {
        c->wait_until = now + HANDSHAKE_TIMEOUT;
    }
    if (c->server || !c->remote.family || (c->signalled && !c->ice.selected)) {
        return;
    }
    c->started = true;
    c->started_at = c->last_heard = now;
    before = tls_current_enter(&c->current, now);
    webrtc_dtls_start(c->dtls, now);
    tls_current_leave(before);
}

void webrtc_conn_associate(struct webrtc_conn *c, ns_t now)
{
    struct webrtc_sctp_config sc = {
        .flavour = c->cfg->webrtc_sctp == AGENT_SCTP_PION ? WEBRTC_SCTP_PION : WEBRTC_SCTP_DCSCTP,
        .packet_bytes_max = (size_t)c->cfg->udp_payload_bytes - WEBRTC_DTLS_OVERHEAD_BYTES,
        .current = &c->current,
        .send = sctp_send,
        .sent = sctp_sent,
        .given_up = sctp_given_up,
        .message = sctp_message,
        .reset = sctp_reset,
        .ctx = c};
    int rv;

    if (c->sctp || c->closing) {
        return;
    }
    rv = webrtc_sctp_new(&c->sctp, &sc, now);
    if (rv == 0) {
        rv = webrtc_sctp_connect(c->sctp, now);
    }
    if (rv) {
        c->no_memory = rv == ERR_NOMEM;
        webrtc_conn_fail(c, "SCTP association cannot be begun", now);
    }
}

static void establish(struct webrtc_conn *c, ns_t now)
{
    uint8_t keys[WEBRTC_DTLS_KEYS_MAX];
    int rv = webrtc_dtls_keys(c->dtls, keys);

    if (rv > 0) {
        rv = webrtc_srtp_new(&c->srtp, webrtc_dtls_profile(c->dtls), keys, (size_t)rv, !c->server);
    }
    memset(keys, 0, sizeof keys);
    if (rv) {
        webrtc_conn_fail(c, "SRTP keys cannot be made", now);
        return;
    }
    record_put_named(c->env->rec, RECORD_EVENT, "handshake-complete", now, now - c->started_at);
    c->events->established(c->ctx);
}

/* The association may have ended by what came, or by time. The call goes on without it. */
static void check_association(struct webrtc_conn *c, ns_t now)
{
    if (!c->sctp || c->lost || c->closing || !webrtc_sctp_error(c->sctp)) {
        return;
    }
    c->lost = true;
    c->no_memory = webrtc_sctp_no_memory(c->sctp);
    if (webrtc_sctp_breach(c->sctp)) {
        webrtc_conn_fail(c, webrtc_sctp_error(c->sctp), now);
    } else {
        record_put_named(c->env->rec, RECORD_EVENT, "association-lost", now, 0);
    }
}

/* ---- datagrams in ---- */

/* Whether the datagram is of our peer. For a server that is the first who begins a handshake: the
 * address it was told may be that of a translator, or wrong in its port. */
static bool from_peer(struct webrtc_conn *c, const struct dgram *d)
{
    if (c->signalled) {
        if (!c->ice.selected && c->server && ice_lite_checked(&c->ice, &d->from)) {
            c->remote = d->from; /* for now: it may begin before it nominates */
            c->local = d->to;
        }
        return ice_lite_checked(&c->ice, &d->from);
    }
    if (c->server && !c->started && d->len > 0 && d->data[0] == DTLS_HANDSHAKE) {
        c->remote = d->from;
    }
    if (!addr_equal(&d->from, &c->remote)) {
        return false;
    }
    if (d->to.family) {
        c->local = d->to; /* what was configured may be a wildcard */
    }
    return true;
}

/* Connectivity checks may come from anywhere; the pair they nominate is the path, unless one was
 * configured. */
static void take_stun(struct webrtc_conn *c, const struct dgram *d, ns_t now)
{
    uint8_t answer[STUN_MESSAGE_BYTES_MAX];
    int n = ice_lite_recv(&c->ice, d->data, d->len, &d->from, answer, sizeof answer, now);

    if (n > 0) {
        webrtc_conn_push_to(c, &d->to, &d->from, answer, (size_t)n, 0);
    }
    if (c->ice.selected && (c->signalled || c->cfg->remote.family == 0) && !c->closing) {
        c->remote = c->ice.peer;
        c->local = d->to;
    }
    if (c->signalled && c->started && c->ice.last_check == now) {
        c->last_heard = now; /* it consents (RFC 7675), even if it has nothing else to say */
    }
}

static void take_dtls(struct webrtc_conn *c, const struct dgram *d, ns_t now)
{
    if (c->server && !c->started) {
        c->started = true;
        c->started_at = now;
    }
    webrtc_dtls_recv(c->dtls, d->data, d->len, now);
    if (webrtc_dtls_done(c->dtls) && !c->srtp && !c->failed) {
        establish(c, now);
    }
    if (webrtc_dtls_error(c->dtls)) {
        webrtc_conn_fail(c, webrtc_dtls_error(c->dtls), now);
    } else if (webrtc_dtls_closed(c->dtls) && !c->closing) {
        record_put_named(c->env->rec, RECORD_EVENT, "connection-closed", now, 0);
        c->closing = c->closed = true;
    }
}

static void take_srtp(struct webrtc_conn *c, const struct dgram *d, bool control)
{
    size_t len = d->len;
    int rv;

    if (!c->srtp || c->closing) {
        c->garbage++;
        return;
    }
    memcpy(c->packet, d->data, len);
    rv = control ? webrtc_srtp_unprotect_rtcp(c->srtp, c->packet, &len)
                 : webrtc_srtp_unprotect(c->srtp, c->packet, &len);
    if (rv) {
        *(rv == ERR_AGAIN ? &c->replayed : &c->forged) += 1;
        return;
    }
    c->last_heard = c->current.now;
    if (control) {
        c->events->rtcp(c->ctx, c->packet, len);
    } else {
        c->rx_bits = d->ecn & AGENT_MEDIA_CE;
        c->rx_ecn[c->rx_bits]++;
        c->events->rtp(c->ctx, c->packet, len, c->received, d->len + RATE_UDP_IP_OVERHEAD_BYTES,
                       d->arrival);
    }
}

static void dispatch(struct webrtc_conn *c, const struct dgram *d, ns_t now)
{
    enum demux_kind kind = demux_classify(d->data, d->len);

    if (kind == DEMUX_STUN) {
        take_stun(c, d, now);
        return;
    }
    if (!from_peer(c, d)) {
        c->garbage++;
        return;
    }
    switch (kind) {
    case DEMUX_DTLS:
        c->last_heard = now;
        take_dtls(c, d, now);
        return;
    case DEMUX_RTP: take_srtp(c, d, false); return;
    case DEMUX_RTCP: take_srtp(c, d, true); return;
    default: c->garbage++; return;
    }
}

void webrtc_conn_recv(struct webrtc_conn *c, const struct dgram *d, ns_t now)
{
    struct tls_current *before;

    if (c->closed || d->len > AGENT_DATAGRAM_MAX) {
        return;
    }
    record_put(c->env->rec, RECORD_PACKET_RECEIVED, d->arrival, c->received, (int64_t)d->len,
               (int64_t)digest64(d->data, d->len));
    c->bytes_in += d->len;
    before = tls_current_enter(&c->current, now);
    dispatch(c, d, now);
    tls_current_leave(before);
    check_association(c, now);
    c->received++;
}

/* ---- time ---- */

static ns_t timeout(const struct webrtc_conn *c)
{
    if (c->closing) {
        return NS_NEVER;
    }
    if (!c->started) {
        return c->signalled ? c->wait_until : NS_NEVER;
    }
    return c->srtp ? c->last_heard + SILENCE_TIMEOUT : c->started_at + HANDSHAKE_TIMEOUT;
}

ns_t webrtc_conn_deadline(const struct webrtc_conn *c)
{
    ns_t t = timeout(c);

    if (c->closed) {
        return NS_NEVER;
    }
    if (c->closing) {
        return c->goodbye_copies ? c->goodbye_next : NS_NEVER;
    }
    t = ns_min(t, webrtc_dtls_deadline(c->dtls));
    return c->sctp ? ns_min(t, webrtc_sctp_deadline(c->sctp)) : t;
}

static const char *silence(const struct webrtc_conn *c)
{
    if (c->srtp) {
        return "peer has fallen silent";
    }
    if (c->signalled && !c->ice.selected) {
        return "peer has not checked the path (ICE)";
    }
    return c->started ? "no answer to the handshake" : "peer has not begun the handshake";
}

void webrtc_conn_expire(struct webrtc_conn *c, ns_t now)
{
    struct tls_current *before;

    if (c->closing) {
        return;
    }
    before = tls_current_enter(&c->current, now);
    webrtc_dtls_expire(c->dtls, now);
    if (c->sctp) {
        webrtc_sctp_expire(c->sctp, now);
    }
    tls_current_leave(before);
    check_association(c, now);
    if (webrtc_dtls_error(c->dtls)) {
        webrtc_conn_fail(c, webrtc_dtls_error(c->dtls), now);
    } else if (now >= timeout(c)) {
        webrtc_conn_fail(c, silence(c), now);
    }
}

/* ---- the end ---- */

static void say_goodbye(struct webrtc_conn *c, ns_t now)
{
    struct tls_current *before = tls_current_enter(&c->current, now);

    c->closing = true;
    webrtc_dtls_close(c->dtls); /* which also ends the association: its abort is not sent */
    if (c->sctp) {
        webrtc_sctp_abort(c->sctp, now);
    }
    tls_current_leave(before);
}

void webrtc_conn_close(struct webrtc_conn *c, ns_t rtt, ns_t now)
{
    if (c->closing) {
        return;
    }
    record_put_named(c->env->rec, RECORD_EVENT, "connection-closed", now, 0);
    say_goodbye(c, now);
    if (c->srtp && c->tail) {
        memcpy(c->goodbye, c->tail->data, c->tail->len);
        c->goodbye_len = c->tail->len;
        c->goodbye_copies = GOODBYE_COPIES;
        c->goodbye_next = now + ns_clamp(rtt, WEBRTC_CONN_GOODBYE_INTERVAL, GOODBYE_INTERVAL_MAX);
    }
    webrtc_conn_settle(c);
}

void webrtc_conn_fail(struct webrtc_conn *c, const char *reason, ns_t now)
{
    if (c->failed || c->closing) {
        return;
    }
    c->failed = true;
    snprintf(c->error, sizeof c->error, "%s", reason);
    record_put_named(c->env->rec, RECORD_EVENT, "connection-closed", now, 1);
    say_goodbye(c, now);
    webrtc_conn_settle(c);
}

void webrtc_conn_counters(const struct webrtc_conn *c)
{
    struct webrtc_sctp_counters s = {0};

    if (c->sctp) {
        webrtc_sctp_counters(c->sctp, &s);
    }
    record_put_counter(c->env->rec, "datagrams-sent", (uint64_t)c->sent);
    record_put_counter(c->env->rec, "datagrams-received", (uint64_t)c->received);
    record_put_counter(c->env->rec, "datagrams-garbage", c->garbage);
    record_put_counter(c->env->rec, "datagrams-forged", c->forged);
    record_put_counter(c->env->rec, "datagrams-replayed", c->replayed);
    record_put_counter(c->env->rec, "bytes-sent", c->bytes_out);
    record_put_counter(c->env->rec, "bytes-received", c->bytes_in);
    if (c->cfg->ecn != AGENT_ECN_OFF) {
        record_put_counter(c->env->rec, "ecn-sent", c->ecn_sent);
        record_put_counter(c->env->rec, "ecn-received-not-ect", c->rx_ecn[AGENT_MEDIA_NOT_ECT]);
        record_put_counter(c->env->rec, "ecn-received-ect0", c->rx_ecn[AGENT_MEDIA_ECT0]);
        record_put_counter(c->env->rec, "ecn-received-ect1", c->rx_ecn[AGENT_MEDIA_ECT1]);
        record_put_counter(c->env->rec, "ecn-received-ce", c->rx_ecn[AGENT_MEDIA_CE]);
    }
    record_put_counter(c->env->rec, "sctp-packets-unsent", c->unsent);
    record_put_counter(c->env->rec, "stun-requests", c->ice.requests);
    record_put_counter(c->env->rec, "stun-refused", c->ice.refused);
    record_put_counter(c->env->rec, "dtls-records-discarded", webrtc_dtls_discarded(c->dtls));
    record_put_counter(c->env->rec, "certificates-refused", webrtc_dtls_refused(c->dtls));
    record_put_counter(c->env->rec, "sctp-packets-sent", s.packets_sent);
    record_put_counter(c->env->rec, "sctp-packets-received", s.packets_received);
    record_put_counter(c->env->rec, "sctp-chunks-sent", s.data_chunks);
    record_put_counter(c->env->rec, "sctp-chunks-repeated", s.data_chunks_repeated);
    record_put_counter(c->env->rec, "sctp-forward-tsns", s.forward_tsns);
}
