/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/webrtc/webrtc_dtls.h"

#include "agents/base/err.h"
#include "agents/webrtc/dtls_hello.h"

#include <wolfssl/ssl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORD_HEADER_BYTES 13
#define CONTENT_HANDSHAKE 22
#define CONTENT_DATA 23
#define HANDSHAKE_HEADER_BYTES 12
#define HANDSHAKE_CERTIFICATE 11
#define HANDSHAKE_CERTIFICATE_VERIFY 15
#define HANDSHAKE_CLIENT_KEY_EXCHANGE 16
#define LAST_FLIGHT_NUMBER 3 /* of its last message in the open: ClientHello is 0 */
#define DATAGRAM_MAX 1500
#define PLAIN_MAX 16384
#define EXPORTER "EXTRACTOR-dtls_srtp" /* RFC 5764 section 4.2 */
/* A flight is repeated after 50 ms, then 100, 200, ... (what libwebrtc sets in its TLS library). */
#define RETRANSMIT_FIRST (50 * NS_PER_MS)
#define RETRANSMIT_MAX (2 * NS_PER_S)
/* wolfSSL gives up when its own notion of the timeout, doubled at every repetition, exceeds this;
 * when to give up is the agent's decision. */
#define WOLFSSL_TIMEOUT_MAX (1 << 28)

struct webrtc_dtls {
    struct webrtc_dtls_config cfg;
    uint8_t fingerprint[TLS_FINGERPRINT_BYTES], expected[TLS_FINGERPRINT_BYTES];
    bool has_expected, wrong_certificate, certificate_seen, any_profile;
    bool started, done, closing, closed;
    char error[160];
    WOLFSSL_CTX *ctx;
    WOLFSSL *ssl;
    ns_t retransmit, interval;
    uint64_t discarded;
    struct dtls_hello hello;
    /* the datagram wolfSSL reads from, without the records it must not see */
    uint8_t in[DATAGRAM_MAX];
    size_t in_len;
};

/* ---- wolfSSL's side ---- */

static int read_cb(WOLFSSL *ssl, char *buf, int cap, void *ctx)
{
    struct webrtc_dtls *d = ctx;
    size_t n = d->in_len < (size_t)cap ? d->in_len : (size_t)cap;

    (void)ssl;
    if (n == 0) {
        return WOLFSSL_CBIO_ERR_WANT_READ;
    }
    memcpy(buf, d->in, n);
    d->in_len = 0;
    return (int)n;
}

static int write_cb(WOLFSSL *ssl, char *buf, int len, void *ctx)
{
    struct webrtc_dtls *d = ctx;

    (void)ssl;
    d->cfg.send(d->cfg.ctx, (const uint8_t *)buf, (size_t)len);
    return len;
}

static int verify_cb(int preverified, WOLFSSL_X509_STORE_CTX *store)
{
    struct webrtc_dtls *d = store->userCtx;

    (void)preverified; /* no authority knows the certificate */
    if (!d) {
        return 0;
    }
    d->certificate_seen = tls_identity_accept(store, d->has_expected ? d->expected : NULL);
    d->wrong_certificate = !d->certificate_seen;
    return d->certificate_seen;
}

static const char *profile_name(enum webrtc_srtp_profile p)
{
    return p == WEBRTC_SRTP_AEAD_AES_128_GCM ? "SRTP_AEAD_AES_128_GCM" : "SRTP_AES128_CM_SHA1_80";
}

static enum webrtc_srtp_profile other_profile(enum webrtc_srtp_profile p)
{
    return p == WEBRTC_SRTP_AEAD_AES_128_GCM ? WEBRTC_SRTP_AES128_CM_SHA1_80
                                             : WEBRTC_SRTP_AEAD_AES_128_GCM;
}

static int make_context(struct webrtc_dtls *d)
{
    d->ctx = wolfSSL_CTX_new(wolfDTLSv1_2_method()); /* the session says which side it is */
    if (!d->ctx) {
        return ERR_NOMEM;
    }
    wolfSSL_CTX_SetIORecv(d->ctx, read_cb);
    wolfSSL_CTX_SetIOSend(d->ctx, write_cb);
    wolfSSL_CTX_set_session_cache_mode(d->ctx, WOLFSSL_SESS_CACHE_OFF);
    if (wolfSSL_CTX_set_cipher_list(d->ctx, "ECDHE-ECDSA-AES128-GCM-SHA256") != WOLFSSL_SUCCESS) {
        return ERR_CRYPTO;
    }
    wolfSSL_CTX_set_verify(d->ctx, WOLFSSL_VERIFY_PEER | WOLFSSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                           verify_cb);
    return tls_identity_install(d->ctx, d->fingerprint);
}

