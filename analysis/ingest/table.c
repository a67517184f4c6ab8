/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ingest/table.h"

#include "agents/base/err.h"
#include "analysis/ingest/file_map.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_BYTES 512 /* more than any header has */
#define PLAIN_DIGITS 18  /* cannot overflow */

struct cursor {
    const char *file;
    const char *pos, *end, *line;
    size_t line_number;
    struct fault *fault;
};

static int refuse(const struct cursor *c, const char *what)
{
    return fault_set(c->fault, ERR_MALFORMED, "%s:%zu:%zu: %s", c->file, c->line_number,
                     (size_t)(c->pos - c->line) + 1, what);
}

static int expect_text(struct cursor *c, const char *text)
{
    size_t len = strlen(text);

    if ((size_t)(c->end - c->pos) < len || memcmp(c->pos, text, len) != 0) {
        return fault_set(c->fault, ERR_MALFORMED, "%s:%zu:%zu: the header should go on with \"%s\"",
                         c->file, c->line_number, (size_t)(c->pos - c->line) + 1, text);
    }
    c->pos += len;
    return 0;
}

static int end_cell(struct cursor *c, char separator)
{
    if (c->pos == c->end) {
        return refuse(c, "the file is cut off within a line");
    }
    if (*c->pos != separator) {
        return refuse(c, separator == ',' ? "expected ','" : "expected the end of the line");
    }
    c->pos++;
    if (separator == '\n') {
        c->line = c->pos;
        c->line_number++;
    }
    return 0;
}

static int parse_header(struct cursor *c, const struct table *t)
{
    int rc = 0;

    if (t->schema->has_name && ((rc = expect_text(c, "name")) || (rc = end_cell(c, ',')))) {
        return rc;
    }
    for (size_t i = 0; i < t->columns && !rc; i++) {
        rc = expect_text(c, t->schema->columns[i]);
        if (!rc) {
            rc = end_cell(c, i + 1 < t->columns ? ',' : '\n');
        }
    }
    return rc;
}

static int parse_name(struct cursor *c, char *out)
{
    const char *start = c->pos;
    size_t len;

    while (c->pos < c->end && *c->pos != ',' && *c->pos != '\n') {
        c->pos++;
    }
    len = (size_t)(c->pos - start);
    if (len == 0 || len > TABLE_NAME_MAX) {
        c->pos = start;
        return refuse(c, "expected a name of 1 to 48 characters");
    }
    memcpy(out, start, len);
    out[len] = '\0';
    return 0;
}

/* The sign of the digits up to the first other character; fails beyond 64 bits. */
static int parse_int(struct cursor *c, int64_t *out)
{
    const char *p = c->pos, *digits;
    const char *end = c->end;
    uint64_t v = 0;
    int negative = p < end && *p == '-';

    p += negative;
    digits = p;
    while (p < end && (unsigned char)(*p - '0') < 10) {
        v = v * 10 + (uint64_t)(*p++ - '0');
    }
    if (p == digits) {
        if (negative || (p < end && *p != ',' && *p != '\n')) {
            return refuse(c, "expected a whole number or nothing");
        }
        *out = RECORD_NONE;
        return 0;
    }
    /* Eighteen digits cannot overflow; the rare longer ones are added up again with care. */
    if (p - digits > PLAIN_DIGITS) {
        v = 0;
        for (const char *q = digits; q < p; q++) {
            if (__builtin_mul_overflow(v, 10, &v) ||
                __builtin_add_overflow(v, (uint64_t)(*q - '0'), &v)) {
                return refuse(c, "number too large");
            }
        }
        if (v > (uint64_t)INT64_MAX + (uint64_t)negative) {
            return refuse(c, "number too large");
        }
    }
    *out = (int64_t)(negative ? 0 - v : v);
    c->pos = p;
    return 0;
}

/* The cells of a row as nearly all are: up to 18 digits, perhaps with a sign, and what separates
 * them. Returns whether it was one; else the cursor has not moved. */
static inline bool parse_plain(struct cursor *c, char separator, int64_t *out)
{
    const char *p = c->pos, *digits;
    uint64_t v = 0;
    bool negative = p < c->end && *p == '-';

    p += negative;
    digits = p;
    while (p < c->end && (unsigned char)(*p - '0') < 10) {
        v = v * 10 + (uint64_t)(*p++ - '0');
    }
    if (p == digits || p - digits > PLAIN_DIGITS || p == c->end || *p != separator) {
        return false;
    }
    *out = (int64_t)(negative ? 0 - v : v);
    c->pos = p + 1;
    return true;
}

static int parse_cell(struct cursor *c, char separator, int64_t *out)
{
    int rc = parse_int(c, out);

    return rc ? rc : end_cell(c, separator);
}

static int parse_row(struct cursor *c, struct table *t, size_t row)
{
    int64_t *cell = &t->values[row];
    int rc;

    if (t->names && ((rc = parse_name(c, t->names[row])) || (rc = end_cell(c, ',')))) {
        return rc;
    }
    for (size_t i = 0; i + 1 < t->columns; i++, cell += t->rows) {
        rc = parse_plain(c, ',', cell) ? 0 : parse_cell(c, ',', cell);
        if (rc) {
            return rc;
        }
    }
    return parse_cell(c, '\n', cell);
}

