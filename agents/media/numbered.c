/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/media/numbered.h"

#include "agents/base/buf.h"
#include "agents/base/digest.h"
#include "agents/base/err.h"
#include "agents/base/prng.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC UINT32_C(0x4d42584e) /* "MBXN" */
#define VERSION 1
#define FLAG_LAST 1
#define HEADER_BYTES 14
#define DIGEST_BYTES 8
#define OVERHEAD_BYTES (HEADER_BYTES + DIGEST_BYTES)
#define NUMBER_MAX (UINT64_C(1) << 24)
#define WORDS_FIRST 64

struct numbered_source {
    int64_t size, bytes;
    size_t message_bytes;
    uint64_t key, number, digest;
    bool done;
};

struct numbered_sink {
    uint64_t *seen; /* a bit per number */
    size_t words;
    uint64_t count, highest, last, digest; /* last: the number flagged so */
    bool last_known;
    int64_t bytes;
};

int numbered_source_new(struct numbered_source **out, uint64_t seed, int64_t size,
                        size_t message_bytes)
{
    struct numbered_source *s;
    struct prng r;

    if (size < NUMBERED_ENDLESS || message_bytes < NUMBERED_MESSAGE_MIN) {
        return ERR_CONFIG;
    }
    s = calloc(1, sizeof *s);
    if (!s) {
        return ERR_NOMEM;
    }
    prng_init(&r, seed, "numbered");
    s->key = prng_u64(&r);
    s->size = size;
    s->message_bytes = message_bytes;
    *out = s;
    return 0;
}

void numbered_source_free(struct numbered_source *s)
{
    free(s);
}

/* Independent words from a counter, the same on every machine. */
static void put_content(uint8_t *out, size_t len, uint64_t key)
{
    for (size_t i = 0; i < len; i += sizeof key) {
        uint64_t z = (key ^ key >> 32) * UINT64_C(0xd6e8feb86659fd93);
        uint64_t word = htole64(z ^ z >> 29);
        memcpy(out + i, &word, len - i < sizeof word ? len - i : sizeof word);
        key += UINT64_C(0x9e3779b97f4a7c15);
    }
}

size_t numbered_source_next(struct numbered_source *s, uint8_t *out)
{
    struct buf_writer w = buf_writer_init(out, s->message_bytes);
    size_t content = s->message_bytes - OVERHEAD_BYTES;
    uint64_t digest;

    if (s->done) {
        return 0;
    }
    if (s->size != NUMBERED_ENDLESS && (uint64_t)(s->size - s->bytes) <= content) {
        content = (size_t)(s->size - s->bytes);
        s->done = true;
    }
    buf_put_u32(&w, MAGIC);
    buf_put_u8(&w, VERSION);
    buf_put_u8(&w, s->done ? FLAG_LAST : 0);
    buf_put_u64(&w, s->number);
    put_content(w.pos, content, s->key + s->number * UINT64_C(0xda942042e4dd58b5));
    digest = digest64(out, HEADER_BYTES + content);
    w = buf_writer_init(out + HEADER_BYTES + content, DIGEST_BYTES);
    buf_put_u64(&w, digest);
    s->digest ^= digest; /* in any order the same */
    s->number++;
    s->bytes += (int64_t)content;
    return OVERHEAD_BYTES + content;
}

bool numbered_source_done(const struct numbered_source *s)
{
    return s->done;
}

int64_t numbered_source_bytes(const struct numbered_source *s)
{
    return s->bytes;
}

uint64_t numbered_source_digest(const struct numbered_source *s)
{
    return s->digest;
}

/* ---- sink ---- */

int numbered_sink_new(struct numbered_sink **out)
{
    *out = calloc(1, sizeof **out);
    return *out ? 0 : ERR_NOMEM;
}

void numbered_sink_free(struct numbered_sink *s)
{
    if (s) {
        free(s->seen);
        free(s);
    }
}

static int make_room(struct numbered_sink *s, uint64_t number)
{
    size_t words = s->words ? s->words : WORDS_FIRST;
    uint64_t *seen;

    while (number / 64 >= words) {
        words *= 2;
    }
    if (words == s->words) {
        return 0;
    }
    seen = realloc(s->seen, words * sizeof *seen);
    if (!seen) {
        return ERR_NOMEM;
    }
    memset(seen + s->words, 0, (words - s->words) * sizeof *seen);
    s->seen = seen;
    s->words = words;
    return 0;
}

/* Does the number go together with what has come before? */
static bool number_fits(const struct numbered_sink *s, uint64_t number, bool last)
{
    bool seen = number / 64 < s->words && s->seen[number / 64] >> number % 64 & 1;

    if (seen || (s->last_known && (last || number > s->last))) {
        return false;
    }
    return !last || !s->count || number > s->highest;
}

int64_t numbered_number(const uint8_t *data, size_t len)
{
    struct buf_reader r = buf_reader_init(data, len);

    int64_t number;

    buf_get_bytes(&r, HEADER_BYTES - sizeof(uint64_t));
    number = (int64_t)(buf_get_u64(&r) & INT64_MAX);
    return r.failed ? -1 : number;
}

int numbered_sink_recv(struct numbered_sink *s, const uint8_t *data, size_t len)
{
    struct buf_reader r = buf_reader_init(data, len);
    uint32_t magic = buf_get_u32(&r);
    uint8_t version = buf_get_u8(&r), flags = buf_get_u8(&r);
    uint64_t number = buf_get_u64(&r), digest;
    bool last = flags & FLAG_LAST;
    int rv;

    if (len < OVERHEAD_BYTES || magic != MAGIC || version != VERSION || flags & ~FLAG_LAST) {
        return ERR_MALFORMED;
    }
    buf_get_bytes(&r, len - OVERHEAD_BYTES);
    digest = buf_get_u64(&r);
    if (digest != digest64(data, len - DIGEST_BYTES) || !number_fits(s, number, last)) {
        return ERR_MALFORMED;
    }
    rv = number > NUMBER_MAX ? ERR_LIMIT : make_room(s, number);
    if (rv) {
        return rv;
    }
    s->seen[number / 64] |= UINT64_C(1) << number % 64;
    s->highest = !s->count || number > s->highest ? number : s->highest;
    s->count++;
    s->bytes += (int64_t)(len - OVERHEAD_BYTES);
    s->digest ^= digest;
    if (last) {
        s->last_known = true;
        s->last = number;
    }
    return 0;
}

bool numbered_sink_done(const struct numbered_sink *s)
{
    return s->last_known && s->count == s->last + 1;
}

int64_t numbered_sink_bytes(const struct numbered_sink *s)
{
    return s->bytes;
}

uint64_t numbered_sink_digest(const struct numbered_sink *s)
{
    return s->digest;
}

uint64_t numbered_sink_missing(const struct numbered_sink *s)
{
    return s->count ? s->highest + 1 - s->count : 0;
}
