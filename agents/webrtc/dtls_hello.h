/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Puts a ClientHello together that came in fragments (RFC 6347 section 4.2.3). Browsers' no longer
 * fit a datagram since they offer post-quantum key shares, and wolfSSL's server drops fragments of
 * a first message. What the handshake's hashes cover is the same either way. */
#ifndef AGENTS_WEBRTC_DTLS_HELLO_H
#define AGENTS_WEBRTC_DTLS_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DTLS_HELLO_HEADER_BYTES (13 + 12) /* of the record and of the handshake message */
/* Bytes of a message at most: what wolfSSL reads as one datagram (1500) has to hold it. */
#define DTLS_HELLO_BYTES_MAX (1500 - DTLS_HELLO_HEADER_BYTES)

/* Start from {0}. */
struct dtls_hello {
    bool started;
    uint16_t message_seq;
    size_t total, have;
    uint8_t seen[(DTLS_HELLO_BYTES_MAX + 7) / 8]; /* a bit per byte */
    uint8_t record[DTLS_HELLO_HEADER_BYTES + DTLS_HELLO_BYTES_MAX];
};

/* A datagram for a server whose handshake is not over. Returns false if it is a fragment of a
 * ClientHello (alone in its datagram) that completes nothing: there is nothing to process yet. Else
 * *data and *len are what to process: the datagram as it is, or the ClientHello as one record,
 * valid until the next call. Fragments that contradict those before them begin anew; of messages
 * longer than DTLS_HELLO_BYTES_MAX they are passed on as they are. */
bool dtls_hello_join(struct dtls_hello *h, const uint8_t **data, size_t *len);

#endif
