/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whatever parses must be written again into something that parses to the same. */
#include "agents/rtp/rtp.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(x) ((x) ? (void)0 : abort())

static void compare(const struct rtp_packet *p, const struct rtp_packet *q)
{
    CHECK(p->marker == q->marker && p->payload_type == q->payload_type && p->seq == q->seq);
    CHECK(p->timestamp == q->timestamp && p->ssrc == q->ssrc && p->csrc_count == q->csrc_count);
    CHECK(!memcmp(p->csrc, q->csrc, p->csrc_count * sizeof p->csrc[0]));
    CHECK(p->extension_count == q->extension_count && p->padding_len == q->padding_len);
    for (size_t i = 0; i < p->extension_count; i++) {
        const struct rtp_extension *a = &p->extensions[i], *b = &q->extensions[i];
        CHECK(a->id == b->id && a->len == b->len && !memcmp(a->data, b->data, a->len));
    }
    CHECK(p->payload_len == q->payload_len && !memcmp(p->payload, q->payload, p->payload_len));
}

/* Counters are extended to what wraps to the same, next to the newest. */
static void unwrap(const uint8_t *data, size_t size)
{
    struct rtp_unwrap a = {0}, b = {0};

    for (; size >= 4; data += 4, size -= 4) {
        uint32_t v =
            (uint32_t)data[0] << 24 | (uint32_t)data[1] << 16 | (uint32_t)data[2] << 8 | data[3];
        int64_t newest = a.newest, x = rtp_unwrap16(&a, (uint16_t)v), y = rtp_unwrap32(&b, v);
        CHECK((uint16_t)x == (uint16_t)v && (uint32_t)y == v);
        CHECK(a.newest >= newest && x >= newest - 0x8000 && a.newest >= x);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rtp_packet p, q;
    /* two-byte elements where one byte was enough may add a little */
    size_t cap = size + 2 * RTP_EXTENSIONS_MAX + 4;
    uint8_t *out;
    int len;

    unwrap(data, size);
    if (rtp_parse(&p, data, size)) {
        return 0;
    }
    CHECK(p.payload >= data && p.payload + p.payload_len + p.padding_len == data + size);
    out = malloc(cap);
    CHECK(out);
    len = rtp_write(&p, out, cap);
    CHECK(len >= RTP_HEADER_BYTES && !rtp_parse(&q, out, (size_t)len));
    compare(&p, &q);
    free(out);
    return 0;
}
