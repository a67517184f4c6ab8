/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Offer and answer (RFC 3264, RFC 8829) with a peer of any make: what we say of ourselves, and what
 * follows from what the peer says. We are ICE-lite with one candidate, so the peer must be a full
 * ICE agent; it checks the path and nominates it (RFC 8445 section 2.5). At most one video section
 * and one data channel section are used, bundled on one transport (RFC 8843); others are rejected.
 *
 * Texts are session descriptions; nothing here keeps a pointer into them. */
#ifndef AGENTS_WEBRTC_WEBRTC_SESSION_H
#define AGENTS_WEBRTC_WEBRTC_SESSION_H

#include "agents/base/addr.h"
#include "agents/base/message.h"
#include "agents/webrtc/ice_lite.h"
#include "agents/webrtc/sdp.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ourselves. */
struct webrtc_session_self {
    bool sender;           /* of media and data; else their receiver */
    bool media, data;      /* what a sender sends and a receiver takes */
    int64_t message_bytes; /* largest message a sender sends */
    const char *ufrag, *pwd;
    const uint8_t *fingerprint; /* SDP_FINGERPRINT_BYTES of them */
    struct addr local;          /* our candidate: address and port, no wildcard */
    uint32_t ssrc, rtx_ssrc;    /* of a sender's media */
    uint64_t id;                /* of the session; below 2^63 */
};

/* What both sides have agreed on. */
struct webrtc_session {
    bool dtls_server;                                /* we wait for the handshake */
    bool media, data;                                /* sections in use */
    uint8_t payload_type, rtx_payload_type, twcc_id; /* of media */
    char peer_ufrag[ICE_UFRAG_MAX + 1];              /* checks must carry it */
    uint8_t peer_fingerprint[SDP_FINGERPRINT_BYTES]; /* of the only certificate to accept */
};

/* Writes an offer with a final NUL: VP8 with retransmission and transport-wide feedback, a data
 * channel. Returns its length, ERR_SPACE, ERR_NOMEM, or ERR_CONFIG for a wildcard address or
 * when there is neither media nor data. */
int webrtc_session_offer(const struct webrtc_session_self *self, char *out, size_t cap);
/* Reads an offer and writes our answer, with a final NUL. Returns the answer's length, or with a
 * line in message ERR_MALFORMED (no description, or one we cannot meet), ERR_CONFIG, ERR_SPACE,
 * ERR_NOMEM. *session is set on success only. */
int webrtc_session_answer(const struct webrtc_session_self *self, const char *offer, size_t len,
                          char *out, size_t cap, struct webrtc_session *session,
                          struct message *message);
/* Reads the answer to our offer. Returns 0 or what webrtc_session_answer does. */
int webrtc_session_accept(const struct webrtc_session_self *self, const char *answer, size_t len,
                          struct webrtc_session *session, struct message *message);

#endif
