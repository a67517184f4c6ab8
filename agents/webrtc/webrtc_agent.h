/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The WebRTC agent, as deployed ones are: on one UDP 5-tuple DTLS, SRTP with transport-wide
 * feedback, and an SCTP data channel that knows nothing of the media's rate control. The sender is
 * the DTLS client and opens what its configuration asks for; the receiver takes it. */
#ifndef AGENTS_WEBRTC_WEBRTC_AGENT_H
#define AGENTS_WEBRTC_WEBRTC_AGENT_H

#include "agents/agent.h"
#include "agents/base/message.h"
#include "agents/tls/tls_identity.h"

/* Makes an agent of either role; a sender starts its handshake with the first poll. Returns 0 or
 * ERR_NOMEM, ERR_CONFIG, ERR_CRYPTO; *out is set on success only. */
int webrtc_agent_new(struct agent **out, const struct agent_config *cfg,
                     const struct agent_env *env, ns_t now);
/* What signalling exchanges (RFC 8122): the fingerprint of our certificate, and the only one to
 * accept of the peer (before the first datagram; any valid one else). */
const uint8_t *webrtc_agent_fingerprint(const struct agent *a);
void webrtc_agent_expect(struct agent *a, const uint8_t fingerprint[TLS_FINGERPRINT_BYTES]);
/* The user fragment and password that ICE checks of a peer must carry (RFC 8839); made at random. A
 * peer of our own needs no checks. */
void webrtc_agent_ice(const struct agent *a, const char **ufrag, const char **pwd);

/* Offer and answer with a peer of another make (webrtc_session.h), in place of the two above:
 * before the first datagram, offer then accept, or answer alone. local: where the socket is bound;
 * out: a description with a final NUL. The configured remote is not used then, the peer finds us.
 *
 * A sender offers what it is configured to send and a receiver data, and media if so configured; in
 * an offer a receiver takes both.
 *
 * offer returns the text's length, ERR_SPACE, ERR_NOMEM, or ERR_CONFIG (local is a wildcard, or
 * nothing is to be offered). */
int webrtc_agent_offer(struct agent *a, const struct addr *local, char *out, size_t cap);
/* Takes the peer's offer and writes our answer. Returns its length, or with a line in message
 * ERR_MALFORMED, ERR_CONFIG, ERR_SPACE, ERR_NOMEM. */
int webrtc_agent_answer(struct agent *a, const struct addr *local, const char *offer, size_t len,
                        char *out, size_t cap, struct message *message);
/* Takes the answer to our offer. Returns 0 or what webrtc_agent_answer does. */
int webrtc_agent_accept(struct agent *a, const char *answer, size_t len, struct message *message);

#endif
