/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a connection ends (the rest of quic_conn.h). */
#include "agents/quic/quic_conn.h"

#include "agents/quic/roq.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CLOSE_COPIES 3
#define CLOSE_INTERVAL_MIN (20 * NS_PER_MS)
#define CLOSE_INTERVAL_MAX (100 * NS_PER_MS)

static void start_closing(struct quic_conn *c, ns_t now)
{
    if (c->closing || c->closed) {
        return;
    }
    if (!c->conn) {
        c->closed = true;
        return;
    }
    record_put_named(c->env->rec, RECORD_EVENT, "connection-closed", now,
                     (int64_t)c->close_error.error_code);
    c->closing = true;
    c->close_copies = CLOSE_COPIES;
    c->close_next = now;
    c->close_interval = ns_clamp(quic_conn_smoothed_rtt(c), CLOSE_INTERVAL_MIN, CLOSE_INTERVAL_MAX);
}

void quic_conn_close(struct quic_conn *c, uint64_t code, ns_t now)
{
    if (!c->closing && !c->closed) {
        ngtcp2_ccerr_set_application_error(&c->close_error, code, NULL, 0);
    }
    start_closing(c, now);
}

void quic_conn_shut(struct quic_conn *c, ns_t now)
{
    start_closing(c, now);
}

void quic_conn_fail(struct quic_conn *c, uint64_t code, const char *reason)
{
    if (c->failed) {
        return;
    }
    c->failed = true;
    snprintf(c->error, sizeof c->error, "%s", reason);
    ngtcp2_ccerr_set_application_error(&c->close_error, code, NULL, 0);
}

void quic_conn_fail_transport(struct quic_conn *c, uint64_t code, const char *reason)
{
    if (c->failed) {
        return;
    }
    quic_conn_fail(c, 0, reason);
    ngtcp2_ccerr_set_transport_error(&c->close_error, code, NULL, 0);
}

/* The peer has closed. Anything but "no error" is a failure of the run. */
static void peer_closed(struct quic_conn *c, ns_t now)
{
    const ngtcp2_ccerr *e = ngtcp2_conn_get_ccerr(c->conn);
    bool application = e->type == NGTCP2_CCERR_TYPE_APPLICATION;

    c->closed = true;
    record_put_named(c->env->rec, RECORD_EVENT, "connection-closed", now, (int64_t)e->error_code);
    if (!c->failed && !(application && e->error_code == ROQ_NO_ERROR)) {
        c->failed = true;
        snprintf(c->error, sizeof c->error, "peer closed with %s error 0x%" PRIx64,
                 application ? "application" : "transport", e->error_code);
    }
}

/* Does the code say that the peer broke a rule of the transport? */
static bool is_violation(const ngtcp2_ccerr *e)
{
    return e->type == NGTCP2_CCERR_TYPE_TRANSPORT && e->error_code != NGTCP2_NO_ERROR &&
           e->error_code != NGTCP2_INTERNAL_ERROR && e->error_code < NGTCP2_CRYPTO_ERROR;
}

static void set_library_error(struct quic_conn *c, int rv)
{
    if (rv == NGTCP2_ERR_CRYPTO) {
        ngtcp2_ccerr_set_tls_alert(&c->close_error, ngtcp2_conn_get_tls_alert(c->conn), NULL, 0);
    } else {
        ngtcp2_ccerr_set_liberr(&c->close_error, rv, NULL, 0);
    }
    c->failed = true;
    c->tls_failures += rv == NGTCP2_ERR_CRYPTO;
    c->transport_violations += is_violation(&c->close_error);
    if (rv == NGTCP2_ERR_CRYPTO) {
        snprintf(c->error, sizeof c->error, "TLS handshake failed, alert %d",
                 ngtcp2_conn_get_tls_alert(c->conn));
    } else {
        snprintf(c->error, sizeof c->error, "QUIC: %s", ngtcp2_strerror(rv));
    }
}

void quic_conn_library_error(struct quic_conn *c, int rv, ns_t now)
{
    if (c->closing || c->closed) {
        return; /* the reason has been settled */
    }
    switch (rv) {
    case NGTCP2_ERR_DRAINING: peer_closed(c, now); return;
    case NGTCP2_ERR_DROP_CONN:
    case NGTCP2_ERR_IDLE_CLOSE:
    case NGTCP2_ERR_HANDSHAKE_TIMEOUT:
        if (!c->failed) {
            set_library_error(c, rv);
        }
        c->closed = true;
        return;
    }
    if (!c->failed) {
        set_library_error(c, rv);
    }
    start_closing(c, now);
}

static void write_close_packet(struct quic_conn *c, ns_t now)
{
    struct quic_current *before = quic_current_enter(&c->current, now);
    ngtcp2_ssize n = ngtcp2_conn_write_connection_close(c->conn, NULL, NULL, c->close_packet,
                                                        (size_t)c->cfg->udp_payload_bytes,
                                                        &c->close_error, (ngtcp2_tstamp)now);

    c->close_len = n > 0 ? (size_t)n : 0;
    quic_current_leave(before);
}

int quic_conn_poll_close(struct quic_conn *c, struct dgram *out, ns_t now)
{
    struct quic_conn_parts parts = {.packet = RECORD_NONE};

    if (!c->closing || c->closed || now < c->close_next) {
        return 0;
    }
    if (c->close_copies == CLOSE_COPIES) {
        write_close_packet(c, now);
    }
    if (c->close_len == 0 || --c->close_copies == 0) {
        c->closed = true;
    }
    c->close_next = now + c->close_interval;
    if (c->close_len == 0) {
        return 0;
    }
    quic_conn_begin(c); /* not ECN-capable */
    memcpy(out->data, c->close_packet, c->close_len);
    quic_conn_sent(c, out, c->close_len, &parts, now);
    return 1;
}
