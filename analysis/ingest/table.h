/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records read back: one CSV file of one kind (agents/record/record.h) as columns of integers. The
 * header line must be exactly the schema's. Strict on purpose: a reader that guesses makes wrong
 * numbers. */
#ifndef ANALYSIS_INGEST_TABLE_H
#define ANALYSIS_INGEST_TABLE_H

#include "agents/record/record.h"
#include "analysis/ingest/csv_row.h"
#include "analysis/ingest/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TABLE_NAME_MAX CSV_ROW_NAME_MAX

struct table {
    const struct record_schema *schema; /* NULL: the table is empty and was never read */
    size_t rows, columns;
    int64_t *values;                   /* column after column, rows each; RECORD_NONE: empty cell */
    char (*names)[TABLE_NAME_MAX + 1]; /* rows, only for kinds with a name column */
};

/* Parses the bytes of a file; name is for messages ("name:line:column: ..."). Returns 0,
 * ERR_MALFORMED or ERR_NOMEM with *f filled; *t is then empty. No bytes at all are an error: even a
 * file without rows has its header. */
int table_parse(struct table *t, enum record_kind kind, const char *name, const uint8_t *data,
                size_t len, struct fault *f);
/* How much of a file that its writer may not have finished can be parsed: all of it, unless it ends
 * with the beginning of a row or of the header, which is left out. Anything else that is wrong with
 * the last line stays for table_parse to refuse. */
size_t table_whole_bytes(enum record_kind kind, const uint8_t *data, size_t len);
/* Reads the file at path. A file that is not there gives an empty table and returns 0: an agent
 * opens a file when its first row comes. With cut, a last line that was not finished (or a header
 * that was not even begun) is dropped and *cut says so; without, it is an error. */
int table_read(struct table *t, enum record_kind kind, const char *path, bool *cut,
               struct fault *f);
void table_fini(struct table *t);
/* A column by its name in the schema: t->rows values, NULL when the table has no rows. Asking for a
 * column the schema lacks is our own bug and asserted. */
const int64_t *table_column(const struct table *t, const char *column);

#endif
