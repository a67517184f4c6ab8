/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A row of a file of records (agents/record/record.h): whole numbers, commas between them, nothing
 * for a missing one. Strict on purpose: a reader that guesses makes wrong numbers. */
#ifndef ANALYSIS_INGEST_CSV_ROW_H
#define ANALYSIS_INGEST_CSV_ROW_H

#include "agents/record/record.h"
#include "analysis/ingest/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CSV_ROW_NAME_MAX 48

/* Where the reader is. What was read is to be behind it, so line is what messages count columns
 * from. */
struct csv_row {
    const char *file; /* for messages */
    const struct record_schema *schema;
    size_t columns;
    const char *pos, *end, *line;
    size_t line_number;
    struct fault *fault;
};

/* Fills *fault with "file:line:column: what" of the place; returns ERR_MALFORMED. */
int csv_row_refuse(const struct csv_row *c, const char *what);
/* Reads the header, which must be exactly the schema's. Returns 0 or ERR_MALFORMED with *fault
 * filled. */
int csv_row_header(struct csv_row *c);
/* Reads a row: columns values, stride apart; its name (up to CSV_ROW_NAME_MAX bytes and an end) if
 * the schema has one, else name is not looked at. Returns as above. */
int csv_row_parse(struct csv_row *c, char *name, int64_t *cell, size_t stride);
/* Whether text is a beginning of the header, but not all of it; of a row, so that nothing is wrong
 * with it but that it ends too soon. */
bool csv_row_begins_header(enum record_kind kind, const char *text, size_t len);
bool csv_row_begins(enum record_kind kind, const char *text, size_t len);

#endif
