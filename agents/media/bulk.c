/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/media/bulk.h"

#include "agents/base/buf.h"
#include "agents/base/digest.h"
#include "agents/base/err.h"
#include "agents/base/prng.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_MAGIC UINT32_C(0x4d425846)  /* "MBXF" */
#define TRAILER_MAGIC UINT32_C(0x4d425845) /* "MBXE" */
#define VERSION 1
#define HEADER_BYTES 13
#define TRAILER_BYTES 12
#define MESSAGE_BYTES_MIN 64

enum stage { STAGE_HEADER, STAGE_CONTENT, STAGE_TRAILER, STAGE_OVER };

struct bulk_source {
    enum stage stage;
    int64_t size, bytes;
    size_t message_bytes;
    uint64_t key;
    struct digest *digest;
};

struct bulk_sink {
    enum stage stage;
    int64_t size, bytes;
    bool intact;
    struct digest *digest;
};

int bulk_source_new(struct bulk_source **out, uint64_t seed, int64_t size, size_t message_bytes)
{
    struct bulk_source *s;
    struct prng r;

    if (size < BULK_ENDLESS || message_bytes < MESSAGE_BYTES_MIN) {
        return ERR_CONFIG;
    }
    s = calloc(1, sizeof *s);
    if (!s) {
        return ERR_NOMEM;
    }
    s->digest = digest_new();
    if (!s->digest) {
        free(s);
        return ERR_NOMEM;
    }
    prng_init(&r, seed, "bulk");
    s->key = prng_u64(&r);
    s->size = size;
    s->message_bytes = message_bytes;
    *out = s;
    return 0;
}

void bulk_source_free(struct bulk_source *s)
{
    if (s) {
        digest_free(s->digest);
        free(s);
    }
}

/* Word n of the content: a function of key and n alone, so that the content does not depend on
 * where it is cut, and several words are worked on at once. */
static uint64_t content_word(uint64_t key, uint64_t n)
{
    uint64_t z = key + n * UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 32) * UINT64_C(0xd6e8feb86659fd93);
    z = (z ^ z >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return htole64(z ^ z >> 32);
}

/* Part of word n from its byte skip on, at most len bytes. Returns how many. */
static size_t put_part(uint8_t *out, size_t len, uint64_t key, uint64_t n, size_t skip)
{
    uint64_t word = content_word(key, n);
    size_t part = sizeof word - skip < len ? sizeof word - skip : len;

    memcpy(out, (const uint8_t *)&word + skip, part);
    return part;
}

static void put_content(uint8_t *out, size_t len, uint64_t key, uint64_t offset)
{
    uint64_t n = offset / sizeof n;

    if (offset % sizeof n) {
        size_t part = put_part(out, len, key, n++, offset % sizeof n);
        out += part;
        len -= part;
    }
    for (; len >= sizeof n; out += sizeof n, len -= sizeof n) {
        uint64_t word = content_word(key, n++);
        memcpy(out, &word, sizeof word);
    }
    if (len) {
        put_part(out, len, key, n, 0);
    }
}

static size_t next_content(struct bulk_source *s, uint8_t *out)
{
    size_t len = s->message_bytes;

    if (s->size != BULK_ENDLESS && (uint64_t)(s->size - s->bytes) < len) {
        len = (size_t)(s->size - s->bytes);
    }
    put_content(out, len, s->key, (uint64_t)s->bytes);
    digest_update(s->digest, out, len);
    s->bytes += (int64_t)len;
    if (s->bytes == s->size) {
        s->stage = STAGE_TRAILER;
    }
    return len;
}

size_t bulk_source_next(struct bulk_source *s, uint8_t *out)
{
    struct buf_writer w = buf_writer_init(out, s->message_bytes);

    switch (s->stage) {
    case STAGE_HEADER:
        buf_put_u32(&w, HEADER_MAGIC);
        buf_put_u8(&w, VERSION);
        buf_put_u64(&w, s->size == BULK_ENDLESS ? UINT64_MAX : (uint64_t)s->size);
        s->stage = s->size ? STAGE_CONTENT : STAGE_TRAILER;
        return buf_len(&w);
    case STAGE_CONTENT: return next_content(s, out);
    case STAGE_TRAILER:
        buf_put_u32(&w, TRAILER_MAGIC);
        buf_put_u64(&w, digest_value(s->digest));
        s->stage = STAGE_OVER;
        return buf_len(&w);
    case STAGE_OVER: break;
    }
    return 0;
}

bool bulk_source_done(const struct bulk_source *s)
{
    return s->stage == STAGE_OVER;
}

uint64_t bulk_source_digest(const struct bulk_source *s)
{
    return digest_value(s->digest);
}

int64_t bulk_source_bytes(const struct bulk_source *s)
{
    return s->bytes;
}

int bulk_sink_new(struct bulk_sink **out)
{
    struct bulk_sink *s = calloc(1, sizeof *s);

    if (!s) {
        return ERR_NOMEM;
    }
    s->digest = digest_new();
    if (!s->digest) {
        free(s);
        return ERR_NOMEM;
    }
    *out = s;
    return 0;
}

void bulk_sink_free(struct bulk_sink *s)
{
    if (s) {
        digest_free(s->digest);
        free(s);
    }
}

static int recv_header(struct bulk_sink *s, const uint8_t *data, size_t len)
{
    struct buf_reader r = buf_reader_init(data, len);
    uint32_t magic = buf_get_u32(&r);
    uint8_t version = buf_get_u8(&r);
    uint64_t size = buf_get_u64(&r);

    if (len != HEADER_BYTES || magic != HEADER_MAGIC || version != VERSION ||
        (size > INT64_MAX && size != UINT64_MAX)) {
        return ERR_MALFORMED;
    }
    s->size = size == UINT64_MAX ? BULK_ENDLESS : (int64_t)size;
    s->stage = s->size ? STAGE_CONTENT : STAGE_TRAILER;
    return 0;
}

static int recv_content(struct bulk_sink *s, const uint8_t *data, size_t len)
{
    int64_t left = (s->size == BULK_ENDLESS ? INT64_MAX : s->size) - s->bytes;

    if (!len || len > (uint64_t)left) {
        return ERR_MALFORMED;
    }
    digest_update(s->digest, data, len);
    s->bytes += (int64_t)len;
    if (s->bytes == s->size) {
        s->stage = STAGE_TRAILER;
    }
    return 0;
}

static int recv_trailer(struct bulk_sink *s, const uint8_t *data, size_t len)
{
    struct buf_reader r = buf_reader_init(data, len);
    uint32_t magic = buf_get_u32(&r);
    uint64_t digest = buf_get_u64(&r);

    if (len != TRAILER_BYTES || magic != TRAILER_MAGIC) {
        return ERR_MALFORMED;
    }
    s->intact = digest == digest_value(s->digest);
    s->stage = STAGE_OVER;
    return 0;
}

int bulk_sink_recv(struct bulk_sink *s, const uint8_t *data, size_t len)
{
    switch (s->stage) {
    case STAGE_HEADER: return recv_header(s, data, len);
    case STAGE_CONTENT: return recv_content(s, data, len);
    case STAGE_TRAILER: return recv_trailer(s, data, len);
    case STAGE_OVER: break;
    }
    return ERR_MALFORMED;
}

bool bulk_sink_done(const struct bulk_sink *s, bool *intact)
{
    *intact = s->intact;
    return s->stage == STAGE_OVER;
}

uint64_t bulk_sink_digest(const struct bulk_sink *s)
{
    return digest_value(s->digest);
}

int64_t bulk_sink_bytes(const struct bulk_sink *s)
{
    return s->bytes;
}
