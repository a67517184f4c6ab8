/* SPDX-License-Identifier: GPL-3.0-or-later */
/* STUN messages (RFC 8489) with the attributes ICE uses (RFC 8445). Integrity is the short-term
 * credential mechanism with SHA-1, as ICE has it: the key is the password. */
#ifndef AGENTS_WEBRTC_STUN_H
#define AGENTS_WEBRTC_STUN_H

#include "agents/base/addr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STUN_HEADER_BYTES 20
#define STUN_COOKIE 0x2112a442u
#define STUN_ID_BYTES 12
#define STUN_MESSAGE_BYTES_MAX 1500
#define STUN_USERNAME_MAX                                                                          \
    513 /* RFC 8489 section 14.3: fewer than 509 bytes; ICE allows 256:256                         \
         */
#define STUN_UNKNOWN_MAX 16

enum stun_class { STUN_REQUEST, STUN_INDICATION, STUN_SUCCESS, STUN_ERROR };
#define STUN_METHOD_BINDING 0x001

/* What ICE needs of a message; everything else is skipped or listed as unknown. */
struct stun_message {
    enum stun_class class;
    uint16_t method;
    uint8_t id[STUN_ID_BYTES];

    bool has_username, has_priority, has_controlling, has_controlled, use_candidate;
    bool has_mapped, has_integrity, has_fingerprint;
    char username[STUN_USERNAME_MAX + 1]; /* no NUL inside */
    uint32_t priority;
    uint64_t tie_breaker; /* of ICE-CONTROLLING or ICE-CONTROLLED */
    struct addr mapped;   /* XOR-MAPPED-ADDRESS */
    uint16_t error_code;  /* 300..699; 0 for none */

    /* comprehension-required attributes we do not know (RFC 8489 section 6.3.1) */
    uint16_t unknown[STUN_UNKNOWN_MAX];
    uint8_t unknown_count;

    size_t integrity_at; /* offset of MESSAGE-INTEGRITY in the bytes */
};

/* Parses a whole message; a FINGERPRINT that is there must be right. Attributes after
 * MESSAGE-INTEGRITY other than FINGERPRINT are ignored. Of an attribute that comes twice the first
 * counts. Returns 0 or ERR_MALFORMED. When even the header was sound (class, method and id are set)
 * and only attributes were not, *answerable becomes true: a request may then be answered with 400.
 */
int stun_parse(struct stun_message *m, const uint8_t *data, size_t len, bool *answerable);
/* Is MESSAGE-INTEGRITY there and made with this key? data is what was parsed. */
bool stun_verify(const struct stun_message *m, const uint8_t *data, const char *password);
/* Writes the message: attributes by the has_ flags, ERROR-CODE and UNKNOWN-ATTRIBUTES by their
 * fields, MESSAGE-INTEGRITY when password is not NULL, then FINGERPRINT. Returns its length,
 * ERR_SPACE, or ERR_MALFORMED (a field out of range). */
int stun_write(const struct stun_message *m, const char *password, uint8_t *out, size_t cap);

#endif
