/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ICE-lite (RFC 8445 section 2.5): answers connectivity checks of a full, controlling agent, and
 * notes the pair it nominates. Never sends by itself; consent (RFC 7675) is the peer's business. */
#ifndef AGENTS_WEBRTC_ICE_LITE_H
#define AGENTS_WEBRTC_ICE_LITE_H

#include "agents/base/addr.h"
#include "agents/base/ns.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ICE_UFRAG_MIN 4
#define ICE_UFRAG_MAX 256
#define ICE_PWD_MIN 22
#define ICE_PWD_MAX 256
#define ICE_CHECKED_MAX 8

struct ice_lite {
    char ufrag[ICE_UFRAG_MAX + 1], pwd[ICE_PWD_MAX + 1];
    char peer_ufrag[ICE_UFRAG_MAX + 1];   /* empty: not known yet, any will do */
    bool selected;                        /* a pair has been nominated: media may be sent ... */
    struct addr peer;                     /* ... there */
    struct addr checked[ICE_CHECKED_MAX]; /* where valid requests came from, the newest ones */
    size_t checked_count;
    ns_t last_check; /* when the newest valid request came; NS_NEVER: none yet */
    uint64_t requests, refused;
};

/* Copies the credentials of both sides; peer_ufrag may be NULL. Returns 0, or ERR_CONFIG for a
 * length or character that RFC 8839 section 5.4 does not allow. */
int ice_lite_init(struct ice_lite *l, const char *ufrag, const char *pwd, const char *peer_ufrag);
/* Makes a ufrag of 8 and a password of 24 characters from that many random bytes. */
void ice_lite_credentials(const uint8_t random[32], char ufrag[ICE_UFRAG_MAX + 1],
                          char pwd[ICE_PWD_MAX + 1]);
/* A STUN datagram came from an address. Writes the answer to send back there into out. Returns its
 * length, 0 when none is due (indication, response, not STUN), or ERR_SPACE. Bad requests get 400,
 * 401, 420 or 487 (RFC 8489 section 9.1.3, RFC 8445 section 7.3). */
int ice_lite_recv(struct ice_lite *l, const uint8_t *data, size_t len, const struct addr *from,
                  uint8_t *out, size_t cap, ns_t now);
/* Has a valid request come from there? Then what else comes from there is the peer's, nominated or
 * not (RFC 8445 section 12.2). */
bool ice_lite_checked(const struct ice_lite *l, const struct addr *from);

#endif