static int make_session(struct webrtc_dtls *d)
{
    d->ssl = wolfSSL_new(d->ctx);
    if (!d->ssl) {
        return ERR_CRYPTO; /* no memory, or no random seed */
    }
    wolfSSL_SetIOReadCtx(d->ssl, d);
    wolfSSL_SetIOWriteCtx(d->ssl, d);
    wolfSSL_SetCertCbCtx(d->ssl, d);
    wolfSSL_KeepArrays(d->ssl); /* else no keys can be exported */
    wolfSSL_dtls_set_using_nonblock(d->ssl, 1);
    if (wolfSSL_dtls_set_timeout_max(d->ssl, WOLFSSL_TIMEOUT_MAX) != WOLFSSL_SUCCESS ||
        wolfSSL_dtls_set_mtu(d->ssl, (unsigned short)d->cfg.datagram_bytes_max) !=
            WOLFSSL_SUCCESS) {
        return ERR_CRYPTO;
    }
    /* its result means success as 1 in one version and as 0 in another: the handshake will tell */
    wolfSSL_set_tlsext_use_srtp(d->ssl, profile_name(d->cfg.profile));
    return 0;
}

int webrtc_dtls_new(struct webrtc_dtls **out, const struct webrtc_dtls_config *cfg)
{
    struct webrtc_dtls *d = calloc(1, sizeof *d);
    int rv;

    if (!d) {
        return ERR_NOMEM;
    }
    d->cfg = *cfg;
    d->retransmit = NS_NEVER;
    rv = tls_library_open();
    if (rv) {
        free(d);
        return rv;
    }
    rv = make_context(d);
    if (rv == 0) {
        rv = make_session(d);
    }
    if (rv) {
        webrtc_dtls_free(d);
        return rv;
    }
    *out = d;
    return 0;
}

void webrtc_dtls_free(struct webrtc_dtls *d)
{
    if (d) {
        wolfSSL_free(d->ssl);
        wolfSSL_CTX_free(d->ctx);
        tls_library_close();
        free(d);
    }
}

const uint8_t *webrtc_dtls_fingerprint(const struct webrtc_dtls *d)
{
    return d->fingerprint;
}

void webrtc_dtls_expect(struct webrtc_dtls *d, const uint8_t fingerprint[TLS_FINGERPRINT_BYTES])
{
    memcpy(d->expected, fingerprint, sizeof d->expected);
    d->has_expected = true;
}

/* ---- handshake ---- */

static void fail(struct webrtc_dtls *d, const char *what, int code)
{
    if (!d->error[0]) {
        snprintf(d->error, sizeof d->error, "%s (DTLS %d)", what, code);
    }
    d->retransmit = NS_NEVER;
}

static void put_keylog(struct webrtc_dtls *d)
{
    unsigned char *master, *server, *client;
    unsigned master_len, server_len, client_len;
    char line[TLS_KEYLOG_LINE_MAX];

    if (d->cfg.keylog &&
        wolfSSL_get_keys(d->ssl, &master, &master_len, &server, &server_len, &client,
                         &client_len) == WOLFSSL_SUCCESS &&
        client_len == TLS_RANDOM_BYTES &&
        tls_keylog_line(line, "CLIENT_RANDOM", client, master, master_len)) {
        d->cfg.keylog(d->cfg.keylog_ctx, line);
    }
}

static void complete(struct webrtc_dtls *d)
{
    const WOLFSSL_SRTP_PROTECTION_PROFILE *p = wolfSSL_get_selected_srtp_profile(d->ssl);

    if (p && d->any_profile && p->id == other_profile(d->cfg.profile)) {
        d->cfg.profile = other_profile(d->cfg.profile);
    }

    d->retransmit = NS_NEVER;
    if (!d->certificate_seen) {
        fail(d, "peer showed no certificate", 0);
    } else if (!p || p->id != d->cfg.profile) {
        fail(d, "peer did not agree on an SRTP profile", 0);
    } else {
        d->done = true;
        /* it reckons with more overhead than a record has; webrtc_dtls_write keeps the limit */
        wolfSSL_dtls_set_mtu(d->ssl, DATAGRAM_MAX);
        put_keylog(d);
    }
}

