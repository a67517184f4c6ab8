/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/webrtc/dcep.h"

#include "agents/base/buf.h"
#include "agents/base/err.h"

#include <string.h>

static bool channel_known(enum dcep_channel c)
{
    return c == DCEP_RELIABLE || c == DCEP_RETRANSMIT_LIMIT || c == DCEP_LIFETIME;
}

/* Copies len bytes as a text; refuses one too long or with a NUL in it. */
static int take_text(struct buf_reader *r, size_t len, char *out)
{
    const uint8_t *text = buf_get_bytes(r, len);

    if (!text || len > DCEP_TEXT_MAX || memchr(text, 0, len)) {
        return ERR_MALFORMED;
    }
    memcpy(out, text, len);
    out[len] = '\0';
    return 0;
}

static int parse_open(struct dcep_open *open, struct buf_reader *r)
{
    uint8_t channel = buf_get_u8(r);
    uint16_t label_len, protocol_len;

    *open = (struct dcep_open){
        .channel = (enum dcep_channel)(channel & ~DCEP_UNORDERED),
        .unordered = channel & DCEP_UNORDERED,
        .priority = buf_get_u16(r),
    };
    open->reliability = buf_get_u32(r);
    label_len = buf_get_u16(r);
    protocol_len = buf_get_u16(r);
    if (r->failed || !channel_known(open->channel) ||
        buf_left(r) != (size_t)label_len + protocol_len) {
        return ERR_MALFORMED;
    }
    if (open->channel == DCEP_RELIABLE) {
        open->reliability = 0; /* RFC 8832 section 5.1: ignored */
    }
    if (take_text(r, label_len, open->label) || take_text(r, protocol_len, open->protocol)) {
        return ERR_MALFORMED;
    }
    return DCEP_OPEN;
}

int dcep_parse(struct dcep_open *open, const uint8_t *data, size_t len)
{
    struct buf_reader r = buf_reader_init(data, len);

    switch (buf_get_u8(&r)) {
    case DCEP_OPEN: return parse_open(open, &r);
    case DCEP_ACK: return len == 1 ? DCEP_ACK : ERR_MALFORMED;
    default: return ERR_MALFORMED;
    }
}

int dcep_write_open(const struct dcep_open *open, uint8_t *out, size_t cap)
{
    struct buf_writer w = buf_writer_init(out, cap);
    size_t label_len = strnlen(open->label, sizeof open->label);
    size_t protocol_len = strnlen(open->protocol, sizeof open->protocol);

    if (!channel_known(open->channel) || label_len > DCEP_TEXT_MAX ||
        protocol_len > DCEP_TEXT_MAX) {
        return ERR_MALFORMED;
    }
    buf_put_u8(&w, DCEP_OPEN);
    buf_put_u8(&w, (uint8_t)(open->channel | (open->unordered ? DCEP_UNORDERED : 0)));
    buf_put_u16(&w, open->priority);
    buf_put_u32(&w, open->channel == DCEP_RELIABLE ? 0 : open->reliability);
    buf_put_u16(&w, (uint16_t)label_len);
    buf_put_u16(&w, (uint16_t)protocol_len);
    buf_put_bytes(&w, open->label, label_len);
    buf_put_bytes(&w, open->protocol, protocol_len);
    return w.failed ? ERR_SPACE : (int)buf_len(&w);
}

int dcep_write_ack(uint8_t *out, size_t cap)
{
    if (!cap) {
        return ERR_SPACE;
    }
    out[0] = DCEP_ACK;
    return 1;
}
