/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bounded big-endian reader and writer over caller-owned bytes. Both have a sticky failure flag:
 * after the first access beyond the end every read returns 0 and every write does nothing, so a
 * parser checks once at its end. QUIC variable-length integers are those of RFC 9000 section 16. */
#ifndef AGENTS_BASE_BUF_H
#define AGENTS_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BUF_VARINT_MAX ((UINT64_C(1) << 62) - 1)

struct buf_reader {
    const uint8_t *pos, *end;
    bool failed;
};

struct buf_writer {
    uint8_t *start, *pos, *end;
    bool failed;
};

struct buf_reader buf_reader_init(const void *data, size_t len);
size_t buf_left(const struct buf_reader *r);
uint8_t buf_get_u8(struct buf_reader *r);
uint16_t buf_get_u16(struct buf_reader *r);
uint32_t buf_get_u24(struct buf_reader *r);
uint32_t buf_get_u32(struct buf_reader *r);
uint64_t buf_get_u64(struct buf_reader *r);
uint64_t buf_get_varint(struct buf_reader *r);
/* The next len bytes, borrowed from the underlying memory; NULL (and failed) if there are fewer. */
const uint8_t *buf_get_bytes(struct buf_reader *r, size_t len);

struct buf_writer buf_writer_init(void *data, size_t cap);
size_t buf_len(const struct buf_writer *w); /* bytes written so far */
size_t buf_room(const struct buf_writer *w);
void buf_put_u8(struct buf_writer *w, uint8_t v);
void buf_put_u16(struct buf_writer *w, uint16_t v);
void buf_put_u24(struct buf_writer *w, uint32_t v);
void buf_put_u32(struct buf_writer *w, uint32_t v);
void buf_put_u64(struct buf_writer *w, uint64_t v);
void buf_put_varint(struct buf_writer *w, uint64_t v); /* fails above BUF_VARINT_MAX */
void buf_put_bytes(struct buf_writer *w, const void *data, size_t len);

/* Encoded length of v: 1, 2, 4 or 8; 0 above BUF_VARINT_MAX. */
size_t buf_varint_len(uint64_t v);

#endif