void webrtc_dtls_any_profile(struct webrtc_dtls *d)
{
    char names[64];

    snprintf(names, sizeof names, "%s:%s", profile_name(d->cfg.profile),
             profile_name(other_profile(d->cfg.profile)));
    wolfSSL_set_tlsext_use_srtp(d->ssl, names); /* the handshake will tell, as above */
    d->any_profile = true;
}

enum webrtc_srtp_profile webrtc_dtls_profile(const struct webrtc_dtls *d)
{
    return d->cfg.profile;
}

/* Before the first step of the handshake only. */
static void take_side(struct webrtc_dtls *d)
{
    if (d->cfg.server) {
        wolfSSL_set_accept_state(d->ssl);
    } else {
        wolfSSL_set_connect_state(d->ssl);
        /* says that we know of RFC 5746: servers that answer so unasked would be refused */
        if (wolfSSL_UseSecureRenegotiation(d->ssl) != WOLFSSL_SUCCESS) {
            fail(d, "handshake cannot be begun", 0);
        }
    }
}

void webrtc_dtls_set_server(struct webrtc_dtls *d, bool server)
{
    d->cfg.server = server;
}

static void negotiate(struct webrtc_dtls *d)
{
    int rv = d->cfg.server ? wolfSSL_accept(d->ssl) : wolfSSL_connect(d->ssl);
    int code;

    if (rv == WOLFSSL_SUCCESS) {
        complete(d);
        return;
    }
    code = wolfSSL_get_error(d->ssl, rv);
    if (code != WOLFSSL_ERROR_WANT_READ && code != WOLFSSL_ERROR_WANT_WRITE) {
        fail(d,
             d->wrong_certificate ? "peer's certificate is not the expected one"
                                  : "handshake failed",
             code);
    }
}

void webrtc_dtls_start(struct webrtc_dtls *d, ns_t now)
{
    d->started = true;
    d->interval = RETRANSMIT_FIRST;
    d->retransmit = now + d->interval;
    take_side(d);
    negotiate(d);
}

/* ---- records in ---- */

/* What is not encrypted may come from anybody. A client that is done has all it needs, while a
 * server must answer repetitions of the client's last flight with its own; but a late repetition of
 * its first, or what it has never sent, would be the end of the connection. */
static bool is_last_flight(const uint8_t *record, size_t size)
{
    const uint8_t *message = record + RECORD_HEADER_BYTES; /* RFC 6347 section 4.2.2 */
    unsigned number;

    if (record[0] != CONTENT_HANDSHAKE || size < RECORD_HEADER_BYTES + HANDSHAKE_HEADER_BYTES) {
        return false;
    }
    number = (unsigned)message[4] << 8 | message[5];
    return number <= LAST_FLIGHT_NUMBER &&
           (message[0] == HANDSHAKE_CERTIFICATE || message[0] == HANDSHAKE_CERTIFICATE_VERIFY ||
            message[0] == HANDSHAKE_CLIENT_KEY_EXCHANGE);
}

/* Copies the records wolfSSL may see. */
static void filter(struct webrtc_dtls *d, const uint8_t *data, size_t len)
{
    d->in_len = 0;
    while (len >= RECORD_HEADER_BYTES) {
        size_t size = RECORD_HEADER_BYTES + ((size_t)data[11] << 8 | data[12]);
        bool plain = data[3] == 0 && data[4] == 0; /* epoch */
        bool wanted;

        if (size > len) {
            d->discarded++;
            return;
        }
        wanted = d->done ? !plain || (d->cfg.server && is_last_flight(data, size))
                         : data[0] != CONTENT_DATA;
        if (wanted && d->in_len + size <= sizeof d->in) {
            memcpy(d->in + d->in_len, data, size);
            d->in_len += size;
        } else {
            d->discarded++;
        }
        data += size;
        len -= size;
    }
}

