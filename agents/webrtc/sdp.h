/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Session descriptions (RFC 8866) as WebRTC end points exchange them (RFC 8829, RFC 8843 BUNDLE,
 * RFC 8839 ICE, RFC 8122 and 8842 DTLS, RFC 8841 SCTP, RFC 8285 extmap): what this project's agent
 * must know of a peer, and what it must say. Attributes outside that are skipped when reading.
 *
 * Session-level ICE credentials, fingerprints and setup are copied into every media section that
 * has none of its own, so that readers look in one place only. */
#ifndef AGENTS_WEBRTC_SDP_H
#define AGENTS_WEBRTC_SDP_H

#include "agents/base/addr.h"
#include "agents/base/message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SDP_BYTES_MAX 65536
#define SDP_MEDIA_MAX 8
#define SDP_CODECS_MAX 64
#define SDP_EXTENSIONS_MAX 24
#define SDP_SSRCS_MAX 8
#define SDP_CANDIDATES_MAX 16
#define SDP_TOKEN_MAX 32 /* mid, codec name, foundation, candidate type */
#define SDP_ICE_MAX 256
#define SDP_TEXT_MAX 255 /* fmtp, extension URI, cname */
#define SDP_FINGERPRINT_BYTES 32
#define SDP_MESSAGE_SIZE_DEFAULT 65536 /* RFC 8841 section 6.1 */

enum sdp_kind { SDP_AUDIO, SDP_VIDEO, SDP_DATA, SDP_OTHER };
enum sdp_direction { SDP_SENDRECV, SDP_SENDONLY, SDP_RECVONLY, SDP_INACTIVE };
enum sdp_setup { SDP_SETUP_NONE, SDP_ACTPASS, SDP_ACTIVE, SDP_PASSIVE };

/* Bits of sdp_codec.feedback: rtcp-fb values we know. */
enum sdp_feedback {
    SDP_FB_NACK = 1,         /* nack */
    SDP_FB_PLI = 2,          /* nack pli */
    SDP_FB_FIR = 4,          /* ccm fir */
    SDP_FB_TRANSPORT_CC = 8, /* transport-cc */
    SDP_FB_REMB = 16,        /* goog-remb */
    SDP_FB_CCFB = 32,        /* ack ccfb */
};

struct sdp_codec {
    uint8_t payload_type;
    char name[SDP_TOKEN_MAX + 1]; /* empty: no rtpmap was given */
    uint32_t clock_hz;
    uint8_t channels;  /* 1 unless given */
    unsigned feedback; /* those for this payload type and for all ("*") */
    char fmtp[SDP_TEXT_MAX + 1];
};

struct sdp_extension {
    uint8_t id; /* 1..255 */
    char uri[SDP_TEXT_MAX + 1];
};

struct sdp_ssrc {
    uint32_t ssrc;
    uint32_t rtx; /* its retransmission stream (ssrc-group:FID); 0 for none */
    char cname[SDP_TEXT_MAX + 1];
};

struct sdp_candidate {
    char foundation[SDP_TOKEN_MAX + 1];
    uint16_t component;
    bool tcp;
    uint32_t priority;
    struct addr addr;             /* family 0: a host name (mDNS); the port is set all the same */
    char type[SDP_TOKEN_MAX + 1]; /* host, srflx, prflx, relay */
};

/* How to reach a section: ICE credentials and DTLS identity. */
struct sdp_transport {
    char ice_ufrag[SDP_ICE_MAX + 1], ice_pwd[SDP_ICE_MAX + 1]; /* empty: none */
    enum sdp_setup setup;
    bool has_fingerprint; /* a sha-256 one; others are skipped */
    uint8_t fingerprint[SDP_FINGERPRINT_BYTES];
};

struct sdp_media {
    enum sdp_kind kind;
    /* first and third word of the m= line; when writing, empty stands for what is usual */
    char type[SDP_TOKEN_MAX + 1], protocol[SDP_TOKEN_MAX + 1];
    uint16_t port;             /* 0 without bundle_only: rejected */
    bool bundle_only, bundled; /* bundled: named in a=group:BUNDLE */
    char mid[SDP_TOKEN_MAX + 1];
    char msid[SDP_TEXT_MAX + 1]; /* "stream track" (RFC 8830); empty: none, or too long to keep */
    enum sdp_direction direction;
    struct sdp_transport transport;
    bool rtcp_mux, rtcp_reduced_size;

    uint8_t codec_count, extension_count, ssrc_count, candidate_count;
    struct sdp_codec codecs[SDP_CODECS_MAX]; /* in order of preference */
    struct sdp_extension extensions[SDP_EXTENSIONS_MAX];
    struct sdp_ssrc ssrcs[SDP_SSRCS_MAX];
    struct sdp_candidate candidates[SDP_CANDIDATES_MAX];

    uint16_t sctp_port;         /* SDP_DATA: 0 if absent */
    uint64_t max_message_bytes; /* SDP_DATA; 0: no limit */
};

/* About 230 kB: keep it on the heap. */
struct sdp {
    uint64_t session_id, session_version;
    bool ice_lite;
    uint8_t media_count;
    struct sdp_media media[SDP_MEDIA_MAX];
};

/* Reads a description; lines end in LF or CRLF. Returns 0, or ERR_MALFORMED with "line N: what is
 * wrong; what is allowed" in message. Too many codecs or media sections are errors; extensions,
 * ssrcs and candidates beyond our maxima are skipped. */
int sdp_parse(struct sdp *s, const char *text, size_t len, struct message *message);
/* Writes a description of s with CRLF and a final NUL. Returns its length, ERR_SPACE, or
 * ERR_MALFORMED for what cannot be written (a count or number out of range, a text with line
 * breaks).
 */
int sdp_write(const struct sdp *s, char *out, size_t cap);

/* NULL if there is none. */
const struct sdp_codec *sdp_find_codec(const struct sdp_media *m, const char *name);
/* The retransmission format of a payload type (fmtp apt=). */
const struct sdp_codec *sdp_find_rtx(const struct sdp_media *m, uint8_t payload_type);
/* 0 if there is none. */
uint8_t sdp_find_extension(const struct sdp_media *m, const char *uri);

#endif
