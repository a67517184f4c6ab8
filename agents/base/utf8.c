/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/base/utf8.h"

#include <stddef.h>
#include <stdint.h>

/* First bytes and what their second byte may be; further ones are 80..BF (RFC 3629 section 4). */
static const struct form {
    uint8_t first_lo, first_hi, second_lo, second_hi;
    size_t len;
} forms[] = {
    {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
    {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
    {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

/* Bytes of the well-formed sequence that p begins with, 0 for none. The text's final zero is no
 * continuation, so nothing beyond it is looked at. */
static size_t sequence(const uint8_t *p)
{
    if (*p < 0x80) {
        return 1;
    }
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        const struct form *f = &forms[i];
        size_t n = 2;

        if (*p < f->first_lo || *p > f->first_hi) {
            continue;
        }
        if (p[1] < f->second_lo || p[1] > f->second_hi) {
            return 0;
        }
        while (n < f->len && p[n] >= 0x80 && p[n] <= 0xbf) {
            n++;
        }
        return n == f->len ? n : 0;
    }
    return 0;
}

void utf8_repair(char *text)
{
    uint8_t *p = (uint8_t *)text;

    while (*p) {
        size_t n = sequence(p);

        if (!n) {
            *p = '?';
            n = 1;
        }
        p += n;
    }
}
