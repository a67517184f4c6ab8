/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An RTP packet is wrapped into a retransmission and unwrapped again; then taken as a
 * retransmission itself. */
#include "agents/rtp/rtx.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(x) ((x) ? (void)0 : abort())

static void wrap(const struct rtp_packet *p)
{
    struct rtx_stream s = {.ssrc = 1, .payload_type = 97, .next_seq = 65535};
    struct rtp_packet q;
    uint8_t out[2000];
    int len = rtx_write(&s, p, out, sizeof out);

    if (len < 0) {
        CHECK(s.next_seq == 65535);
        return;
    }
    CHECK(s.next_seq == 0 && !rtp_parse(&q, out, (size_t)len) && q.ssrc == 1 && q.seq == 65535);
    CHECK(!rtx_restore(&q, p->ssrc, p->payload_type));
    CHECK(q.ssrc == p->ssrc && q.seq == p->seq && q.timestamp == p->timestamp);
    CHECK(q.payload_type == p->payload_type && q.marker == p->marker && !q.padding_len);
    CHECK(q.extension_count == p->extension_count && q.payload_len == p->payload_len);
    CHECK(!memcmp(q.payload, p->payload, p->payload_len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rtp_packet p;

    if (rtp_parse(&p, data, size)) {
        return 0;
    }
    wrap(&p);
    if (!rtx_restore(&p, 5, 6)) {
        CHECK(p.payload + p.payload_len + p.padding_len == data + size);
    }
    return 0;
}
