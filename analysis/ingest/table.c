/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ingest/table.h"

#include "agents/base/err.h"
#include "analysis/ingest/csv_row.h"
#include "analysis/ingest/file_map.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    struct csv_row c = {.file = name,
                        .schema = &record_schemas[kind],
                        .columns = record_columns(kind),
                        .pos = text,
                        .end = text + len,
                        .line = text,
                        .line_number = 1,
                        .fault = f};
    int rc;

    *t = (struct table){.schema = c.schema, .columns = c.columns};
    rc = csv_row_header(&c);
    if (rc) {
        goto out;
    }
    t->rows = count_lines(c.pos, c.end);
    if (t->rows == 0 && c.pos < c.end) {
        rc = csv_row_refuse(&c, "the file is cut off within a line");
        goto out;
    }
    rc = allocate(t, f, name);
    for (size_t row = 0; row < t->rows && !rc; row++) {
        rc = csv_row_parse(&c, t->names ? t->names[row] : NULL, &t->values[row], t->rows);
    }
    if (!rc && c.pos < c.end) {
        rc = csv_row_refuse(&c, "the file is cut off within a line");
    }
out:
    if (rc) {
        table_fini(t);
    }
    return rc;
}

size_t table_whole_bytes(enum record_kind kind, const uint8_t *data, size_t len)
{
    const char *text = len ? (const char *)data : "";
    const char *eol = memrchr(text, '\n', len);
    size_t whole = eol ? (size_t)(eol - text) + 1 : 0;

    if (!eol) {
        return csv_row_begins_header(kind, text, len) ? 0 : len;
    }
    return whole < len && csv_row_begins(kind, text + whole, len - whole) ? whole : len;
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
    size_t i;

    if (t->rows == 0) {
        return NULL;
    }
    i = record_column((enum record_kind)(t->schema - record_schemas), column);
    assert(i < RECORD_COLUMNS_MAX); /* it is a column of the schema */
    return &t->values[i * t->rows];
}
