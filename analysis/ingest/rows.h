/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file of records row by row, for kinds whose files grow with a run; table.h has the rest. Both
 * accept and refuse the same files, in the same words. */
#ifndef ANALYSIS_INGEST_ROWS_H
#define ANALYSIS_INGEST_ROWS_H

#include "agents/record/record.h"
#include "analysis/ingest/csv_row.h"
#include "analysis/ingest/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rows {
    struct csv_row at; /* its schema is NULL when there is no file */
    enum record_kind kind;
    int64_t value[RECORD_COLUMNS_MAX]; /* of the row last read; RECORD_NONE: empty cell */
    char name[CSV_ROW_NAME_MAX + 1];   /* likewise; of kinds with a name column */
    bool cut;                          /* the last line was not finished, and left out */
    /* private */
    bool may_be_cut, ended;
    int fd;
    char *path, *buffer;
    size_t room;
};

/* Opens the file at path and reads its header. A file that is not there has no rows: an agent opens
 * one when its first row comes. may_be_cut: a last line, or header, that was not finished is left
 * out and r->cut says so; else it is an error. Returns 0, ERR_OS, ERR_MALFORMED or ERR_NOMEM with
 * *f filled; *r is then closed. f is filled by rows_next, too, and outlives *r. */
int rows_open(struct rows *r, enum record_kind kind, const char *path, bool may_be_cut,
              struct fault *f);
/* Reads the next row. Returns 1, 0 at the end, or a negative code with *f filled. */
int rows_next(struct rows *r);
void rows_close(struct rows *r);
/* Which of value is the column of a name. Asking for one that the schema lacks is our own bug and
 * asserted. */
size_t rows_column(enum record_kind kind, const char *column);

#endif
