/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ingest/csv_row.h"

#include "agents/base/err.h"

#include <stdio.h>
#include <string.h>

#define HEADER_BYTES 512 /* more than any header has */
#define PLAIN_DIGITS 19  /* cannot overflow 64 bits without a sign */

int csv_row_refuse(const struct csv_row *c, const char *what)
{
    return fault_set(c->fault, ERR_MALFORMED, "%s:%zu:%zu: %s", c->file, c->line_number,
                     (size_t)(c->pos - c->line) + 1, what);
}

static int expect_text(struct csv_row *c, const char *text)
{
    size_t len = strlen(text);

    if ((size_t)(c->end - c->pos) < len || memcmp(c->pos, text, len) != 0) {
        return fault_set(c->fault, ERR_MALFORMED, "%s:%zu:%zu: the header should go on with \"%s\"",
                         c->file, c->line_number, (size_t)(c->pos - c->line) + 1, text);
    }
    c->pos += len;
    return 0;
}

static int end_cell(struct csv_row *c, char separator)
{
    if (c->pos == c->end) {
        return csv_row_refuse(c, "the file is cut off within a line");
    }
    if (*c->pos != separator) {
        return csv_row_refuse(c,
                              separator == ',' ? "expected ','" : "expected the end of the line");
    }
    c->pos++;
    if (separator == '\n') {
        c->line = c->pos;
        c->line_number++;
    }
    return 0;
}

int csv_row_header(struct csv_row *c)
{
    size_t columns = c->columns;
    int rc = 0;

    if (c->schema->has_name && ((rc = expect_text(c, "name")) || (rc = end_cell(c, ',')))) {
        return rc;
    }
    for (size_t i = 0; i < columns && !rc; i++) {
        rc = expect_text(c, c->schema->columns[i]);
        if (!rc) {
            rc = end_cell(c, i + 1 < columns ? ',' : '\n');
        }
    }
    return rc;
}

static int parse_name(struct csv_row *c, char *out)
{
    const char *start = c->pos;
    size_t len;

    while (c->pos < c->end && *c->pos != ',' && *c->pos != '\n') {
        c->pos++;
    }
    len = (size_t)(c->pos - start);
    if (len == 0 || len > CSV_ROW_NAME_MAX) {
        c->pos = start;
        return csv_row_refuse(c, "expected a name of 1 to 48 characters");
    }
    memcpy(out, start, len);
    out[len] = '\0';
    return 0;
}

/* Any cell: nothing, or a number that 64 bits hold. */
static int parse_int(struct csv_row *c, int64_t *out)
{
    const char *p = c->pos, *digits;
    uint64_t v = 0;
    bool negative = p < c->end && *p == '-';

    p += negative;
    for (digits = p; p < c->end && (unsigned char)(*p - '0') < 10; p++) {
        if (__builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v)) {
            return csv_row_refuse(c, "number too large");
        }
    }
    if (p == digits) {
        if (negative || (p < c->end && *p != ',' && *p != '\n')) {
            return csv_row_refuse(c, "expected a whole number or nothing");
        }
        *out = RECORD_NONE;
        return 0;
    }
    if (v > (uint64_t)INT64_MAX + (uint64_t)negative) {
        return csv_row_refuse(c, "number too large");
    }
    *out = (int64_t)(negative ? 0 - v : v);
    c->pos = p;
    return 0;
}

/* The cells of a row as nearly all are: up to 19 digits, perhaps with a sign, and what separates
 * them. Returns whether it was one; else the cursor has not moved. */
static inline bool parse_plain(struct csv_row *c, char separator, int64_t *out)
{
    const char *p = c->pos, *digits;
    uint64_t v = 0;
    bool negative = p < c->end && *p == '-';

    p += negative;
    digits = p;
    while (p < c->end && (unsigned char)(*p - '0') < 10) {
        v = v * 10 + (uint64_t)(*p++ - '0');
    }
    if (p == digits || p - digits > PLAIN_DIGITS || v > INT64_MAX || p == c->end ||
        *p != separator) {
        return false;
    }
    *out = (int64_t)(negative ? 0 - v : v);
    c->pos = p + 1;
    return true;
}

static int parse_cell(struct csv_row *c, char separator, int64_t *out)
{
    int rc = parse_int(c, out);

    return rc ? rc : end_cell(c, separator);
}

int csv_row_parse(struct csv_row *c, char *name, int64_t *cell, size_t stride)
{
    int rc;

    if (c->schema->has_name && ((rc = parse_name(c, name)) || (rc = end_cell(c, ',')))) {
        return rc;
    }
    for (size_t i = 0; i + 1 < c->columns; i++, cell += stride) {
        rc = parse_plain(c, ',', cell) ? 0 : parse_cell(c, ',', cell);
        if (rc) {
            return rc;
        }
    }
    if (!parse_plain(c, '\n', cell)) {
        return parse_cell(c, '\n', cell);
    }
    c->line = c->pos;
    c->line_number++;
    return 0;
}

/* Whether text is a beginning of the header, but not all of it. */
bool csv_row_begins_header(enum record_kind kind, const char *text, size_t len)
{
    const struct record_schema *s = &record_schemas[kind];
    size_t columns = record_columns(kind);
    char header[HEADER_BYTES];
    size_t used = (size_t)snprintf(header, sizeof header, "%s", s->has_name ? "name," : "");

    for (size_t i = 0; i < columns && used < sizeof header; i++) {
        used += (size_t)snprintf(header + used, sizeof header - used, "%s%c", s->columns[i],
                                 i + 1 < columns ? ',' : '\n');
    }
    return len < used && used < sizeof header && memcmp(header, text, len) == 0;
}

/* Whether text is a beginning of a row: nothing is wrong with it but that it ends too soon. */
bool csv_row_begins(enum record_kind kind, const char *text, size_t len)
{
    const struct record_schema *s = &record_schemas[kind];
    size_t columns = record_columns(kind);
    struct fault unused;
    struct csv_row c = {.file = "", .pos = text, .end = text + len, .line = text, .fault = &unused};
    char name[CSV_ROW_NAME_MAX + 1];
    int64_t value;
    int rc = s->has_name ? parse_name(&c, name) : 0;

    rc = rc || !s->has_name ? rc : end_cell(&c, ',');
    for (size_t i = 0; i < columns && !rc; i++) {
        rc = parse_int(&c, &value);
        rc = rc ? rc : end_cell(&c, i + 1 < columns ? ',' : '\n');
    }
    return rc && (c.pos == c.end || (c.end - c.pos == 1 && *c.pos == '-'));
}
