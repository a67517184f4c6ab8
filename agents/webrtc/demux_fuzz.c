/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is called RTP or RTCP must have the header its parser wants, in an allocation of its own
 * size.
 */
#include "agents/webrtc/demux.h"

#include "agents/rtp/rtcp.h"
#include "agents/rtp/rtp.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(x) ((x) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rtp_packet p;

    switch (demux_classify(data, size)) {
    case DEMUX_RTP: CHECK(size >= RTP_HEADER_BYTES && data[0] >> 6 == 2); break;
    case DEMUX_RTCP: CHECK(size >= RTCP_HEADER_BYTES && data[1] >= RTCP_SR - 8); break;
    case DEMUX_STUN: CHECK(data[0] <= 3); break;
    case DEMUX_DTLS: CHECK(data[0] >= 20 && data[0] <= 63); break;
    default: CHECK(rtp_parse(&p, data, size)); break;
    }
    return 0;
}
