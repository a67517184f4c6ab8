/* SPDX-License-Identifier: GPL-3.0-or-later */
/* DTLS 1.2 for one 5-tuple (RFC 6347): handshake with certificates on both sides, the use_srtp
 * extension (RFC 5764), and records that carry SCTP packets (RFC 8261). Retransmission runs in the
 * agent's time. Every function must be called between tls_current_enter and _leave.
 *
 * wolfSSL takes two things amiss that happen on every lossy path, so they are kept from it: data
 * that overtakes the end of the handshake, and the handshake's own repetitions after its end. */
#ifndef AGENTS_WEBRTC_WEBRTC_DTLS_H
#define AGENTS_WEBRTC_WEBRTC_DTLS_H

#include "agents/base/ns.h"
#include "agents/tls/tls_identity.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes a record adds to an SCTP packet: header, explicit nonce, tag (RFC 5288). */
#define WEBRTC_DTLS_OVERHEAD_BYTES (13 + 8 + 16)
/* RFC 5764 section 4.2, the longest of the profiles below. */
#define WEBRTC_DTLS_KEYS_MAX 60

/* The protection profiles' numbers (RFC 5764, RFC 7714). */
enum webrtc_srtp_profile {
    WEBRTC_SRTP_AES128_CM_SHA1_80 = 1,
    WEBRTC_SRTP_AEAD_AES_128_GCM = 7,
};

struct webrtc_dtls;

struct webrtc_dtls_config {
    bool server;
    enum webrtc_srtp_profile profile; /* the only one offered or accepted, unless told else */
    size_t datagram_bytes_max;        /* of the handshake's flights, and of records with data */
    /* A datagram to send, and the content of a record that came; data is borrowed. */
    void (*send)(void *ctx, const uint8_t *data, size_t len);
    void (*recv)(void *ctx, const uint8_t *data, size_t len);
    void (*keylog)(void *ctx, const char *line); /* NSS key log lines; may be NULL */
    void *ctx, *keylog_ctx;
};

/* Makes the key and certificate. Returns 0, ERR_NOMEM or ERR_CRYPTO. */
int webrtc_dtls_new(struct webrtc_dtls **out, const struct webrtc_dtls_config *cfg);
void webrtc_dtls_free(struct webrtc_dtls *d);
const uint8_t *webrtc_dtls_fingerprint(const struct webrtc_dtls *d);
/* The only certificate to accept from the peer; without it, any valid one. Before the handshake. */
void webrtc_dtls_expect(struct webrtc_dtls *d, const uint8_t fingerprint[TLS_FINGERPRINT_BYTES]);
/* Changes the side given at first; before the handshake. */
void webrtc_dtls_set_server(struct webrtc_dtls *d, bool server);
/* The configured SRTP profile is only the one we prefer: the other will do as well. Before the
 * handshake. */
void webrtc_dtls_any_profile(struct webrtc_dtls *d);
/* The profile in use, once the handshake is done. */
enum webrtc_srtp_profile webrtc_dtls_profile(const struct webrtc_dtls *d);
/* A client says hello. */
void webrtc_dtls_start(struct webrtc_dtls *d, ns_t now);
/* One datagram of the peer. */
void webrtc_dtls_recv(struct webrtc_dtls *d, const uint8_t *data, size_t len, ns_t now);
/* When a flight is to be repeated. */
ns_t webrtc_dtls_deadline(const struct webrtc_dtls *d);
void webrtc_dtls_expire(struct webrtc_dtls *d, ns_t now);
/* Sends one record. Returns 0, ERR_AGAIN before the handshake is done or after the end, ERR_SPACE
 * above datagram_bytes_max, or ERR_CRYPTO. */
int webrtc_dtls_write(struct webrtc_dtls *d, const uint8_t *data, size_t len);
/* Says goodbye (close_notify); no record can be written afterwards. */
void webrtc_dtls_close(struct webrtc_dtls *d);

bool webrtc_dtls_done(const struct webrtc_dtls *d);   /* the handshake is complete */
bool webrtc_dtls_closed(const struct webrtc_dtls *d); /* the peer has said goodbye */
/* Why the handshake or the connection failed, NULL if it has not. */
const char *webrtc_dtls_error(const struct webrtc_dtls *d);
/* Certificates of the peer that were not the expected one, or no valid one. */
uint64_t webrtc_dtls_refused(const struct webrtc_dtls *d);
uint64_t webrtc_dtls_discarded(const struct webrtc_dtls *d); /* records kept from wolfSSL */
/* After the handshake: the keys for SRTP in the order of RFC 5764 section 4.2. Returns their
 * length or ERR_CRYPTO. */
int webrtc_dtls_keys(struct webrtc_dtls *d, uint8_t out[WEBRTC_DTLS_KEYS_MAX]);

#endif
