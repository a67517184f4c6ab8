/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/webrtc/sdp_parser.h"

#include "agents/base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

bool sdp_is(struct sdp_slice s, const char *text)
{
    return s.n == strlen(text) && !strncasecmp(s.p, text, s.n);
}

struct sdp_slice sdp_cut(struct sdp_slice *rest, char separator)
{
    const char *at = rest->n ? memchr(rest->p, separator, rest->n) : NULL;
    struct sdp_slice word = *rest;

    if (!at) {
        rest->n = 0;
        return word;
    }
    word.n = (size_t)(at - rest->p);
    rest->p += word.n + 1;
    rest->n -= word.n + 1;
    return word;
}

struct sdp_slice sdp_next_word(struct sdp_slice *rest)
{
    while (rest->n && *rest->p == ' ') {
        rest->p++;
        rest->n--;
    }
    return sdp_cut(rest, ' ');
}

bool sdp_number(struct sdp_slice s, uint64_t max, uint64_t *out)
{
    uint64_t v = 0;

    for (size_t i = 0; i < s.n; i++) {
        unsigned digit = (unsigned char)s.p[i] - '0';

        if (digit > 9 || v > (max - digit) / 10) {
            return false;
        }
        v = 10 * v + digit;
    }
    *out = v;
    return s.n > 0;
}

__attribute__((format(printf, 2, 3))) int sdp_fail(struct sdp_parser *p, const char *format, ...)
{
    char text[MESSAGE_MAX - 24];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return message_set(p->message, ERR_MALFORMED, "line %u: %s", p->line, text);
}

int sdp_bad_number(struct sdp_parser *p, const char *what, uint64_t max)
{
    return sdp_fail(p, "bad %s; allowed: 0 to %llu", what, (unsigned long long)max);
}

int sdp_copy(struct sdp_parser *p, const char *what, struct sdp_slice s, char *out, size_t max)
{
    if (!s.n || s.n > max) {
        return sdp_fail(p, "%s of %zu bytes; allowed: 1 to %zu", what, s.n, max);
    }
    memcpy(out, s.p, s.n);
    out[s.n] = '\0';
    return 0;
}
