/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/quic/quic_tls.h"

#include "agents/base/err.h"
#include "agents/tls/tls_identity.h"

#include <ngtcp2/ngtcp2_crypto_wolfssl.h>
#include <wolfssl/ssl.h>
#include <wolfssl/wolfcrypt/error-crypt.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUIC_V1_PARAMS_EXTENSION 0x39 /* RFC 9001 section 8.2 */

struct quic_tls {
    struct quic_tls_config cfg;
    uint8_t peer_fingerprint[QUIC_TLS_FINGERPRINT_BYTES];
    WOLFSSL_CTX *ctx;
    WOLFSSL *ssl;
    bool peer_verified;
};

/* ---- the peer's certificate ---- */

static int verify_cb(int preverified, WOLFSSL_X509_STORE_CTX *store)
{
    struct quic_tls *t = store->userCtx;

    (void)preverified; /* no authority knows the certificate */
    if (!t || !tls_identity_accept(store, t->cfg.peer_fingerprint ? t->peer_fingerprint : NULL)) {
        return 0;
    }
    t->peer_verified = true;
    return 1;
}

/* ---- a fault of the library ---- */

int __real_wolfSSL_quic_forward_secrets(WOLFSSL *ssl, int kind, int side);
int __wrap_wolfSSL_quic_forward_secrets(WOLFSSL *ssl, int kind, int side);

/* When ngtcp2 cannot make keys from the secrets (no memory), wolfSSL 5.7.2 says so by 1. Its
 * callers take only what is below 0 for a failure: they go on without keys, or read the same for
 * ever. */
int __wrap_wolfSSL_quic_forward_secrets(WOLFSSL *ssl, int kind, int side)
{
    int rv = __real_wolfSSL_quic_forward_secrets(ssl, kind, side);

    return rv > 0 ? MEMORY_E : rv;
}

/* ---- key log ---- */

static const char *secret_label(int id)
{
    switch (id) {
    case CLIENT_EARLY_TRAFFIC_SECRET: return "CLIENT_EARLY_TRAFFIC_SECRET";
    case CLIENT_HANDSHAKE_TRAFFIC_SECRET: return "CLIENT_HANDSHAKE_TRAFFIC_SECRET";
    case SERVER_HANDSHAKE_TRAFFIC_SECRET: return "SERVER_HANDSHAKE_TRAFFIC_SECRET";
    case CLIENT_TRAFFIC_SECRET: return "CLIENT_TRAFFIC_SECRET_0";
    case SERVER_TRAFFIC_SECRET: return "SERVER_TRAFFIC_SECRET_0";
    case EARLY_EXPORTER_SECRET: return "EARLY_EXPORTER_SECRET";
    case EXPORTER_SECRET: return "EXPORTER_SECRET";
    }
    return NULL;
}

static int secret_cb(WOLFSSL *ssl, int id, const unsigned char *secret, int len, void *ctx)
{
    struct quic_tls *t = ctx;
    const char *label = secret_label(id);
    uint8_t random[TLS_RANDOM_BYTES];
    char line[TLS_KEYLOG_LINE_MAX];

    if (label && wolfSSL_get_client_random(ssl, random, sizeof random) == sizeof random &&
        tls_keylog_line(line, label, random, secret, (size_t)len)) {
        t->cfg.keylog(t->cfg.keylog_ctx, line);
    }
    return 0;
}

/* ---- the object ---- */

