/* SPDX-License-Identifier: GPL-3.0-or-later */
/* RTP packets (RFC 3550 section 5.1) with header extensions of RFC 8285. */
#ifndef AGENTS_RTP_RTP_H
#define AGENTS_RTP_RTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RTP_HEADER_BYTES 12
#define RTP_CSRC_MAX 15
#define RTP_EXTENSIONS_MAX 14

struct rtp_extension {
    uint8_t id;  /* 1..14 in the one-byte form, 1..255 in the two-byte form */
    uint8_t len; /* one-byte form: 1..16, two-byte form: 0..255 */
    const uint8_t *data;
};

struct rtp_packet {
    bool marker;
    uint8_t payload_type; /* 0..127 */
    uint16_t seq;
    uint32_t timestamp;
    uint32_t ssrc;
    uint8_t csrc_count;
    uint32_t csrc[RTP_CSRC_MAX];
    uint8_t extension_count;
    struct rtp_extension extensions[RTP_EXTENSIONS_MAX];
    const uint8_t *payload;
    size_t payload_len;
    uint8_t padding_len;
};

/* Parses a whole packet; extension and payload pointers borrow from data. Returns 0 or
 * ERR_MALFORMED. */
int rtp_parse(struct rtp_packet *p, const uint8_t *data, size_t len);
/* Writes the packet (one-byte extension form when every element fits it, else two-byte). Returns
 * its length or ERR_SPACE / ERR_MALFORMED (a field out of range). */
int rtp_write(const struct rtp_packet *p, uint8_t *out, size_t cap);

/* Extends a wrapping 16- or 32-bit counter to 64 bits, taking the value nearest to the newest seen.
 * The first value seen is extended to itself. */
struct rtp_unwrap {
    int64_t newest;
    bool started;
};

int64_t rtp_unwrap16(struct rtp_unwrap *u, uint16_t v);
int64_t rtp_unwrap32(struct rtp_unwrap *u, uint32_t v);

#endif
