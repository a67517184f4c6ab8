/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ingest/ip_packet.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* The first byte says what the link is, the others are the frame. What the parser says is there
 * must lie in the frame. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct ip_packet p;

    if (len == 0) {
        return 0;
    }
    if (ip_packet_parse(&p, data[0] & 1 ? UDP_LINK_ETHERNET : UDP_LINK_IP, data + 1, len - 1) ==
            0 &&
        (p.payload < data + 1 || p.payload + p.captured_bytes > data + len ||
         p.captured_bytes > p.payload_bytes || (!p.cut && p.captured_bytes < p.payload_bytes))) {
        abort();
    }
    return 0;
}
