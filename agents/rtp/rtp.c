/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/rtp/rtp.h"

#include "agents/base/buf.h"
#include "agents/base/err.h"

#include <string.h>

/* RFC 8285 sections 4.2 and 4.3 */
#define PROFILE_ONE_BYTE 0xbede
#define PROFILE_TWO_BYTE 0x1000
#define PROFILE_TWO_BYTE_MASK 0xfff0
#define ONE_BYTE_ID_STOP 15
#define ONE_BYTE_ID_MAX 14
#define ONE_BYTE_LEN_MAX 16

static int add_extension(struct rtp_packet *p, struct buf_reader *r, uint8_t id, uint8_t len)
{
    const uint8_t *data = buf_get_bytes(r, len);

    if (!data || p->extension_count == RTP_EXTENSIONS_MAX) {
        return ERR_MALFORMED;
    }
    p->extensions[p->extension_count++] =
        (struct rtp_extension){.id = id, .len = len, .data = data};
    return 0;
}

static int parse_one_byte(struct rtp_packet *p, struct buf_reader *r)
{
    while (buf_left(r)) {
        uint8_t b = buf_get_u8(r);
        uint8_t id = b >> 4;
        int rv;

        if (!b) {
            continue; /* padding */
        }
        if (!id || id == ONE_BYTE_ID_STOP) {
            return 0; /* ends the extension; what came before it stands */
        }
        rv = add_extension(p, r, id, (uint8_t)((b & 15) + 1));
        if (rv) {
            return rv;
        }
    }
    return 0;
}

static int parse_two_byte(struct rtp_packet *p, struct buf_reader *r)
{
    while (buf_left(r)) {
        uint8_t id = buf_get_u8(r), len;
        int rv;

        if (!id) {
            continue;
        }
        len = buf_get_u8(r);
        rv = r->failed ? ERR_MALFORMED : add_extension(p, r, id, len);
        if (rv) {
            return rv;
        }
    }
    return 0;
}

static int parse_extensions(struct rtp_packet *p, struct buf_reader *r)
{
    uint16_t profile = buf_get_u16(r);
    size_t len = 4 * (size_t)buf_get_u16(r);
    const uint8_t *data = buf_get_bytes(r, len);
    struct buf_reader elements;

    if (!data) {
        return ERR_MALFORMED;
    }
    elements = buf_reader_init(data, len);
    if (profile == PROFILE_ONE_BYTE) {
        return parse_one_byte(p, &elements);
    }
    if ((profile & PROFILE_TWO_BYTE_MASK) == PROFILE_TWO_BYTE) {
        return parse_two_byte(p, &elements);
    }
    return 0; /* some other profile's: skipped as a whole */
}

int rtp_parse(struct rtp_packet *p, const uint8_t *data, size_t len)
{
    struct buf_reader r = buf_reader_init(data, len);
    uint8_t b0 = buf_get_u8(&r), b1 = buf_get_u8(&r);

    if (b0 >> 6 != 2) {
        return ERR_MALFORMED;
    }
    p->csrc_count = b0 & 15;
    p->marker = b1 >> 7;
    p->payload_type = b1 & 0x7f;
    p->seq = buf_get_u16(&r);
    p->timestamp = buf_get_u32(&r);
    p->ssrc = buf_get_u32(&r);
    for (size_t i = 0; i < p->csrc_count; i++) {
        p->csrc[i] = buf_get_u32(&r);
    }
    p->extension_count = 0;
    if (b0 & 0x10) {
        int rv = parse_extensions(p, &r);
        if (rv) {
            return rv;
        }
    }
    p->padding_len = 0;
    if (b0 & 0x20) {
        if (!buf_left(&r) || !r.end[-1] || r.end[-1] > buf_left(&r)) {
            return ERR_MALFORMED;
        }
        p->padding_len = r.end[-1];
    }
    p->payload = r.pos;
    p->payload_len = buf_left(&r) - p->padding_len;
    return r.failed ? ERR_MALFORMED : 0;
}

static bool fits_one_byte(const struct rtp_extension *e)
{
    return e->id >= 1 && e->id <= ONE_BYTE_ID_MAX && e->len >= 1 && e->len <= ONE_BYTE_LEN_MAX;
}

static void write_extensions(const struct rtp_packet *p, struct buf_writer *w)
{
    bool one_byte = true;
    size_t len = 0;

    for (size_t i = 0; i < p->extension_count; i++) {
        one_byte = one_byte && fits_one_byte(&p->extensions[i]);
        len += p->extensions[i].len;
    }
    len += p->extension_count * (one_byte ? 1u : 2u);
    buf_put_u16(w, one_byte ? PROFILE_ONE_BYTE : PROFILE_TWO_BYTE);
    buf_put_u16(w, (uint16_t)((len + 3) / 4));
    for (size_t i = 0; i < p->extension_count; i++) {
        const struct rtp_extension *e = &p->extensions[i];
        if (one_byte) {
            buf_put_u8(w, (uint8_t)(e->id << 4 | (e->len - 1)));
        } else {
            buf_put_u8(w, e->id);
            buf_put_u8(w, e->len);
        }
        buf_put_bytes(w, e->data, e->len);
    }
    for (; len % 4; len++) {
        buf_put_u8(w, 0);
    }
}

static bool in_range(const struct rtp_packet *p)
{
    bool ok = p->payload_type <= 127 && p->csrc_count <= RTP_CSRC_MAX &&
              p->extension_count <= RTP_EXTENSIONS_MAX;

    for (size_t i = 0; ok && i < p->extension_count; i++) {
        ok = p->extensions[i].id != 0;
    }
    return ok;
}

int rtp_write(const struct rtp_packet *p, uint8_t *out, size_t cap)
{
    struct buf_writer w = buf_writer_init(out, cap);

    if (!in_range(p)) {
        return ERR_MALFORMED;
    }
    buf_put_u8(&w, (uint8_t)(0x80 | (p->padding_len ? 0x20 : 0) | (p->extension_count ? 0x10 : 0) |
                             p->csrc_count));
    buf_put_u8(&w, (uint8_t)((p->marker ? 0x80 : 0) | p->payload_type));
    buf_put_u16(&w, p->seq);
    buf_put_u32(&w, p->timestamp);
    buf_put_u32(&w, p->ssrc);
    for (size_t i = 0; i < p->csrc_count; i++) {
        buf_put_u32(&w, p->csrc[i]);
    }
    if (p->extension_count) {
        write_extensions(p, &w);
    }
    buf_put_bytes(&w, p->payload, p->payload_len);
    for (uint8_t i = 1; i <= p->padding_len && i; i++) {
        buf_put_u8(&w, i == p->padding_len ? i : 0);
    }
    return w.failed ? ERR_SPACE : (int)buf_len(&w);
}

/* The value nearest to newest whose low bits are v; delta is v's distance, sign extended. */
static int64_t unwrap(struct rtp_unwrap *u, int64_t v, int64_t delta)
{
    int64_t extended = u->started ? u->newest + delta : v;

    if (!u->started || extended > u->newest) {
        u->newest = extended;
    }
    u->started = true;
    return extended;
}

int64_t rtp_unwrap16(struct rtp_unwrap *u, uint16_t v)
{
    return unwrap(u, v, (int16_t)(uint16_t)(v - (uint16_t)u->newest));
}

int64_t rtp_unwrap32(struct rtp_unwrap *u, uint32_t v)
{
    return unwrap(u, v, (int32_t)(v - (uint32_t)u->newest));
}