static int make_context(struct quic_tls *t)
{
    bool server = t->cfg.server;

    t->ctx = wolfSSL_CTX_new(server ? wolfTLSv1_3_server_method() : wolfTLSv1_3_client_method());
    if (!t->ctx) {
        return ERR_NOMEM;
    }
    if ((server ? ngtcp2_crypto_wolfssl_configure_server_context(t->ctx)
                : ngtcp2_crypto_wolfssl_configure_client_context(t->ctx)) != 0) {
        return ERR_CRYPTO;
    }
    /* session tickets carry the wall clock, and nobody here resumes a session */
    if (server && wolfSSL_CTX_no_ticket_TLSv13(t->ctx) != 0) {
        return ERR_CRYPTO;
    }
    wolfSSL_CTX_set_session_cache_mode(t->ctx, WOLFSSL_SESS_CACHE_OFF);
    if (wolfSSL_CTX_set_cipher_list(t->ctx, "TLS13-AES128-GCM-SHA256") != WOLFSSL_SUCCESS) {
        return ERR_CRYPTO;
    }
    wolfSSL_CTX_set_verify(t->ctx, WOLFSSL_VERIFY_PEER | WOLFSSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                           verify_cb);
    return tls_identity_install(t->ctx, NULL);
}

static int make_session(struct quic_tls *t)
{
    char alpn[64];

    t->ssl = wolfSSL_new(t->ctx);
    if (!t->ssl) {
        return ERR_CRYPTO; /* no memory, or no random seed */
    }
    snprintf(alpn, sizeof alpn, "%s", t->cfg.alpn);
    wolfSSL_SetCertCbCtx(t->ssl, t);
    if (wolfSSL_set_app_data(t->ssl, t->cfg.conn_ref) != WOLFSSL_SUCCESS ||
        wolfSSL_UseALPN(t->ssl, alpn, (unsigned)strlen(alpn), WOLFSSL_ALPN_FAILED_ON_MISMATCH) !=
            WOLFSSL_SUCCESS) {
        return ERR_CRYPTO;
    }
    wolfSSL_set_quic_transport_version(t->ssl, QUIC_V1_PARAMS_EXTENSION);
    if (t->cfg.server) {
        wolfSSL_set_accept_state(t->ssl);
    } else {
        wolfSSL_set_connect_state(t->ssl);
        if (wolfSSL_UseKeyShare(t->ssl, WOLFSSL_ECC_X25519) != WOLFSSL_SUCCESS) {
            return ERR_CRYPTO;
        }
    }
    if (t->cfg.keylog && wolfSSL_set_tls13_secret_cb(t->ssl, secret_cb, t) != WOLFSSL_SUCCESS) {
        return ERR_CRYPTO;
    }
    return 0;
}

int quic_tls_new(struct quic_tls **out, const struct quic_tls_config *cfg)
{
    struct quic_tls *t = calloc(1, sizeof *t);
    int rv;

    if (!t) {
        return ERR_NOMEM;
    }
    t->cfg = *cfg;
    if (cfg->peer_fingerprint) {
        memcpy(t->peer_fingerprint, cfg->peer_fingerprint, sizeof t->peer_fingerprint);
    }
    rv = tls_library_open();
    if (rv) {
        free(t);
        return rv;
    }
    rv = make_context(t);
    if (rv == 0) {
        rv = make_session(t);
    }
    if (rv) {
        quic_tls_free(t);
        return rv;
    }
    *out = t;
    return 0;
}

void quic_tls_free(struct quic_tls *t)
{
    if (t) {
        wolfSSL_free(t->ssl);
        wolfSSL_CTX_free(t->ctx);
        tls_library_close();
        free(t);
    }
}

void *quic_tls_handle(struct quic_tls *t)
{
    return t->ssl;
}

bool quic_tls_verified(const struct quic_tls *t)
{
    char *name = NULL;
    unsigned short len = 0;

    return t->peer_verified && wolfSSL_ALPN_GetProtocol(t->ssl, &name, &len) == WOLFSSL_SUCCESS &&
           len == strlen(t->cfg.alpn) && memcmp(name, t->cfg.alpn, len) == 0;
}

bool quic_tls_peer_params(const struct quic_tls *t, const uint8_t **data, size_t *len)
{
    wolfSSL_get_peer_quic_transport_params(t->ssl, data, len);
    return *data && *len;
}
