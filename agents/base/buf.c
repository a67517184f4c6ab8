/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/base/buf.h"

#include <string.h>

struct buf_reader buf_reader_init(const void *data, size_t len)
{
    const uint8_t *p = data;

    return (struct buf_reader){.pos = p, .end = len ? p + len : p};
}

size_t buf_left(const struct buf_reader *r)
{
    return (size_t)(r->end - r->pos);
}

const uint8_t *buf_get_bytes(struct buf_reader *r, size_t len)
{
    const uint8_t *p = r->pos;

    if (r->failed || buf_left(r) < len) {
        r->failed = true;
        r->pos = r->end;
        return NULL;
    }
    r->pos += len;
    return p;
}

/* Called with constant lengths, and for every header there is: without a loop where it is inlined.
 */
static inline __attribute__((always_inline)) uint64_t get_uint(struct buf_reader *r, size_t len)
{
    const uint8_t *p = buf_get_bytes(r, len);
    uint64_t v = 0;

    for (size_t i = 0; p && i < len; i++) {
        v = v << 8 | p[i];
    }
    return v;
}

uint8_t buf_get_u8(struct buf_reader *r)
{
    return (uint8_t)get_uint(r, 1);
}

uint16_t buf_get_u16(struct buf_reader *r)
{
    return (uint16_t)get_uint(r, 2);
}

uint32_t buf_get_u24(struct buf_reader *r)
{
    return (uint32_t)get_uint(r, 3);
}

uint32_t buf_get_u32(struct buf_reader *r)
{
    return (uint32_t)get_uint(r, 4);
}

uint64_t buf_get_u64(struct buf_reader *r)
{
    return get_uint(r, 8);
}

uint64_t buf_get_varint(struct buf_reader *r)
{
    if (r->failed || r->pos == r->end) {
        r->failed = true;
        return 0;
    }
    size_t len = (size_t)1 << (*r->pos >> 6);
    uint64_t v = get_uint(r, len);

    return v & ((UINT64_C(1) << (8 * len - 2)) - 1);
}

struct buf_writer buf_writer_init(void *data, size_t cap)
{
    uint8_t *p = data;

    return (struct buf_writer){.start = p, .pos = p, .end = cap ? p + cap : p};
}

size_t buf_len(const struct buf_writer *w)
{
    return (size_t)(w->pos - w->start);
}

size_t buf_room(const struct buf_writer *w)
{
    return w->failed ? 0 : (size_t)(w->end - w->pos);
}

void buf_put_bytes(struct buf_writer *w, const void *data, size_t len)
{
    if (buf_room(w) < len) {
        w->failed = true;
        return;
    }
    if (len) {
        memcpy(w->pos, data, len);
        w->pos += len;
    }
}

static void put_uint(struct buf_writer *w, uint64_t v, size_t len)
{
    uint8_t b[8];

    for (size_t i = 0; i < len; i++) {
        b[i] = (uint8_t)(v >> (8 * (len - 1 - i)));
    }
    buf_put_bytes(w, b, len);
}

void buf_put_u8(struct buf_writer *w, uint8_t v)
{
    put_uint(w, v, 1);
}

void buf_put_u16(struct buf_writer *w, uint16_t v)
{
    put_uint(w, v, 2);
}

void buf_put_u24(struct buf_writer *w, uint32_t v)
{
    put_uint(w, v, 3);
}

void buf_put_u32(struct buf_writer *w, uint32_t v)
{
    put_uint(w, v, 4);
}

void buf_put_u64(struct buf_writer *w, uint64_t v)
{
    put_uint(w, v, 8);
}

size_t buf_varint_len(uint64_t v)
{
    if (v > BUF_VARINT_MAX) {
        return 0;
    }
    return v < 64 ? 1 : v < 16384 ? 2 : v < (UINT64_C(1) << 30) ? 4 : 8;
}

void buf_put_varint(struct buf_writer *w, uint64_t v)
{
    size_t len = buf_varint_len(v);

    switch (len) {
    case 1: put_uint(w, v, 1); break;
    case 2: put_uint(w, v | UINT64_C(1) << 14, 2); break;
    case 4: put_uint(w, v | UINT64_C(2) << 30, 4); break;
    case 8: put_uint(w, v | UINT64_C(3) << 62, 8); break;
    default: w->failed = true;
    }
}
