/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An RTP packet is wrapped into a retransmission and unwrapped again; then taken as a
 * retransmission itself. Its bytes are also what is asked of a history of sent packets: what is
 * given out is what was put in. */
#include "agents/rtp/rtx.h"

#include "agents/base/err.h"

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

/* Of each byte of the input the low bits say how far the numbers move and the high ones what
 * happens. A packet's bytes are all its number. */
static void ask(const uint8_t *data, size_t size)
{
    const struct rtx_history_config none = {0}, cfg = {.packets_max = 20, .age_max = 50};
    struct rtx_history *h = NULL;
    uint8_t packet[RTX_PACKET_BYTES_MAX + 1];
    uint16_t seq = 65500;

    CHECK(rtx_history_new(&h, &none) == ERR_CONFIG && rtx_history_new(&h, &cfg) == 0);
    for (size_t i = 0; i < size; i++) {
        const uint8_t *kept = NULL;
        size_t len = (size_t)(data[i] >> 5) * 250 + 1;

        if (data[i] & 0x10) {
            kept = data[i] & 8 ? rtx_history_padding(h, (ns_t)i, &len)
                               : rtx_history_resend(h, (uint16_t)(seq - (data[i] & 7)),
                                                    data[i] >> 5, (ns_t)i, &len);
            CHECK(!kept || (len <= RTX_PACKET_BYTES_MAX && kept[0] == kept[len - 1]));
            continue;
        }
        seq = (uint16_t)(seq + (data[i] & 15) - 2);
        memset(packet, seq & 0xff, sizeof packet);
        CHECK(rtx_history_put(h, seq, packet, len, (ns_t)i) ==
              (len > RTX_PACKET_BYTES_MAX ? ERR_SPACE : 0));
        kept = len > RTX_PACKET_BYTES_MAX ? NULL : rtx_history_resend(h, seq, 0, (ns_t)i, &len);
        CHECK(!kept || kept[0] == (seq & 0xff));
    }
    rtx_history_free(h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rtp_packet p;

    ask(data, size);
    if (rtp_parse(&p, data, size)) {
        return 0;
    }
    wrap(&p);
    if (!rtx_restore(&p, 5, 6)) {
        CHECK(p.payload + p.payload_len + p.padding_len == data + size);
    }
    return 0;
}
