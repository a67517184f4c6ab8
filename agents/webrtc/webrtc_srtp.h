/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SRTP and SRTCP (RFC 3711, RFC 7714) for both directions of a session, keyed by DTLS. */
#ifndef AGENTS_WEBRTC_WEBRTC_SRTP_H
#define AGENTS_WEBRTC_WEBRTC_SRTP_H

#include "agents/webrtc/webrtc_dtls.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room to leave behind a packet for what protecting adds at most: tag and, in RTCP, the index. */
#define WEBRTC_SRTP_TRAILER_MAX 32

struct webrtc_srtp;

/* Sets libsrtp up, once in a process; takes tens of ms, so it had better be done before there is
 * anything to be late with. Returns 0 or ERR_CRYPTO. */
int webrtc_srtp_prepare(void);
/* Bytes protecting adds to an RTP packet. */
size_t webrtc_srtp_tag_bytes(enum webrtc_srtp_profile profile);
/* keys are those of webrtc_dtls_keys. Returns 0, ERR_NOMEM or ERR_CRYPTO (also for a wrong
 * length). */
int webrtc_srtp_new(struct webrtc_srtp **out, enum webrtc_srtp_profile profile, const uint8_t *keys,
                    size_t len, bool client);
void webrtc_srtp_free(struct webrtc_srtp *s);
/* Protects the packet of *len bytes in place, in a buffer with room for WEBRTC_SRTP_TRAILER_MAX
 * more. Returns 0, or ERR_CRYPTO (no RTP packet, a sequence number used before, ...). data must be
 * aligned to 4 bytes, here and below. */
int webrtc_srtp_protect(struct webrtc_srtp *s, uint8_t *data, size_t *len);
int webrtc_srtp_protect_rtcp(struct webrtc_srtp *s, uint8_t *data, size_t *len);
/* Checks and opens a packet in place. Returns 0, ERR_MALFORMED (forged, or no packet), or ERR_AGAIN
 * (it has come before, or is too old to tell). */
int webrtc_srtp_unprotect(struct webrtc_srtp *s, uint8_t *data, size_t *len);
int webrtc_srtp_unprotect_rtcp(struct webrtc_srtp *s, uint8_t *data, size_t *len);

#endif
