/* SPDX-License-Identifier: GPL-3.0-or-later */
/* muxbed-fetch: range requests on a QUIC connection, our own mapping and nobody else's (ALPN
 * "muxbed-fetch/1"). The client opens a bidirectional stream per request:
 *
 *     request   player (varint), play (varint), offset (varint), length (varint), end of stream
 *     response  status (varint), length (varint), that many bytes of the track, end of stream
 *
 * varints are those of RFC 9000 section 16. A response that is not FETCH_OK has length 0. The
 * client that wants no more of a response stops it (STOP_SENDING, RFC 9000 section 3.5) with
 * FETCH_CANCELLED. It closes a connection with FETCH_DONE when its player has heard all. */
#ifndef AGENTS_QUIC_QUIC_FETCH_H
#define AGENTS_QUIC_QUIC_FETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUIC_FETCH_ALPN "muxbed-fetch/1"
#define QUIC_FETCH_REQUEST_MAX 32  /* four varints */
#define QUIC_FETCH_RESPONSE_MAX 16 /* two, without the bytes */
/* The longest range in one request: what a server holds for a stream until it is acknowledged. */
#define QUIC_FETCH_LENGTH_MAX (INT64_C(1) << 20)

/* Application error codes of connections and streams. */
enum {
    FETCH_NO_ERROR = 0x00,
    FETCH_DONE = 0x01,      /* the client needs nothing more, on any connection */
    FETCH_CANCELLED = 0x02, /* of a stream */
    FETCH_MALFORMED = 0x03, /* a request or response that does not parse */
};

enum quic_fetch_status {
    FETCH_OK,
    FETCH_NO_TRACK,
    FETCH_NO_RANGE, /* empty, beyond the track's end, or longer than QUIC_FETCH_LENGTH_MAX */
    FETCH_STATUSES,
};

struct quic_fetch_request {
    int64_t player, play, offset, length;
};

struct quic_fetch_response {
    enum quic_fetch_status status;
    int64_t length;
};

/* Writes into out[QUIC_FETCH_REQUEST_MAX] or out[QUIC_FETCH_RESPONSE_MAX]; returns the length. */
size_t quic_fetch_request_write(const struct quic_fetch_request *r, uint8_t *out);
size_t quic_fetch_response_write(const struct quic_fetch_response *r, uint8_t *out);
/* A whole request, as it stands before the end of the stream. Returns 0 or ERR_MALFORMED. */
int quic_fetch_request_parse(struct quic_fetch_request *r, const uint8_t *data, size_t len);
/* The beginning of a response. Returns its length, 0 when there is not enough of it yet, or
 * ERR_MALFORMED: an unknown status, a length above QUIC_FETCH_LENGTH_MAX or with a status that has
 * none. */
int quic_fetch_response_parse(struct quic_fetch_response *r, const uint8_t *data, size_t len);

#endif
