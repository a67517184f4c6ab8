/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/play/play_content.h"

#include <string.h>

#define WORD 8

/* The finisher of MurmurHash3: every bit of the argument reaches every bit of the result. */
static uint64_t mix(uint64_t x)
{
    x ^= x >> 33;
    x *= UINT64_C(0xff51afd7ed558ccd);
    x ^= x >> 33;
    x *= UINT64_C(0xc4ceb9fe1a85ec53);
    return x ^ x >> 33;
}

struct play_content play_content(uint64_t seed, int64_t player, int64_t play)
{
    return (struct play_content){mix(mix(seed) + mix((uint64_t)player << 32 | (uint64_t)play))};
}

/* The word that holds the bytes from 8 * index on, the first in its lowest bits. */
static uint64_t word(const struct play_content *c, uint64_t index)
{
    return mix(c->key + index * UINT64_C(0x9e3779b97f4a7c15));
}

void play_content_fill(const struct play_content *c, uint64_t offset, void *out, size_t len)
{
    uint8_t *p = out;

    while (len) {
        uint64_t w = word(c, offset / WORD) >> 8 * (offset % WORD);
        size_t n = WORD - offset % WORD;

        for (size_t i = 0; i < n && i < len; i++) {
            p[i] = (uint8_t)(w >> 8 * i);
        }
        n = n < len ? n : len;
        p += n;
        offset += n;
        len -= n;
    }
}

bool play_content_is(const struct play_content *c, uint64_t offset, const void *data, size_t len)
{
    const uint8_t *p = data;
    uint8_t expected[32 * WORD];

    while (len) {
        size_t n = len < sizeof expected ? len : sizeof expected;

        play_content_fill(c, offset, expected, n);
        if (memcmp(p, expected, n) != 0) {
            return false;
        }
        p += n;
        offset += n;
        len -= n;
    }
    return true;
}
