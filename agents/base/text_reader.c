/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agents/base/text_reader.h"

#include "agents/base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct text_reader text_reader_init(const char *text, size_t len, char *message, size_t message_len)
{
    const char *start = len ? text : "";

    return (struct text_reader){.pos = start,
                                .end = start + len,
                                .line = start,
                                .line_number = 1,
                                .message = message,
                                .message_len = message_len};
}

int text_reader_refuse(struct text_reader *r, const char *at, const char *format, ...)
{
    int used = snprintf(r->message, r->message_len, "%zu:%zu: ", r->line_number,
                        (size_t)(at - r->line) + 1);
    va_list args;

    if (used > 0 && (size_t)used < r->message_len) {
        va_start(args, format);
        vsnprintf(r->message + used, r->message_len - (size_t)used, format, args);
        va_end(args);
    }
    return ERR_MALFORMED;
}

void text_reader_skip_blanks(struct text_reader *r)
{
    while (r->pos < r->end && (*r->pos == ' ' || *r->pos == '\t' || *r->pos == '\r')) {
        r->pos++;
    }
}

bool text_reader_at_line_end(const struct text_reader *r)
{
    return r->pos == r->end || *r->pos == '\n' || *r->pos == '#';
}

bool text_reader_next_line(struct text_reader *r, bool first)
{
    for (;; first = false) {
        if (!first) {
            const char *eol = memchr(r->pos, '\n', (size_t)(r->end - r->pos));

            if (!eol) {
                r->pos = r->end;
                return false;
            }
            r->pos = r->line = eol + 1;
            r->line_number++;
        }
        text_reader_skip_blanks(r);
        if (!text_reader_at_line_end(r)) {
            return true;
        }
    }
}
