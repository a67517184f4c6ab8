/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/webrtc/demux.h"

#define RTP_BYTES_MIN 12
#define RTCP_BYTES_MIN 8

enum demux_kind demux_classify(const uint8_t *data, size_t len)
{
    uint8_t b = len ? data[0] : 255;

    if (b <= 3) {
        return DEMUX_STUN;
    }
    if (b >= 16 && b <= 19) {
        return DEMUX_ZRTP;
    }
    if (b >= 20 && b <= 63) {
        return DEMUX_DTLS;
    }
    if (b >= 64 && b <= 79) {
        return DEMUX_TURN_CHANNEL;
    }
    if (b < 128 || b > 191 || len < RTCP_BYTES_MIN) {
        return DEMUX_UNKNOWN;
    }
    /* RFC 5761 section 4: RTCP packet types, or marker bit and payload types 64..95 */
    if (data[1] >= 192 && data[1] <= 223) {
        return DEMUX_RTCP;
    }
    return len < RTP_BYTES_MIN ? DEMUX_UNKNOWN : DEMUX_RTP;
}
