/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Data channel establishment (RFC 8832) and the payload protocol identifiers of RFC 8831. */
#ifndef AGENTS_WEBRTC_DCEP_H
#define AGENTS_WEBRTC_DCEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DCEP_ACK 0x02
#define DCEP_OPEN 0x03
#define DCEP_OPEN_BYTES 12 /* without label and protocol */
#define DCEP_TEXT_MAX 255  /* a label or protocol longer than this is refused */

enum dcep_ppid {
    DCEP_PPID_DCEP = 50,
    DCEP_PPID_STRING = 51,
    DCEP_PPID_BINARY_PARTIAL = 52, /* deprecated */
    DCEP_PPID_BINARY = 53,
    DCEP_PPID_STRING_PARTIAL = 54, /* deprecated */
    DCEP_PPID_STRING_EMPTY = 56,   /* one byte of 0 */
    DCEP_PPID_BINARY_EMPTY = 57,   /* one byte of 0 */
};

/* RFC 8832 section 5.1; the bit 0x80 means unordered. */
enum dcep_channel {
    DCEP_RELIABLE = 0x00,
    DCEP_RETRANSMIT_LIMIT = 0x01, /* reliability: retransmissions */
    DCEP_LIFETIME = 0x02,         /* reliability: ms */
};
#define DCEP_UNORDERED 0x80

/* RFC 8831 section 6.4 */
enum dcep_priority {
    DCEP_PRIORITY_BELOW_NORMAL = 128,
    DCEP_PRIORITY_NORMAL = 256,
    DCEP_PRIORITY_HIGH = 512,
    DCEP_PRIORITY_EXTRA_HIGH = 1024,
};

struct dcep_open {
    enum dcep_channel channel;
    bool unordered;
    uint16_t priority;
    uint32_t reliability; /* 0 when reliable (anything else is ignored there) */
    char label[DCEP_TEXT_MAX + 1], protocol[DCEP_TEXT_MAX + 1];
};

/* A message with DCEP_PPID_DCEP. Returns DCEP_OPEN (open is filled), DCEP_ACK, or ERR_MALFORMED: an
 * unknown type or channel type, a wrong length, a text too long or with a NUL in it. */
int dcep_parse(struct dcep_open *open, const uint8_t *data, size_t len);
/* Returns the length, ERR_SPACE, or ERR_MALFORMED for what dcep_parse would refuse. */
int dcep_write_open(const struct dcep_open *open, uint8_t *out, size_t cap);
/* Returns 1 or ERR_SPACE. */
int dcep_write_ack(uint8_t *out, size_t cap);

#endif
