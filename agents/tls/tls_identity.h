/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What both stacks need of wolfSSL: its process-wide state bound to tls_current.h, a certificate
 * made on the spot, and the check of the peer's. Every function must be called between
 * tls_current_enter and _leave. */
#ifndef AGENTS_TLS_TLS_IDENTITY_H
#define AGENTS_TLS_TLS_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TLS_FINGERPRINT_BYTES 32 /* SHA-256 of the DER certificate (RFC 8122 section 5) */
#define TLS_KEYLOG_LINE_MAX 256
#define TLS_RANDOM_BYTES 32 /* of a ClientHello */

/* Counted: every open needs a close. Returns 0 or ERR_CRYPTO. */
int tls_library_open(void);
void tls_library_close(void);

/* Makes a P-256 key and a self-signed certificate, valid from now on, and puts them into ctx, a
 * WOLFSSL_CTX. fingerprint may be NULL. Returns 0, ERR_NOMEM or ERR_CRYPTO. */
int tls_identity_install(void *ctx, uint8_t fingerprint[TLS_FINGERPRINT_BYTES]);
/* For a verify callback: is what the peer sent (a WOLFSSL_X509_STORE_CTX) one certificate, and the
 * one with the wanted fingerprint? That says all then (RFC 8122 section 6.2), whatever its dates
 * and signer. wanted may be NULL: it must be valid now and signed by its own key. */
bool tls_identity_accept(void *store, const uint8_t *wanted);
/* Writes "LABEL <client random> <secret>" in hex into line, as NSS key logs have it. Returns false
 * when it does not fit. */
bool tls_keylog_line(char line[TLS_KEYLOG_LINE_MAX], const char *label,
                     const uint8_t random[TLS_RANDOM_BYTES], const uint8_t *secret, size_t len);

#endif
