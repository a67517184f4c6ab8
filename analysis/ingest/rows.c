/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ingest/rows.h"

#include "agents/base/err.h"
#include "agents/base/regular_file.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_ROOM ((size_t)64 * 1024)

static int no_memory(const struct rows *r)
{
    return fault_set(r->at.fault, ERR_NOMEM, "%s: %s", r->at.file, err_text(ERR_NOMEM));
}

/* Reads on behind what is left, which moves to the front; a line that fills the buffer gets a
 * larger one. Returns 0 or a negative code. */
static int refill(struct rows *r)
{
    size_t left = (size_t)(r->at.end - r->at.pos);
    ssize_t n;

    memmove(r->buffer, r->at.pos, left);
    if (left == r->room) {
        char *more = realloc(r->buffer, 2 * r->room);

        if (!more) {
            return no_memory(r);
        }
        r->buffer = more;
        r->room *= 2;
    }
    r->at.pos = r->at.line = r->buffer;
    r->at.end = r->buffer + left;
    do {
        n = read(r->fd, r->buffer + left, r->room - left);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        return fault_set(r->at.fault, ERR_OS, "%s: %s", r->at.file, strerror(errno));
    }
    r->ended = n == 0;
    r->at.end += n;
    return 0;
}

/* Brings a whole line into the buffer: returns 1, or 0 at the file's end, where there is less. */
static int need_line(struct rows *r)
{
    size_t seen = 0;

    while (!memchr(r->at.pos + seen, '\n', (size_t)(r->at.end - r->at.pos) - seen)) {
        int rc;

        if (r->ended) {
            return 0;
        }
        seen = (size_t)(r->at.end - r->at.pos);
        rc = refill(r);
        if (rc) {
            return rc;
        }
    }
    return 1;
}

static int read_header(struct rows *r)
{
    size_t left;
    int rc = need_line(r);

    if (rc < 0) {
        return rc;
    }
    left = (size_t)(r->at.end - r->at.pos);
    if (r->may_be_cut && !rc && csv_row_begins_header(r->kind, r->at.pos, left)) {
        r->cut = true;
        r->at.pos = r->at.end;
        return 0;
    }
    return csv_row_header(&r->at);
}

int rows_open(struct rows *r, enum record_kind kind, const char *path, bool may_be_cut,
              struct fault *f)
{
    const char *why;
    int rc;

    *r = (struct rows){.kind = kind, .may_be_cut = may_be_cut, .ended = true};
    r->at = (struct csv_row){.file = path, .line_number = 1, .fault = f};
    r->fd = regular_file_fd(path, &why);
    if (r->fd < 0) {
        return errno == ENOENT ? 0 : fault_set(f, ERR_OS, "%s: %s", path, why);
    }
    r->at.schema = &record_schemas[kind];
    r->at.columns = record_columns(kind);
    r->path = strdup(path);
    r->buffer = malloc(FIRST_ROOM);
    r->room = FIRST_ROOM;
    rc = r->path && r->buffer ? 0 : no_memory(r);
    if (!rc) {
        r->at.file = r->path;
        r->at.pos = r->at.end = r->at.line = r->buffer;
        r->ended = false;
        rc = read_header(r);
    }
    if (rc) {
        rows_close(r);
    }
    return rc;
}

/* What is left when there is no whole line. */
static int take_end(struct rows *r)
{
    size_t left = (size_t)(r->at.end - r->at.pos);

    if (left && (!r->may_be_cut || !csv_row_begins(r->kind, r->at.pos, left))) {
        return csv_row_refuse(&r->at, "the file is cut off within a line");
    }
    r->cut |= left > 0;
    r->at.pos = r->at.end;
    return 0;
}

int rows_next(struct rows *r)
{
    int rc = r->at.schema ? need_line(r) : 0;

    if (rc <= 0) {
        return rc || !r->at.schema ? rc : take_end(r);
    }
    rc = csv_row_parse(&r->at, r->name, r->value, 1);
    return rc ? rc : 1;
}

void rows_close(struct rows *r)
{
    if (r->at.schema) {
        close(r->fd);
    }
    free(r->path);
    free(r->buffer);
    *r = (struct rows){.ended = true};
}

size_t rows_column(enum record_kind kind, const char *column)
{
    size_t i = record_column(kind, column);

    assert(i < RECORD_COLUMNS_MAX); /* it is a column of the schema */
    return i;
}