static size_t count_lines(const char *p, const char *end)
{
    size_t n = 0;

    for (; p < end && (p = memchr(p, '\n', (size_t)(end - p))); p++) {
        n++;
    }
    return n;
}

static int allocate(struct table *t, struct fault *f, const char *file)
{
    if (t->rows == 0) {
        return 0;
    }
    t->values = calloc(t->rows * t->columns, sizeof *t->values);
    if (t->schema->has_name) {
        t->names = calloc(t->rows, sizeof *t->names);
    }
    if (!t->values || (t->schema->has_name && !t->names)) {
        return fault_set(f, ERR_NOMEM, "%s: out of memory for %zu rows", file, t->rows);
    }
    return 0;
}

int table_parse(struct table *t, enum record_kind kind, const char *name, const uint8_t *data,
                size_t len, struct fault *f)
{
    const char *text = len ? (const char *)data : "";
    struct cursor c = {
        .file = name, .pos = text, .end = text + len, .line = text, .line_number = 1, .fault = f};
    int rc;

    *t = (struct table){.schema = &record_schemas[kind], .columns = record_columns(kind)};
    rc = parse_header(&c, t);
    if (rc) {
        goto out;
    }
    t->rows = count_lines(c.pos, c.end);
    if (t->rows == 0 && c.pos < c.end) {
        rc = refuse(&c, "the file is cut off within a line");
        goto out;
    }
    rc = allocate(t, f, name);
    for (size_t row = 0; row < t->rows && !rc; row++) {
        rc = parse_row(&c, t, row);
    }
    if (!rc && c.pos < c.end) {
        rc = refuse(&c, "the file is cut off within a line");
    }
out:
    if (rc) {
        table_fini(t);
    }
    return rc;
}

/* Whether text is a beginning of the header, but not all of it. */
static bool begins_header(const struct table *t, const char *text, size_t len)
{
    char header[HEADER_BYTES];
    size_t used = (size_t)snprintf(header, sizeof header, "%s", t->schema->has_name ? "name," : "");

    for (size_t i = 0; i < t->columns && used < sizeof header; i++) {
        used += (size_t)snprintf(header + used, sizeof header - used, "%s%c", t->schema->columns[i],
                                 i + 1 < t->columns ? ',' : '\n');
    }
    return len < used && used < sizeof header && memcmp(header, text, len) == 0;
}

/* Whether text is a beginning of a row: nothing is wrong with it but that it ends too soon. */
static bool begins_row(const struct table *t, const char *text, size_t len)
{
    struct fault unused;
    struct cursor c = {.file = "", .pos = text, .end = text + len, .line = text, .fault = &unused};
    char name[TABLE_NAME_MAX + 1];
    int64_t value;
    int rc = t->schema->has_name ? parse_name(&c, name) : 0;

    rc = rc || !t->schema->has_name ? rc : end_cell(&c, ',');
    for (size_t i = 0; i < t->columns && !rc; i++) {
        rc = parse_int(&c, &value);
        rc = rc ? rc : end_cell(&c, i + 1 < t->columns ? ',' : '\n');
    }
    return rc && (c.pos == c.end || (c.end - c.pos == 1 && *c.pos == '-'));
}

size_t table_whole_bytes(enum record_kind kind, const uint8_t *data, size_t len)
{
    const struct table t = {.schema = &record_schemas[kind], .columns = record_columns(kind)};
    const char *text = len ? (const char *)data : "";
    const char *eol = memrchr(text, '\n', len);
    size_t whole = eol ? (size_t)(eol - text) + 1 : 0;

    if (!eol) {
        return begins_header(&t, text, len) ? 0 : len;
    }
    return whole < len && begins_row(&t, text + whole, len - whole) ? whole : len;
}

int table_read(struct table *t, enum record_kind kind, const char *path, bool *cut, struct fault *f)
{
    struct file_map m;
    size_t whole;
    int rc = 0;

    *t = (struct table){0};
    if (file_map_open(&m, path)) {
        return errno == ENOENT ? 0 : fault_set(f, ERR_OS, "%s: %s", path, strerror(errno));
    }
    whole = cut ? table_whole_bytes(kind, m.data, m.len) : m.len;
    if (cut) {
        *cut = whole < m.len || m.len == 0;
    }
    if (cut && whole == 0) {
        *t = (struct table){.schema = &record_schemas[kind], .columns = record_columns(kind)};
    } else {
        rc = table_parse(t, kind, path, m.data, whole, f);
    }
    file_map_close(&m);
    return rc;
}

void table_fini(struct table *t)
{
    free(t->values);
    free(t->names);
    *t = (struct table){0};
}

const int64_t *table_column(const struct table *t, const char *column)
{
    if (t->rows == 0) {
        return NULL;
    }
    for (size_t i = 0; i < t->columns; i++) {
        if (strcmp(t->schema->columns[i], column) == 0) {
            return &t->values[i * t->rows];
        }
    }
    assert(false); /* not a column of the schema */
    return NULL;
}
