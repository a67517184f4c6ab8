/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/tls/tls_identity.h"

#include "agents/base/err.h"
#include "agents/tls/tls_current.h"

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

/* ---- the library ---- */

static int seed_cb(OS_Seed *os, byte *seed, word32 len)
{
    struct tls_current *c = tls_current();

    (void)os;
    if (!c) {
        return -1;
    }
    c->random(c->random_ctx, seed, len);
    return 0;
}

static time_t time_cb(time_t *t)
{
    struct tls_current *c = tls_current();
    time_t now = c ? (time_t)(c->epoch_s + c->now / NS_PER_S) : 0;

    if (t) {
        *t = now;
    }
    return now;
}

int tls_library_open(void)
{
    if (wolfSSL_Init() != WOLFSSL_SUCCESS) {
        return ERR_CRYPTO;
    }
    wc_SetSeed_Cb(seed_cb);
    wc_SetTimeCb(time_cb);
    return 0;
}

void tls_library_close(void)
{
    wolfSSL_Cleanup();
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

int tls_identity_install(void *ctx, uint8_t fingerprint[TLS_FINGERPRINT_BYTES])
{
    struct credentials c = {.cert_len = 0};
    int rv = make_credentials(&c);

    if (rv == 0 && (wolfSSL_CTX_use_certificate_buffer(ctx, c.cert, c.cert_len,
                                                       WOLFSSL_FILETYPE_ASN1) != WOLFSSL_SUCCESS ||
                    wolfSSL_CTX_use_PrivateKey_buffer(ctx, c.key, c.key_len,
                                                      WOLFSSL_FILETYPE_ASN1) != WOLFSSL_SUCCESS ||
                    (fingerprint && wc_Sha256Hash(c.cert, (word32)c.cert_len, fingerprint) != 0))) {
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

bool tls_identity_accept(void *store, const uint8_t *wanted)
{
    const WOLFSSL_X509_STORE_CTX *s = store;
    uint8_t digest[TLS_FINGERPRINT_BYTES];

    if (s->totalCerts != 1) {
        return false;
    }
    if (!wanted) {
        return self_signed(s->certs[0].buffer, s->certs[0].length);
    }
    return wc_Sha256Hash(s->certs[0].buffer, s->certs[0].length, digest) == 0 &&
           memcmp(digest, wanted, sizeof digest) == 0;
}

/* ---- key log ---- */

static size_t put_hex(char *out, const uint8_t *data, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        snprintf(out + 2 * i, 3, "%02x", data[i]);
    }
    return 2 * len;
}

bool tls_keylog_line(char line[TLS_KEYLOG_LINE_MAX], const char *label,
                     const uint8_t random[TLS_RANDOM_BYTES], const uint8_t *secret, size_t len)
{
    size_t n;

    if (strlen(label) + 2 * (TLS_RANDOM_BYTES + len) + 3 > TLS_KEYLOG_LINE_MAX) {
        return false;
    }
    n = (size_t)snprintf(line, TLS_KEYLOG_LINE_MAX, "%s ", label);
    n += put_hex(line + n, random, TLS_RANDOM_BYTES);
    line[n++] = ' ';
    n += put_hex(line + n, secret, len);
    line[n] = '\0';
    return true;
}