static void read_records(struct webrtc_dtls *d)
{
    uint8_t plain[PLAIN_MAX];
    int n, code;

    while ((n = wolfSSL_read(d->ssl, plain, sizeof plain)) > 0) {
        d->cfg.recv(d->cfg.ctx, plain, (size_t)n);
    }
    code = wolfSSL_get_error(d->ssl, n);
    if (code == WOLFSSL_ERROR_ZERO_RETURN) {
        d->closed = true;
    } else if (code != WOLFSSL_ERROR_WANT_READ && code != WOLFSSL_ERROR_WANT_WRITE) {
        fail(d, "record could not be read", code);
    }
}

void webrtc_dtls_recv(struct webrtc_dtls *d, const uint8_t *data, size_t len, ns_t now)
{
    bool was_started = d->started;

    if (d->error[0] || d->closed ||
        (d->cfg.server && !d->done && !dtls_hello_join(&d->hello, &data, &len))) {
        return;
    }
    filter(d, data, len);
    if (d->in_len == 0) {
        return;
    }
    if (d->done) {
        read_records(d);
        d->in_len = 0;
        return;
    }
    if (!was_started) {
        take_side(d);
    }
    d->started = true;
    negotiate(d);
    d->in_len = 0;
    if (!d->done && !d->error[0]) {
        /* progress or not, the peer lives: its next flight gets the full time */
        d->interval = was_started ? d->interval : RETRANSMIT_FIRST;
        d->retransmit = now + d->interval;
    }
}

ns_t webrtc_dtls_deadline(const struct webrtc_dtls *d)
{
    return d->retransmit;
}

void webrtc_dtls_expire(struct webrtc_dtls *d, ns_t now)
{
    int rv;

    if (now < d->retransmit) {
        return;
    }
    d->interval = ns_min(2 * d->interval, RETRANSMIT_MAX);
    d->retransmit = now + d->interval;
    rv = wolfSSL_dtls_got_timeout(d->ssl);
    if (rv != WOLFSSL_SUCCESS) {
        int code = wolfSSL_get_error(d->ssl, rv);
        if (code != WOLFSSL_ERROR_WANT_READ && code != WOLFSSL_ERROR_WANT_WRITE && code != 0) {
            fail(d, "handshake cannot be repeated", code);
        }
    }
}

/* ---- records out ---- */

int webrtc_dtls_write(struct webrtc_dtls *d, const uint8_t *data, size_t len)
{
    if (!d->done || d->closing || d->closed || d->error[0]) {
        return ERR_AGAIN;
    }
    if (len + WEBRTC_DTLS_OVERHEAD_BYTES > d->cfg.datagram_bytes_max) {
        return ERR_SPACE;
    }
    return wolfSSL_write(d->ssl, data, (int)len) == (int)len ? 0 : ERR_CRYPTO;
}

void webrtc_dtls_close(struct webrtc_dtls *d)
{
    if (d->done && !d->closing && !d->error[0]) {
        d->closing = true;
        wolfSSL_shutdown(d->ssl);
    }
    d->retransmit = NS_NEVER;
}

bool webrtc_dtls_done(const struct webrtc_dtls *d)
{
    return d->done;
}

bool webrtc_dtls_closed(const struct webrtc_dtls *d)
{
    return d->closed;
}

const char *webrtc_dtls_error(const struct webrtc_dtls *d)
{
    return d->error[0] ? d->error : NULL;
}

uint64_t webrtc_dtls_refused(const struct webrtc_dtls *d)
{
    return d->wrong_certificate;
}

uint64_t webrtc_dtls_discarded(const struct webrtc_dtls *d)
{
    return d->discarded;
}

int webrtc_dtls_keys(struct webrtc_dtls *d, uint8_t out[WEBRTC_DTLS_KEYS_MAX])
{
    /* two keys of 16 bytes, and two salts of 12 or 14 */
    int len = d->cfg.profile == WEBRTC_SRTP_AEAD_AES_128_GCM ? 56 : 60;

    if (wolfSSL_export_keying_material(d->ssl, out, (size_t)len, EXPORTER, sizeof EXPORTER - 1,
                                       NULL, 0, 0) != WOLFSSL_SUCCESS) {
        return ERR_CRYPTO;
    }
    return len;
}
