/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/quic/quic_tls.h"

#include "agents/base/err.h"
#include "agents/quic/quic_current.h"

#include <ngtcp2/ngtcp2_crypto_wolfssl.h>
#include <wolfssl/ssl.h>
#include <wolfssl/wolfcrypt/asn_public.h>
#include <wolfssl/wolfcrypt/ecc.h>
#include <wolfssl/wolfcrypt/random.h>
#include <wolfssl/wolfcrypt/sha256.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CERT_DER_MAX 1024
#define KEY_DER_MAX 256
#define CERT_DAYS 30
#define CERT_NAME "muxbed"
#define P256_BYTES 32
#define RANDOM_BYTES 32               /* of a ClientHello (RFC 8446 section 4.1.2) */
#define QUIC_V1_PARAMS_EXTENSION 0x39 /* RFC 9001 section 8.2 */

struct quic_tls {
    struct quic_tls_config cfg;
    uint8_t peer_fingerprint[QUIC_TLS_FINGERPRINT_BYTES];
    uint8_t fingerprint[QUIC_TLS_FINGERPRINT_BYTES];
    WOLFSSL_CTX *ctx;
    WOLFSSL *ssl;
    bool peer_verified;
};

static int seed_cb(OS_Seed *os, byte *seed, word32 len)
{
    struct quic_current *c = quic_current();

    (void)os;
    if (!c) {
        return -1;
    }
    c->random(c->random_ctx, seed, len);
    return 0;
}

static time_t time_cb(time_t *t)
{
    struct quic_current *c = quic_current();
    time_t now = c ? (time_t)(c->epoch_s + c->now / NS_PER_S) : 0;

    if (t) {
        *t = now;
    }
    return now;
}

/* ---- our certificate ---- */

struct credentials {
    uint8_t cert[CERT_DER_MAX], key[KEY_DER_MAX];
    int cert_len, key_len;
};

static int sign_certificate(struct credentials *c, ecc_key *key, WC_RNG *rng)
{
    Cert *cert = calloc(1, sizeof *cert);
    int rv = ERR_CRYPTO, len;

    if (!cert) {
        return ERR_NOMEM;
    }
    if (wc_InitCert(cert) != 0) {
        goto out;
    }
    snprintf(cert->subject.commonName, sizeof cert->subject.commonName, "%s", CERT_NAME);
    cert->sigType = CTC_SHA256wECDSA;
    cert->daysValid = CERT_DAYS;
    cert->selfSigned = 1;
    cert->isCA = 1; /* it is the issuer of a certificate: itself */
    len = wc_MakeCert(cert, c->cert, sizeof c->cert, NULL, key, rng);
    if (len < 0) {
        goto out;
    }
    len = wc_SignCert(cert->bodySz, cert->sigType, c->cert, sizeof c->cert, NULL, key, rng);
    if (len < 0) {
        goto out;
    }
    c->cert_len = len;
    rv = 0;
out:
    free(cert);
    return rv;
}

static int make_credentials(struct credentials *c)
{
    WC_RNG rng;
    ecc_key key;
    int rv = ERR_CRYPTO;

    if (wc_InitRng(&rng) != 0) {
        return ERR_CRYPTO;
    }
    if (wc_ecc_init(&key) != 0) {
        goto out_rng;
    }
    if (wc_ecc_make_key_ex(&rng, P256_BYTES, &key, ECC_SECP256R1) != 0) {
        goto out;
    }
    c->key_len = wc_EccKeyToDer(&key, c->key, sizeof c->key);
    if (c->key_len > 0) {
        rv = sign_certificate(c, &key, &rng);
    }
out:
    wc_ecc_free(&key);
out_rng:
    wc_FreeRng(&rng);
    return rv;
}

static int install_credentials(struct quic_tls *t)
{
    struct credentials c = {.cert_len = 0};
    int rv = make_credentials(&c);

    if (rv == 0 && (wolfSSL_CTX_use_certificate_buffer(t->ctx, c.cert, c.cert_len,
                                                       WOLFSSL_FILETYPE_ASN1) != WOLFSSL_SUCCESS ||
                    wolfSSL_CTX_use_PrivateKey_buffer(t->ctx, c.key, c.key_len,
                                                      WOLFSSL_FILETYPE_ASN1) != WOLFSSL_SUCCESS ||
                    wc_Sha256Hash(c.cert, (word32)c.cert_len, t->fingerprint) != 0)) {
        rv = ERR_CRYPTO;
    }
    memset(c.key, 0, sizeof c.key);
    return rv;
}

/* ---- the peer's certificate ---- */

/* Is der a certificate that its own key has signed, valid now? wolfSSL checks this against a store
 * that trusts nothing but the certificate itself. */
static bool self_signed(const uint8_t *der, size_t len)
{
    WOLFSSL_CERT_MANAGER *store = wolfSSL_CertManagerNew();
    bool ok = store &&
              wolfSSL_CertManagerLoadCABuffer(store, der, (long)len, WOLFSSL_FILETYPE_ASN1) ==
                  WOLFSSL_SUCCESS &&
              wolfSSL_CertManagerVerifyBuffer(store, der, (long)len, WOLFSSL_FILETYPE_ASN1) ==
                  WOLFSSL_SUCCESS;

    wolfSSL_CertManagerFree(store);
    return ok;
}

static int verify_cb(int preverified, WOLFSSL_X509_STORE_CTX *store)
{
    struct quic_tls *t = store->userCtx;
    uint8_t digest[QUIC_TLS_FINGERPRINT_BYTES];

    (void)preverified; /* no authority knows the certificate */
    if (!t || store->totalCerts != 1 ||
        !self_signed(store->certs[0].buffer, store->certs[0].length)) {
        return 0;
    }
    if (t->cfg.peer_fingerprint &&
        (wc_Sha256Hash(store->certs[0].buffer, store->certs[0].length, digest) != 0 ||
         memcmp(digest, t->peer_fingerprint, sizeof digest) != 0)) {
        return 0;
    }
    t->peer_verified = true;
    return 1;
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

static size_t put_hex(char *out, const uint8_t *data, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        snprintf(out + 2 * i, 3, "%02x", data[i]);
    }
    return 2 * len;
}

static int secret_cb(WOLFSSL *ssl, int id, const unsigned char *secret, int len, void *ctx)
{
    struct quic_tls *t = ctx;
    const char *label = secret_label(id);
    uint8_t random[RANDOM_BYTES];
    char line[QUIC_TLS_KEYLOG_LINE_MAX];
    size_t n;

    if (!label || wolfSSL_get_client_random(ssl, random, sizeof random) != sizeof random ||
        strlen(label) + 2 * (sizeof random + (size_t)len) + 3 > sizeof line) {
        return 0;
    }
    n = (size_t)snprintf(line, sizeof line, "%s ", label);
    n += put_hex(line + n, random, sizeof random);
    line[n++] = ' ';
    put_hex(line + n, secret, (size_t)len);
    t->cfg.keylog(t->cfg.keylog_ctx, line);
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
    return install_credentials(t);
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
    if (wolfSSL_Init() != WOLFSSL_SUCCESS) {
        free(t);
        return ERR_CRYPTO;
    }
    wc_SetSeed_Cb(seed_cb);
    wc_SetTimeCb(time_cb);
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
        wolfSSL_Cleanup();
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

const uint8_t *quic_tls_fingerprint(const struct quic_tls *t)
{
    return t->fingerprint;
}
