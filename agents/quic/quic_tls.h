/* SPDX-License-Identifier: GPL-3.0-or-later */
/* TLS 1.3 for one QUIC connection: a P-256 key and a self-signed certificate made on the spot, both
 * sides authenticated (each must prove possession of the key of a valid self-signed certificate,
 * and of a certain one if its fingerprint is known), one ALPN.
 *
 * wolfSSL asks for seeds and for the time through process-wide callbacks; they are answered from
 * quic_current.h, so every function here must be called between quic_current_enter and _leave. */
#ifndef AGENTS_QUIC_QUIC_TLS_H
#define AGENTS_QUIC_QUIC_TLS_H

#include "agents/tls/tls_identity.h"

#include <ngtcp2/ngtcp2_crypto.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUIC_TLS_FINGERPRINT_BYTES TLS_FINGERPRINT_BYTES

struct quic_tls;

struct quic_tls_config {
    bool server;
    const char *alpn;
    ngtcp2_crypto_conn_ref *conn_ref; /* outlives the object */
    /* NSS key log lines, without line end; may be NULL. */
    void (*keylog)(void *ctx, const char *line);
    void *keylog_ctx;
    /* The only certificate to accept, NULL for any valid one. Copied. */
    const uint8_t *peer_fingerprint;
};

/* Returns 0, ERR_NOMEM or ERR_CRYPTO. */
int quic_tls_new(struct quic_tls **out, const struct quic_tls_config *cfg);
void quic_tls_free(struct quic_tls *t);
/* The handle for ngtcp2_conn_set_tls_native_handle. */
void *quic_tls_handle(struct quic_tls *t);
/* After the handshake: has our ALPN been agreed and a certificate of the peer been verified? */
bool quic_tls_verified(const struct quic_tls *t);
/* The peer's encoded QUIC transport parameters; false before they have arrived. */
bool quic_tls_peer_params(const struct quic_tls *t, const uint8_t **data, size_t *len);

#endif
