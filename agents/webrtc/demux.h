/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a datagram on a WebRTC 5-tuple is: first byte by RFC 7983, RTP from RTCP by RFC 5761. */
#ifndef AGENTS_WEBRTC_DEMUX_H
#define AGENTS_WEBRTC_DEMUX_H

#include <stddef.h>
#include <stdint.h>

enum demux_kind {
    DEMUX_UNKNOWN, /* to be dropped */
    DEMUX_STUN,
    DEMUX_ZRTP,
    DEMUX_DTLS,
    DEMUX_TURN_CHANNEL,
    DEMUX_RTP,
    DEMUX_RTCP,
};

/* An RTP or RTCP datagram too short for its header (12 and 8 bytes) is DEMUX_UNKNOWN. */
enum demux_kind demux_classify(const uint8_t *data, size_t len);

#endif
