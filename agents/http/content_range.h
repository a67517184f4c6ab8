/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The field Content-Range of an HTTP response to a range request (RFC 9110 section 14.4). */
#ifndef AGENTS_HTTP_CONTENT_RANGE_H
#define AGENTS_HTTP_CONTENT_RANGE_H

#include <stddef.h>
#include <stdint.h>

struct content_range {
    int64_t first, last; /* bytes of the whole that the response holds, both included */
    int64_t total;       /* of the whole; -1: the server does not say ("*") */
};

/* Parses one line of a response's header, with or without its line end. Returns 1 when it is the
 * field and out is filled; 0 when it is another line; ERR_MALFORMED when it is the field but holds
 * no range of bytes with first <= last < total. */
int content_range_parse(struct content_range *out, const char *line, size_t len);

#endif
