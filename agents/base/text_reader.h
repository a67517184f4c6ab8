/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a text of small lines in memory: blanks (space, tab, carriage return) mean nothing, and so
 * does what stands behind a '#'. What is refused is said with line and column, both from 1. */
#ifndef AGENTS_BASE_TEXT_READER_H
#define AGENTS_BASE_TEXT_READER_H

#include <stdbool.h>
#include <stddef.h>

struct text_reader {
    const char *pos, *end, *line; /* of the caller's text, which need not end with a zero byte */
    size_t line_number;
    char *message;
    size_t message_len;
};

/* text may be NULL when len is 0. message takes what text_reader_refuse says. */
struct text_reader text_reader_init(const char *text, size_t len, char *message,
                                    size_t message_len);
/* Writes "line:column: " and the reason to the message, cut to fit; at lies in the current line.
 * Returns ERR_MALFORMED, so that a caller can return it. */
int text_reader_refuse(struct text_reader *r, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void text_reader_skip_blanks(struct text_reader *r);
/* Whether nothing that says something is left of the line; blanks are not skipped. */
bool text_reader_at_line_end(const struct text_reader *r);
/* Goes to the next line that says something, or with first to the current one if it does, and
 * leaves pos at its first word; false at the end of the text. */
bool text_reader_next_line(struct text_reader *r, bool first);

#endif
